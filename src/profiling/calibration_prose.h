// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Sentences of the built-in calibration set, in the notation of calibration_words.h: running prose (report, minutes,
// story, article). Each genre has title, opening, heading, block (a paragraph, table, letter, ...), sentence and fact;
// "common" belongs to all genres, those of calibration_forms.h too.
// A fact is its sentence and, marked by their first character: ? question, = answer, ~ what later text calls it,
// + the name of its number if {v} can be added up, > a later correction of {v} to {w}.
// Private to calibration_grammar.cpp. Every sentence here was written for this project.
#pragma once

#include <string_view>

namespace ripplekv {

inline constexpr std::string_view kCalibrationProse = R"(
@common.sentence
{P} {argued|said|was convinced|wrote later} {claim}.
{Q} disagreed {and said so|but did not press the point|at first}, {reason}.
{activity} {took|needed|filled} {span}, {reason}.
{activity} was done {manner} at {L}.
at {L}, {problem} was {found|noticed|reported} {when}.
the {thing} were {good}; the {thing} were {bad}.
most of the {thing} had come to {L} {reason}.
nobody at {L} had expected {problem}{ so early in the year| twice in one season|}.
between {I} and {J} there {was|seemed to be} little to choose, {reason}.
{P.s} had worked with {I} for {#3-30} years and trusted {P.his} own notes more than the {thing}.
it was {Q.s}, not {P.s}, who first {spoke of|pointed to|wrote about} {problem}.
of all the {thing}, those kept at {M} gave the least trouble.
{reason}, {activity} had to wait.
a visitor from {town} compared the {thing} with those at home and found them {good}.
for {span}, {activity} went on {manner}.
{I} was moved from {L} to {M} and back again {reason}.
some blamed {problem}; others, among them {Q}, thought {claim}.
when {P} asked about the {thing}, {Q.s} {pointed at|spread out|quoted} the figures for {last_year}.
the cost of {activity} came to {amount}, which {Q.s} called {bad|good}.
whoever reads the papers of {O} will find the {thing} mentioned on almost every page.
two things were clear by {anydate}: {activity} could not stop, and {problem} could not be ignored.
the {role} at {M} kept a separate list of {thing}, {pct} of which had never been checked.

@common.fact
{P} signed the papers for {I} under the reference {code=v}.
? Under which reference did {P} sign the papers for {I}?
= {v}
~ the papers for {I} with the reference {v}
> The reference for {I}, first given as {v}, was later corrected to {code=w} by {P}.

In {year}, {#14-390=v} people were {employed|at work} at {L}.
? How many people were employed or at work at {L} in {year}?
= {v}
~ the staff of {v} at {L}
+ the number of people who worked at {L}
> The staff figure for {L} was revised from {v} to {#14-390=w} after a second look.

The spare key to {L} was kept by {P=v}.
? Who kept the spare key to {L}?
= {v}
~ the spare key to {L}
> The spare key to {L} passed from {v} to {Q=w} in the end.

Repairs to {I} came to {#110-990=v} {currency_here}.
? What did the repairs to {I} come to, in {currency_here}?
= {v}
~ the repairs to {I} at {v} {currency_here}
+ the cost in {currency_here} of repairs to {I}
> The bill for repairs to {I} was not {v} but {#110-990=w} {currency_here}, as a second invoice showed.

Before coming to {O}, {P} had spent {#2-19=v} years in {town=t}.
? How many years had {P} spent in {t} before coming to {O}?
= {v}
~ the {v} years {P} had spent in {t}

The {role=r} at {L} answered to {P=v} and to nobody else.
? To whom did the {r} at {L} answer?
= {v}
~ the {r} at {L} who answered to {v}

@common.recall
{as noted above|as already mentioned}, {recall} {must not be forgotten|should be kept in mind|had consequences}.
this has to be read together with {recall}.
{P.s} {came back|referred} once more to {recall}.
{without|had it not been for} {recall}, {activity} would have looked different.
everything here follows from {recall}.
compare {recall}{, described earlier|}.
{Q} asked whether {recall} had been taken into account, and was told {claim}.

@report.title
{Annual|Half-yearly|Interim} report of {O} on {field}, {year}
{O}: review of {field} in {year}
Report to the board of {O}: {field}, {last_year} to {year}

@report.opening
This report covers {field} in {year}. It was prepared for the board of {O} at {home} by {roster}. It deals in turn
  with {inventory}.

@report.heading
{section}. {Findings|Costs and income|Staff|Equipment|Outlook|Risks|Progress} at {L}
{section}. {The case of {I}|{I} and {J} compared|Notes on the {thing}}

@report.block
{S} {F} {S} {S} {R}
{S} {S} {F} {S}
{F} {S} {R} {S} {F}
Table {section}. The {thing} of {O}, by place\n\n| Place | {last_year} | {year} | Change |\n|---|---|---|---|\n
  {row}{row}{row}{row}\n{F} {S}
Key figures: {S} {F}\n\n- {S}\n- {F}\n- {S}\n
Recommendation {section}. {S} {F} The {role} should report back by {soon}. {R}

@report.row
| {L_any} | {#100-999} | {#100-999} | {+|-}{#1-38}.{#0-9}% |\n

@report.sentence
spending on {thing} {trend}, {reason}.
income from {activity} {trend} and stood at {amount} at the end of {year}.
the share of {thing} in total cost {trend}; it is now {pct}.
{pct} of the {thing} were replaced, {pct} repaired and the rest written off.
staff numbers at {L} {trend}, mainly {reason}.
{activity} remains the largest single item in the accounts of {L}.
compared with {last_year}, the {thing} {trend}.
the audit found {problem} at {L}, {which had cost {amount}|but no further loss}.
{P}, {P.role}, expects that {activity} will cost {amount} next year.
three measures are proposed: {activity}, {activity} and a review of the {thing}.
the risk of {problem} is rated {low|moderate|high|unchanged} for {L} and {low|moderate|high} for {M}.
performance of {I} was {good}, that of {J} {bad}.
a survey of {#40-900} users showed {pct} satisfied with the {thing}, against {pct} in {last_year}.
overtime at {M} {trend}, which {P.s} explains with {problem}.
the board approved {amount} for {I} {manner}.
targets for {activity} were {met|missed} by {pct}.
if {problem} had occurred in {year} as it did in {last_year}, {O} would have lost {amount}.
insurance premiums {trend}, and deliveries of {thing} took {span} on average.
the forecast assumes {claim}.
contracts for {thing} run until {soon} and cannot be ended earlier.
accidents fell to {#2-19}, of which {unit_n} concerned {activity}.
training in {activity} was offered to {#8-90} people; {pct} finished it.

@report.fact
The budget of {I} for {year} was set at {#210-980=v} thousand {currency_here}.
? At how many thousand {currency_here} was the budget of {I} for {year} set?
= {v}
~ the budget of {v} thousand {currency_here} for {I}
+ the budget in thousand {currency_here} of {I}
> The budget of {I} was revised during the year from {v} to {#210-980=w} thousand {currency_here}.

{I} was out of service for {#3-88=v} days in {year}, {reason}.
? For how many days was {I} out of service in {year}?
= {v}
~ the {v} days for which {I} stood still
+ the number of days out of service of {I}
> Days out of service for {I} were first counted as {v} and later as {#3-88=w}.

{P}, {P.role}, is responsible for the renewal of {I=v}.
? For the renewal of what is {P}, {P.role}, responsible?
= {v}
~ the renewal of {v} under {P}
> Responsibility of {P} was moved from {v} to {J=w}.

At {L}, {#120-960=v} complaints were recorded, nearly all about the {thing=t}.
? How many complaints were recorded at {L}?
= {v}
~ the {v} complaints at {L}
+ the number of complaints at {L}

The lease of {L} ends on {exact_date=v}.
? When does the lease of {L} end?
= {v}
~ the lease of {L}, which ends on {v}
> The lease of {L} was extended: it no longer ends on {v} but on {exact_date=w}.

@minutes.title
Minutes of the meeting of {O}, {home}, {date}
{O}: record of the {spring|autumn|extraordinary} meeting on {field}

@minutes.opening
Held at {L} on {date}, opened at {time}. Present: {roster}. Apologies: none. The agenda listed {inventory}, and any
  other
  business.

@minutes.heading
Item {section}: {I}
Item {section}: {the {thing}|{activity}|a report from {L}|questions from members}

@minutes.block
{S} {S} {F} {S}
{P.f} {P.l}: {S} {F}\n{Q.f} {Q.l}: {S}\n{P.f} {P.l}: {S}
{F} {S} {R} {S}
Decision {section}.{#1-9}: {F} {S} In favour {#4-12}, against {#0-3}, abstentions {#0-2}.
Action: {P} to see to {activity} by {soon}. Action: {Q} to write about {problem}. {F} {R}
{R} {S} {F}

@minutes.sentence
{P.s} {reported|told the meeting|explained} {claim}.
{Q.s} asked for figures on the {thing}; {P.s} promised them for the next meeting.
the chair {thanked|reminded} {P} and noted {claim}.
it was {agreed|resolved|decided by a show of hands} to put off {activity} {reason}.
a letter from {town} about {problem} was read out.
members discussed {problem} at {L} for {#10-70} minutes.
{P.s} proposed {activity}; {Q.s} seconded.
{Q.s} objected that {activity} would cost {amount} and take {span}.
the treasurer said {claim}, and that the {thing} {trend}.
no one present could say who had ordered the {thing}.
the motion on {I} was {carried|lost|withdrawn|amended twice}.
there was some laughter when {Q.s} described {problem}.
the minutes of the last meeting were approved after {P.s} had corrected the figure for {thing}.
a working group of {P}, {Q} and the {role} was set up to look into {problem}.
{P.s} left at {time} and took no part in what followed.
the offer from {town} for the {thing} was {refused|accepted|kept for the next meeting} {reason}.
{Q.s} wished it recorded {claim}.
under any other business, {activity} at {M} was raised.
the {role} of {L} was heard and answered questions on {activity}.
it was pointed out that {I} and {J} share the same {thing}.

@minutes.fact
It was decided that {I} would be inspected by {P=v}{ before the end of the year|}.
? Who was to inspect {I}, according to the decision?
= {v}
~ the inspection of {I} by {v}
> The inspection of {I} was taken from {v} and given to {Q=w}.

The meeting granted {#150-990=v} {currency_here} for {L}, {reason}.
? How many {currency_here} did the meeting grant for {L}?
= {v}
~ the grant of {v} {currency_here} for {L}
+ the grant in {currency_here} for {L}
> On {Q.s}'s motion the grant for {L} was changed from {v} to {#150-990=w} {currency_here}.

{P} gave {weekday=v} as the only day on which {L} could be closed.
? Which day did {P} give as the only one on which {L} could be closed?
= {v}
~ the closing of {L} on a {v}
> The day for closing {L} was then moved from {v} to {weekday=w}.

The vote on {I} was {#9-30=v} to {#1-8=u}.
? What was the result of the vote on {I}?
= {v} to {u}
~ the vote of {v} to {u} on {I}

{Q} tabled a list of {#12-95=v} faults found on {I}.
? How many faults on {I} did the list tabled by {Q} hold?
= {v}
~ the list of {v} faults on {I}
+ the number of listed faults on {I}

@story.title
The {long winter|keeper|last summer|missing ledger} of {home}
What {P.f} {P.l} found at {home}
The year of {I}

@story.opening
In {year}, when {O} still had its rooms by the {river_here}, {home} was a place where everybody knew everybody.
  These were
  the people who mattered that year: {roster}. And these were the things they quarrelled about: {inventory}.

@story.heading
Chapter {section}
{section}. {A letter from {town}|{weather} over {home}|At {L}|What {P.f} knew|The business of {I}}

@story.block
{S} {S} {S} {F} {S}
"{Q.f}," said {P.f}, "{T}"\n\n"{T}"\n\n{P.f} {heard {sound}|looked at {Q.him}|said nothing for a while}. "{T}"\n\n
  {F} {S}
{S} {F} "{T,}" {Q.f} {said|whispered|repeated}. "{T}" {S}
{S} {R} {S} {F}
{F} {S}\n\n"{T,}" said {Q.f}, {feeling}.\n\n"{T}"\n\n{S} {S}
{R} {S} "{T}" {F}

@story.talk
You were at {L} that night, weren't you?
I never asked for {small_thing}, and I don't want it now.
They say it happened {reason}.
Ask {Q_any}. Everyone else will tell you {claim}.
Give me {span} and I will show you.
If the {thing} go, we all go.
I only know what {P_any} told me about {I}.
Leave it where it is until {weekday}.
You said yourself {claim}.
There is {weather} coming. Go home.
Somebody moved {small_thing}. I want to know who.
My father spent {#5-40} years on {activity}, and what did he get for it?
It isn't the money. It never was the money.
Then why did you keep {small_thing} for {span}?
I would rather have {problem} than another evening like this.
You can see {L} from here, if you know where to look.
Nobody has been up there since {anydate}.
Don't tell {P_any}. Not yet.

@story.sentence
{P.f} {heard {sound} and|stood by the window and} felt {feeling}.
{weather} had come down over {L} before noon.
{P.he} had not slept, {reason}.
on the table lay {small_thing} and {small_thing}.
{Q.f} laughed, though {Q.he} was {feeling}.
all that {weekday}, {P.f} thought of {problem} and of what {Q.f} had not said.
the road to {L} ran beside the {river_here}, past {M}, and ended at a gate.
{Q.f} wrapped {small_thing} in {Q.his} scarf and walked towards {M}.
there was {sound}, and then nothing.
for {span} they spoke only about {activity}.
{P.f} was {feeling} and {feeling} at once, as people are when a thing is finally said.
at {time} the lamps at {L} went out.
{P.he} counted the {thing} again, {manner}, and came to the same number.
years later {Q.f} would say {claim}, but that night {Q.he} believed the opposite.
somewhere beyond {M}, {sound}.
"{T,}" {P.he} had written on the back of an envelope.
the old {role} used to say {claim}.
{Q.f} remembered the smell of {L} from childhood: dust, {weather}, and lamp oil.
when {P.f} turned round, {small_thing} was gone.
by then {I} belonged to nobody, {reason}.
they walked back {manner}, {P.f} first, {Q.f} a few steps behind.
{P.f} opened the door of {L} with {small_thing} in {P.his} hand.

@story.fact
Under the floor of {L}, {P} found {small_thing=v}.
? What did {P} find under the floor of {L}?
= {v}
~ {v} from under the floor of {L}

{Q} had promised to return {small_thing=v} to {P} before {weekday=d}.
? What had {Q} promised to return to {P}?
= {v}
~ the promise to return {v} to {P}

{P}'s mother came from {town=v}, {where she had learned {activity}|a day's walk up the {river}}.
? Which town did {P}'s mother come from?
= {v}
~ {P}'s mother from {v}

For {I}, {Q} paid {#20-480=v} {currency_here} in coins.
? How much did {Q} pay for {I}, in {currency_here}?
= {v}
~ the {v} {currency_here} that {Q} paid for {I}
+ the price in {currency_here} paid for {I}
> It came out that {Q} had paid not {v} but {#20-480=w} {currency_here} for {I}.

The clock at {L} had stopped at {time=v}.
? At what time had the clock at {L} stopped?
= {v}
~ the clock at {L}, stopped at {v}
> Somebody had moved the hands of the clock at {L} from {v} to {time=w}.

@article.title
{I} ({home})
{O}: history and description
History of {field} at {home}

@article.opening
{O} is known for {field}. It lies on the {river_here} near {home} and has existed in its present form since
  {last_year}. Its
  history was shaped by {roster}. The best known of its works are {inventory}.

@article.heading
{Origins|Description|Use and upkeep|Later history|Reception|Literature|Legends} ({section})
{section}. {About|A note on|The case of} {I}

@article.block
{S} {S} {F} {S} {S}
{F} {S} {R}
{S} {F} {S} {F}
Chronology of {I}:\n1{#6-7}{#10-99}: {event}\n18{#10-99}: {event}\n19{#10-49}: {event}\n{last_year}: {F}
{S} {R} {F} {S}
Notes. [{section}] {F} [{#11-99}] {S} See also: {J}; {M}.

@article.event
First mention in a letter from {town}.
{P.l} begins {activity} at {L}.
Rebuilt {manner} after {problem}; cost {amount}.
Sold to {town} together with {#8-90} {thing}, and bought back {span} later.
Moved from {L} to {M}.
Damaged by {problem}; the {thing} are saved.
The {role} {Q.l} publishes a list of the {thing}.
End of {activity} at {L}; the {thing} come to {M}.

@article.sentence
{I} {is|has long been} regarded as the {oldest|finest|largest|strangest} of its kind in the valley of the
  {river_here}.
the name first appears in a document of 1{#4-8}{#10-99}, where it is spelled in {unit_n} different ways.
its {height|length|width} is given as {#3-90} {metres|feet} by some authors and {#3-90} by others.
the {thing} found near {L} date from the {fifteenth|sixteenth|seventeenth|eighteenth|nineteenth} century.
{P.l} maintained in a {lecture|pamphlet|letter to {Q.l}} {claim}.
this view was challenged by {Q.l}, who held {claim}.
the building of {L} took {span} and employed {#20-400} labourers from {town}.
during the war the {thing} were hidden at {M}, {reason}.
local tradition connects {I} with {problem}, for which there is no evidence.
today the {thing} are {good}, while those of {M} are {bad}.
{activity} was introduced here from {town} and soon spread along the {river}.
a fire in 18{#10-99} destroyed {pct} of the {thing}.
the population of {home} {trend}, and with it the demand for {thing}.
the style of {I} recalls that of {J}, though it is {older|younger} by {#20-150} years.
scholars still disagree whether {problem} was the cause or the consequence.
an inventory made by the {role} lists {#30-900} {thing} and {small_thing}.
in the {nineteenth|twentieth} century {activity} declined, {reason}.
visitors reach {L} from {town} by a path that follows the {river_here}.
a copy is kept at {M}; the original is lost.
the best account of {I} is that of {P}, a {role} from {town}.
{L} and {M} were joined by a covered passage until 19{#10-79}.
the last {role} to live at {L} died in 19{#10-79} and left {small_thing} to the town.

@article.fact
{I} was {completed|finished} in {#1610-1899=v} under {P}.
? In which year was {I} completed or finished?
= {v}
~ the completion of {I} under {P}

The founder of {L} was {Q=v}, {reason}.
? Who was the founder of {L}?
= {v}
~ {v}, the founder of {L}
> Later research showed that {L} was founded not by {v} but by {P=w}.

{I} consists of {#14-960=v} {parts|pieces}, all of them numbered.
? Of how many parts or pieces does {I} consist?
= {v}
~ the {v} numbered parts of {I}
+ the number of parts of {I}
> Earlier lists give {v} parts for {I}; the present count is {#14-960=w}.

{L} stands {#11-890=v} metres above the {river_here}.
? How many metres above the {river_here} does {L} stand?
= {v}
~ the height of {v} metres at {L}
+ the height in metres of {L} above the {river_here}

The inscription on {I} was first read by {P=v} {when=d}.
? Who first read the inscription on {I}?
= {v}
~ the inscription on {I}, first read by {v}
)";

}  // namespace ripplekv
