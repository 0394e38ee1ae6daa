// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// More sentences of the built-in calibration set, in the notation of calibration_prose.h: the genres whose text has a
// visible form (handbook, register, listings, correspondence).
// Private to calibration_grammar.cpp. Every sentence here was written for this project.
#pragma once

#include <string_view>

namespace ripplekv {

inline constexpr std::string_view kCalibrationForms = R"(
@manual.title
Handbook of {O}: operating {I}
{O}: questions and answers about {field}
Working instructions for {home}: {field}

@manual.opening
This handbook is for everyone who works at {home}. It was checked by {roster}. It describes {inventory}. Read the
  warnings
  before the instructions.

@manual.heading
{section} {Starting|Cleaning|Testing|Storing|Repairing} {I}
{section} {Questions about the {thing}|Safety at {L}|What to do about {problem}}

@manual.block
{S} {S} {F} {S}
Q: What should I do about {problem}?\nA: {S} {S} {F}
To start {I}:\n1. {S}\n2. {S}\n3. {F}\n4. {S}
Warning: {S} {F} {R}
Q: Who can help me with the {thing}?\nA: {F} {S} {R}
| Symptom | Cause | Remedy |\n|---|---|---|\n{row}{row}{row}\n{F} {S}

@manual.row
| {problem} at {L_any} | {worn|loose|missing|wrongly labelled} {thing} | {activity}, then wait {#2-60} minutes |\n

@manual.sentence
before {activity}, {check|count|clean} the {thing} and write the result in the book.
never {open|move|start} {I} without the {role}.
if you notice {problem}, {stop|leave {L}|close the valve} and call {P}.
turn the {colour} {switch|handle|wheel} {clockwise|to the left|until it clicks} and wait {#5-90} seconds.
the {thing} must be {dry|level|labelled|out of the light} at all times.
use only {thing} approved for {I}; those for {J} do not fit.
repeat the test {unit_n} times and keep the {lowest|middle} value.
when the {colour} lamp {blinks|goes out}, {activity} is finished.
do not confuse {I} with {J}: they look alike, {but|although} the {thing} differ.
store the {thing} at {L}, never at {M}, {reason}.
a reading below {#3-40} or above {#50-95} is a sign of {problem}.
{activity} needs two people, one of them a trained {role}.
after {span} without use, {I} has to be tested again.
replace the {thing} every {#2-18} months, or sooner after {problem}.
in doubt, ask {Q}, {Q.role}, at {M}.
keep this page where the night shift can find it.
wear {gloves|goggles|ear protection} while {activity} is going on nearby.
small faults may be mended on the spot; for {problem}, fill in the {colour} form.
the pressure should {rise|fall} slowly; a sudden change points to {problem}.
lock {L} when you leave and hand the key to the {role}.
count again if the numbers differ by more than {#2-9}.
the order of steps matters: first {activity}, then {activity}.

@manual.fact
Set the dial of {I} to {#12-98=v} before you start.
? To which value must the dial of {I} be set before starting?
= {v}
~ the dial of {I}, set to {v}
> Since the last revision the dial of {I} is set to {#12-98=w} instead of {v}.

{I} must be oiled every {#3-60=v} days with the oil kept at {L}.
? Every how many days must {I} be oiled?
= {v}
~ the oiling of {I} every {v} days
> The interval for oiling {I} was changed from {v} to {#3-60=w} days.

The emergency number for {L} is {#2000-8999=v}; ask for {P}.
? What is the emergency number for {L}?
= {v}
~ the emergency number {v} for {L}
> The emergency number for {L} was {v} and is now {#2000-8999=w}.

{I} may carry at most {#40-950=v} kilograms.
? How many kilograms may {I} carry at most?
= {v}
~ the load limit of {v} kilograms for {I}
+ the load limit in kilograms of {I}

The {colour=v} form for {L} goes to {P} within {#2-14=d} days.
? What colour is the form for {L} that goes to {P}?
= {v}
~ the {v} form for {L}

@catalogue.title
Register of {thing} and fixtures, {O}, {year}
{O}: inventory taken at {home} in {year}
Lots, prices and keepers: the list of {O}

@catalogue.opening
The list was taken by {roster}. It names, in the order of the rooms, {inventory} and smaller things. Prices are in
  {currency_here}.

@catalogue.heading
Room {section}: {L}
{section}. {The {thing}|Lots {#100-400} to {#401-900}|Added on {weekday}|{I} with accessories}

@catalogue.block
{entry}{entry}{entry}{entry}\n{F} {S}
| No. | What | Where | {currency_here} |\n|---|---|---|---|\n{row}{row}{row}{row}{row}\n{F}
Remarks: {S} {F} {R}
- {F}\n- {S}\n- {F}\n- {S}
{code}: {S}\n{code}: {F}\n{code}: {S}
Carried over: {R} {S} {F}

@catalogue.entry
Lot {#100-999}. {#2-90} {thing}, {good|bad|used|unused|in two boxes}, from {town}. Keeper: {P_any}. {amount}.\n
{code}; {I_any}, with {small_thing}; {L_any}; valued {amount} in {last_year}.\n
{#1-30} {thing}; {L_any}; {missing since {anydate}|on loan to {town}|checked by {P_any}|to be sold}.\n
{small_thing}; found at {L_any}; {amount}.\n

@catalogue.row
| {#100-999} | {#2-60} {thing} | {L_any} | {#12-990} |\n
| {#100-999} | {small_thing} | {L_any} | {#12-990} |\n
| {#100-999} | {I_any} | {town} | {#12-990} |\n

@catalogue.sentence
{#2-40} {thing} are {missing|counted twice|in the wrong box}, {reason}.
not listed: {small_thing} and {small_thing}, both the property of {P}.
on loan to {town} until {soon}: {#2-30} {thing}.
value estimated by {Q}, {Q.role}, at {amount}.
condition {good} at the last check {when}, {bad} now.
see {code} for the drawings and {code} for the letters.
bought at {town} for {amount}; the receipt is with {P}.
the label reads "{small_thing}", but the box holds {thing}.
to be sold with {J} or not at all, {reason}.
transferred from {L} to {M} {when}.
{pct} of the {thing} in this room bear the mark of {town}.
counted by {P} and again by {Q}; the two counts agree.
needed for {activity}; not to be lent.
the shelf at {L} was cleared after {problem}.
a duplicate of this entry is kept at {M}.
weights are those given by the {role}, not by the seller.
{thing} of the {colour} series are listed apart from the {colour} series.
damaged by {problem}; repair offered by {Q.s} for {amount}.

@catalogue.fact
{I} is entered as number {#1001-9899=v}, next to {J}.
? Under which number is {I} entered?
= {v}
~ number {v}, {I}
> The entry for {I} was renumbered from {v} to {#1001-9899=w}.

At {L}, {#21-870=v} {thing=t} were counted by {P}.
? How many {t} did {P} count at {L}?
= {v}
~ the {v} {t} counted at {L}
> The count of {t} at {L}, given above as {v}, is now {#21-870=w}.

The reserve price of {I} is {#310-990=v} {currency_here}.
? What is the reserve price of {I}, in {currency_here}?
= {v}
~ the reserve price of {v} {currency_here} for {I}
+ the reserve price in {currency_here} of {I}
> The reserve price of {I} went from {v} to {#310-990=w} {currency_here}.

{I} came to {O} as a gift of {P=v} from {town=t}.
? Whose gift to {O} was {I}?
= {v}
~ {I} as the gift of {v}

The box at {L} is sealed with the number {code=v}.
? With which number is the box at {L} sealed?
= {v}
~ the seal {v} at {L}

@code.title
Design notes and listings: the {module} service of {O}
{O}, {module} {#1-9}.{#0-20}: developer guide and change log
Source review of {module} ({field})

@code.opening
The service was written for {O} at {home}. Reviewers: {roster}. It keeps records of {inventory}. Every listing below
  runs
  as shown; comments give the reasons.

@code.heading
## {section}. {module}.{verb_id}
## {section}. {Change log|Configuration of {I}|Tests for {L}|Known faults}

@code.block
def {verb_id=f}_{noun_id=n}({noun_id=a}, limit={#2-64}):\n    """{S}"""\n    total = 0\n    for row in {a}:\n
          if row.{field_id=c} > {#10-900} or row.{field_id} is None:\n            continue  # {reason}\n
          total += row.{c}\n    return min(total, limit)\n\n# {F}\n\n{S}
/* {S} */\nstatic int {verb_id=f}_{noun_id}(const struct {noun_id=n} *{letter_id=p}, int n) {lb}\n    int i, sum =
  0;\n
      for (i = 0; i < n; ++i)\n        if ({p}[i].{field_id} >= {#2-500})\n            sum += {p}[i].{field_id};\n
      return sum;\n{rb}\n\n{F} {S}
# settings for {I}\n{noun_id=n}:\n  {field_id}: {#1-900}\n  {field_id}: {true|false}\n  owner: {P.f} {P.l}\n
    path: /srv/{noun_id}/{n}-{#10-99}\n  # {F}\n\n{S} {R}
SELECT {field_id=a}, COUNT(*) AS n, SUM({field_id=b})\nFROM {noun_id=t}\n
  WHERE {a} > {#2-400} AND place = '{L}'\nGROUP BY {a}\nHAVING n >= {#2-20}\nORDER BY n DESC;\n\n{S} {F}
{year}-{#10-12}-{#10-28} INFO  {verb_id} {noun_id}={#100-999} took {#2-900} ms\n
  {year}-{#10-12}-{#10-28} WARN  {noun_id} {field_id}={#1-99}: retry\n{year}-{#10-12}-{#10-28} ERROR {verb_id}
  failed: {problem}\n\n{S} {F} {R}
- {#1-9}.{#0-20}.{#0-9} ({P.f}): {S}\n- {#1-9}.{#0-20}.{#0-9} ({Q.f}): {S}\n- {F}
{lb}"{noun_id}": {lb}"{field_id}": {#1-999}, "{field_id}": [{#1-9}, {#10-99}, {#100-999}], "note":
  "{problem}"{rb}{rb}\n\n
  {F} {S} {R}

%code.verb_id: load, merge, count, check, index, split, plan, trim, rank, pack, audit, fetch
%code.noun_id: orders, readings, shifts, lots, tickets, ledger, samples, routes, crews, bins, batches, entries
%code.field_id: weight, score, delay, depth, amount, retries, age, rank, width, level, offset, height
%code.letter_id: p, q, rec, item
%module_name: tally, ferryman, quill, beacon, sieve, loom, anchor, pantry

@code.sentence
`{verb_id}_{noun_id}` is called once per {row|batch|night} and must not block, {reason}.
the {noun_id} table holds one row for each of the {thing}.
callers pass `{field_id}` in {seconds|grams|metres}; older callers passed nothing.
the cache is cleared after {problem}, otherwise stale {noun_id} survive a restart.
{P} found that {pct} of the time is spent in `{verb_id}`.
an index on `{field_id}` made the query {#3-40} times faster {reason}.
without the check for `{field_id}`, {problem} at {L} is counted twice.
{Q} suggested replacing the loop by a sort, {reason}.
a test with {#100-900} random {noun_id} reproduces the fault in {#2-30} seconds.
the interface is frozen: `{verb_id}_{noun_id}` returns {a count|a list|an error code} and nothing else.
rounding happens once, when {noun_id} are written, and never before.
the old name `{noun_id}_{field_id}` is kept for {town}, which has not been upgraded.
errors name the row, the value found and the value expected.
threads share only the {noun_id} queue, which is guarded by one lock.
the migration copied {#2-90} million {noun_id} in {span}.
do not log `{field_id}`: it may name a person.
at start the service reads `{noun_id}.conf`, then asks {L} for its {thing}.
memory use {trend} once {noun_id} were freed after each batch.
if `{field_id}` is negative, the row belongs to {last_year} and is skipped.
two reviewers, {P.l} and {Q.l}, disagreed about the default for `{field_id}`.

@code.fact
The retry limit for {I} is {#3-99=v}, {reason}.
? What is the retry limit for {I}?
= {v}
~ the retry limit of {v} for {I}
> The retry limit for {I} was {v}; since the last release it is {#3-99=w}.

Requests from {L} arrive on port {#2001-8999=v}.
? On which port do requests from {L} arrive?
= {v}
~ port {v} for {L}
> Requests from {L} moved from port {v} to port {#2001-8999=w}.

The importer of {I} was written by {P=v} in {#2-20=d} days.
? Who wrote the importer of {I}?
= {v}
~ the importer of {I} by {v}

Records of {I} are kept for {#20-720=v} hours and then deleted.
? For how many hours are records of {I} kept?
= {v}
~ the {v} hours for which records of {I} are kept
+ the number of hours for which records of {I} are kept
> Records of {I} used to be kept for {v} hours; now it is {#20-720=w}.

The ticket about {problem=t} at {L} has the number {code=v}.
? Which number has the ticket about {t} at {L}?
= {v}
~ ticket {v} about {t}

@email.title
Correspondence on {field}, {O}, {year}
Mail folder "{I}" ({home})

@email.opening
Messages between {roster}. Subjects: {inventory}. The oldest message comes first; signatures have been shortened.

@email.heading
--- {section} {{older|further} messages|from the folder of {P}|attachments removed} ---

@email.block
From: {P.f} {P.l}\nTo: {Q.f} {Q.l}\nDate: {date}, {time}\nSubject: {subject}\n\nDear {Q.f},\n\n{S} {F} {S} {S}\n\n
  {Best wishes|Yours|Thanks in advance|With kind regards},\n{P.f}
From: {Q.f} {Q.l}\nTo: {P.f} {P.l}\nCc: {Q_any}\nDate: {date}, {time}\nSubject: Re: {subject}\n\n{P.f},\n\n{S} {R}
  {F}\n\n
  {Q.f}\n{Q.role}, {O}
> {S}\n> {F}\n\n{S} {S}\n\n{P.f}
From: {P.f} {P.l}\nTo: all staff at {L}\nDate: {date}\nSubject: {subject}\n\nColleagues,\n\n{F} {S}\n\n- {S}\n-
  {S}\n\n{P.f}
P.S. {S} {F} {R}

@email.subject
{thing} at {L}
{I}: {question|offer|reminder|urgent|draft}
{activity}
minutes, corrections, and {problem}

@email.sentence
thank you for the list of {thing}; I have passed it on to {Q_any}.
I was at {L} on {weekday} and saw {problem} with my own eyes.
could you tell me by {weekday} whether {activity} is still planned?
we talked about this on the phone, and I still think {claim}.
please do not mention {problem} to {town} yet, {reason}.
attached you will find the {thing} for {last_year} and a note on {activity}.
I am {feeling}, to be honest, and so is everyone at {M}.
the supplier in {town} wants {amount}, which I find {bad|good}.
let me know if {time} on {weekday} suits you; otherwise I shall ask {Q_any}.
my answer to your second question is no, {reason}.
{activity} went {manner}, and the {thing} look {good}.
you asked about {J}: nothing new, I am afraid.
I would have written sooner, but {problem} kept us busy for {span}.
the {role} called twice today; both times it was about the {thing}.
we could meet at {L} or at {M}, whichever is easier for you.
I copy {Q_any}, who knows more about {activity} than I do.
the invoice over {amount} was sent to the wrong office, {reason}.
if nothing changes until {soon}, we shall have to start {activity} without them.
please bring {small_thing}; you will see why.
sorry about the tone of my last message, I was {feeling}.
by the way, I heard {claim}.

@email.fact
I have booked room {#101-899=v} for the talk about {I} with {P_any}.
? Which room was booked for the talk about {I}?
= {v}
~ room {v} for the talk about {I}
> The talk about {I} was moved from room {v} to room {#101-899=w}.

The offer for {I} now stands at {#120-980=v} {currency_here}.
? At how many {currency_here} does the offer for {I} stand?
= {v}
~ the offer of {v} {currency_here} for {I}
+ the offer in {currency_here} for {I}
> The offer for {I} was changed from {v} to {#120-980=w} {currency_here}.

The password for the door at {L} is {town=v}{#10-99=n}, as {P} may have told you.
? What is the password for the door at {L}?
= {v}{n}
~ the password {v}{n} for {L}

{P} will be away in {town=v} until {weekday=d}, so ask {Q} about {I}.
? In which town will {P} be while {Q} answers questions about {I}?
= {v}
~ the journey of {P} to {v}
> {P} is not going to {v} after all but to {town=w}.

We agreed on {weekday=v} at {time=u} for the visit to {L}.
? For which day and time was the visit to {L} agreed?
= {v} at {u}
~ the visit to {L} on {v} at {u}
)";

}  // namespace ripplekv
