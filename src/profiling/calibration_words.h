// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The lexicon of the built-in calibration set: names, domains (who works where on what) and phrases every genre shares.
// "%rule: a, b, c" lists words, "@rule" phrases, one a line; a line that starts with two spaces continues the one
// before. What {slots} mean is said in calibration_builtin.cpp; the sentences are in calibration_prose.h and _forms.h.
// Private to calibration_grammar.cpp. Every word here was written for this project.
#pragma once

#include <string_view>

namespace ripplekv {

inline constexpr std::string_view kCalibrationWords = R"(
%first_f: Anna, Beatriz, Chidi, Dagny, Elena, Fatima, Greta, Hana, Imogen, Jolanta, Kirsten, Leila, Mirjam, Noor,
  Odette, Priya, Rosalind, Sabine, Tamsin, Ursula, Vera, Wanjiru, Yasmin, Zofia, Agnes, Carmen, Dorothea, Edith,
  Florence, Gwen, Helga, Inês, Judit, Linnea, Maud, Nadia
%first_m: Anton, Bartek, Cormac, Dmitri, Emeka, Farid, Gustav, Henrik, Ivo, Jonas, Kofi, Lorenzo, Mateus, Nikhil,
  Oskar, Pavel, Quentin, Rafael, Søren, Tobias, Umar, Viktor, Wilfred, Xavier, Yusuf, Zoltan, Arthur, Bernard,
  Clement, Desmond, Elias, Felix, Gareth, Hugo, Isaac, Jerome
%last: Abara, Bergqvist, Castellan, Dunmore, Eriksen, Fairweather, Gallo, Hartigan, Ivanova, Jardine, Kowalczyk,
  Lindqvist, Marchetti, Nakamura, Okafor, Pemberton, Quist, Rasmussen, Sandoval, Thackeray, Udall, Vasquez, Whitlock,
  Yilmaz, Zeller, Ashdown, Brannigan, Crowther, Delacroix, Ekström, Fonseca, Grimaldi, Holloway, Ibarra, Jessop,
  Kettering, Lazar, Mbeki, Novotny, Oyelaran, Petrescu, Rothwell, Szabo, Tremaine, Unwin, Varga, Winterbourne,
  Achterberg, Boateng, Carrow, Demir, Ellsworth, Fitzroy, Guerrero, Haddad, Isaksen, Jankowski, Kilbride, Loxley,
  Moreau, Nyström, Ortega, Pryce, Radcliffe, Stavros, Tolland, Vance, Wexford, Bellamy, Cardoso, Draper, Farrow
%town_a: Hal, Mar, Wes, Brin, Cor, Dun, Els, Far, Gren, Hol, Kel, Lang, Mor, Nor, Os, Pen, Rav, Stan, Tor, Wyn, Ash,
  Bel, Car, Sel
%town_b: den, ford, wick, mouth, stead, holm, bury, leigh, by, combe, minster, haven, worth, dale, gate, mere
%river: Arrow, Brathe, Corve, Eller, Fenwater, Isling, Lorne, Medway Brook, Ouseling, Sarre, Tamber, Velm
%letter: A, B, C, D, E, F, G, H, K, L, M, N, P, R, S, T, V, W, X, Z
%colour: grey, blue, red, green, yellow, white, black, ochre
%currency: crowns, pounds, euros, dollars, francs, marks
%unit_n: two, three, four, five, six, seven, eight, nine, a dozen, some twenty, nearly thirty, about forty
%good: sound, reliable, orderly, promising, thorough, encouraging, modest but steady, workable, better than expected
%bad: disappointing, patchy, alarming, incomplete, late, confusing, weaker than planned, costly
%manner: quietly, promptly, reluctantly, with great care, at short notice, without much discussion, in good order,
  more slowly than planned, in two stages, with borrowed equipment, on schedule, behind closed doors
%weekday: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday
%span: {unit_n} days, {unit_n} weeks, {unit_n} months, the whole season, most of the winter, a single afternoon
%trend: rose sharply, fell slightly, held steady, recovered in the autumn, doubled within a year, drifted down,
  grew faster than the forecast, stayed flat for the second year
%weather: rain, fog, a thin snow, a dry east wind, heavy cloud, low sun, the first frost, a warm haze
%small_thing: a brass key, a folded map, a cracked mug, a bundle of letters, a green lamp, a ledger with a torn spine,
  a length of rope, a tin of buttons, a silver whistle, a box of slides, a rusted padlock, a child's drawing
%sound: a door closing below, someone whistling on the stairs, the clock in the hall, gravel under boots,
  the kettle, a dog far off, rain on the skylight, the hum of the generator
%feeling: relieved, uneasy, curious, tired, oddly calm, angry, amused, ashamed, hopeful, lost for words
%pct: {#2-48} percent, {#2-9}.{#1-9} percent, one in {three|five|six|eight|twelve}, about a {third|quarter|fifth|tenth}

@reason
because the spring had been unusually wet
because two suppliers had changed their prices in the same month
after the insurer asked for a second opinion
since nobody had kept the earlier drawings
because the old contract ran out before the new one was signed
as the regional office had promised in the autumn
because the night shift had been left one person short
after a long argument about who should pay
since the first estimate had counted the same cost twice
because visitors kept asking for it
after a neighbouring town had tried it with success
because the spare parts came from a factory that had closed
since the records of the previous decade were lost in a move
although the budget made no allowance for it
even though the vote had been close
so that work could go on through the winter
in order to keep the promise made to the apprentices
before anyone had checked the measurements
once the last objections had been answered in writing
while the second team was still being trained

@claim
that the first figures had been too optimistic
that training mattered more than new equipment
that a slower start would save money in the end
that the public ought to be told before the papers were
that no single cause explained the delay
that the old method had been better than its reputation
that the numbers would look different by the summer
that somebody should have asked the people on the night shift
that two smaller orders were safer than a large one
that the measurements had to be repeated by somebody else
that the plan stood or fell with the weather
that the savings existed mostly on paper
that the smallest of the three options was also the wisest
that nothing should be thrown away until the audit was over

@town
{town_a}{town_b}

@amount
{#3-96} thousand {currency_here}
{#2-19}.{#1-9} million {currency_here}
{#120-980} {currency_here}

%month: January, February, March, April, May, June, July, August, September, October, November, December

@exact_date
{#1-28} {month} {last_year}
{#1-28} {month} {year}
{#1-28} {month} {next_year}

@anydate
{#1-28} {month} {last_year}
the {first|second|third|last} week of {month}
{early|late} {spring|summer|autumn|winter} of {last_year}

@when
on {#1-28} {month} {last_year}
in the {first|second|third|last} week of {month}
in the {early|late} {spring|summer|autumn|winter} of {last_year}
on a {weekday} in {month}
towards the end of {month}

@soon
{#1-28} {month} {next_year}
the end of {month}
the next meeting
{early|late} {spring|summer|autumn} of {next_year}

@time
{8|9|10|11|14|15|16|17}:{00|10|15|20|30|40|45|50}

@code
{letter}{letter}-{#1000-9999}
{letter}{#100-999}/{#10-99}

@org_name
the {town} {org_kind}

@item_name
the {town} {kind}
the {last} {kind}
the {colour} {kind}
{kind} {letter}{#2-48}

@place_name
{site}
{site} {in|near} {town}
{site} beside the {river}

%domain: harbour, hospital, museum, orchard, power, railway, mill, observatory, library, water, forest, studio, data,
  bakery

%harbour.org_kind: Port Authority, Harbour Board, Pilots' Association
%harbour.field: harbour operations, pilotage, the dredging programme
%harbour.thing: mooring lines, cargo cranes, tide gauges, pilot boats, bonded warehouses, harbour dues, buoys,
  container lashings, manifests, fenders, quay lamps, customs seals
%harbour.activity: dredging the inner basin, checking manifests, repainting buoys, training deckhands,
  surveying the sea wall, weighing cargo, relaying the crane rails, charting the sandbank
%harbour.problem: a cracked lock gate, silt at the bar, a missing manifest, a jammed crane hook, an oil film on the dock
%harbour.site: the north quay, the customs shed, the signal station, the dry dock, the fish market, the pilot house
%harbour.role: harbour master, senior pilot, crane driver, customs clerk, surveyor, dock engineer
%harbour.kind: crane, dredger, ferry, lightship, tug, slipway

%hospital.org_kind: General Hospital, Children's Clinic, Health Trust
%hospital.field: patient care, ward staffing, the outpatient service
%hospital.thing: waiting lists, infusion pumps, night rosters, discharge letters, blood samples, isolation beds,
  sterile trays, hearing tests, vaccination records, wheelchairs, referrals, dressings
%hospital.activity: triaging walk-in patients, cleaning theatre instruments, teaching junior nurses, rewriting rosters,
  tracking infections, calibrating scanners, visiting patients at home, auditing prescriptions
%hospital.problem: a shortage of night nurses, a mislabelled sample, a broken autoclave, an outbreak of influenza,
  a leak above the X-ray room
%hospital.site: the east wing, the dispensary, the maternity ward, the laboratory, the day clinic, the records room
%hospital.role: ward sister, anaesthetist, pharmacist, registrar, physiotherapist, theatre manager
%hospital.kind: scanner, ward, clinic, ambulance, laboratory, operating theatre

%museum.org_kind: Museum of Trade, Folk Museum, Gallery of Maps
%museum.field: the collections, conservation, the exhibition programme
%museum.thing: display cases, oil portraits, loan agreements, copper engravings, school visits, catalogue cards,
  textile fragments, donor letters, coin hoards, humidity readings, wall labels, plaster casts
%museum.activity: cataloguing donations, repairing frames, dating the ceramics, guiding school classes,
  packing loans, photographing textiles, rewriting labels, tracing previous owners
%museum.problem: a moth infestation, a disputed bequest, a flooded store, a forged signature, an unpaid loan fee
%museum.site: the long gallery, the print room, the basement store, the workshop, the lecture hall, the coin cabinet
%museum.role: curator, conservator, registrar, archivist, head of education, photographer
%museum.kind: tapestry, collection, altarpiece, globe, manuscript, gallery

%orchard.org_kind: Growers' Cooperative, Fruit Exchange, Orchard Trust
%orchard.field: the fruit harvest, grafting and storage, the cooperative's accounts
%orchard.thing: apple varieties, grafting knives, beehives, frost candles, pickers' wages, cold stores, cider presses,
  seedlings, soil tests, delivery crates, irrigation hoses, hedgerows
%orchard.activity: pruning the old trees, grafting cherries, counting blossoms, pressing cider, sorting fruit by size,
  moving the hives, thinning the rows, testing the soil
%orchard.problem: a late frost, an attack of canker, a broken press, a shortage of pickers, a dispute over water
%orchard.site: the lower orchard, the packing shed, the cold store, the nursery beds, the press house, the south slope
%orchard.role: head grower, beekeeper, press operator, bookkeeper, agronomist, foreman
%orchard.kind: orchard, cold store, cider press, tractor, hedge, greenhouse

%power.org_kind: Power Company, Grid Operator, Energy Board
%power.field: electricity supply, grid maintenance, the metering programme
%power.thing: transformers, substations, meter readings, load forecasts, insulators, switchgear, storage batteries,
  turbine blades, outage reports, cable joints, tariffs, relays
%power.activity: balancing the evening load, replacing insulators, reading meters, testing relays, trimming trees,
  inspecting turbine blades, modelling demand, burying overhead lines
%power.problem: a burnt transformer, a voltage dip, a stuck breaker, a faulty meter batch, an ice-loaded line
%power.site: the control room, the western substation, the cable tunnel, the turbine hall, the meter store, the dam
%power.role: shift engineer, line foreman, load analyst, meter inspector, safety officer, dispatcher
%power.kind: turbine, substation, feeder, transformer, battery, interconnector

%railway.org_kind: Light Railway, Junction Railway, Transit Agency
%railway.field: passenger services, track renewal, the new timetable
%railway.thing: timetables, sleepers, signal lamps, season tickets, buffet cars, points, level crossings,
  track circuits, guards' reports, axle bearings, footbridges, freight paths
%railway.activity: renewing the ballast, rostering drivers, painting the footbridge, testing signals,
  answering complaints, clearing snow, coupling freight wagons, inspecting the viaduct
%railway.problem: a buckled rail, a failed signal, a landslip in the cutting, a shortage of drivers, a worn axle
%railway.site: the goods yard, the signal box, the carriage shed, the upper station, the viaduct, the ticket hall
%railway.role: station master, signaller, driver, permanent-way inspector, timetable planner, guard
%railway.kind: locomotive, viaduct, tunnel, railcar, branch line, signal box

%mill.org_kind: Woollen Mill, Weaving Company, Textile Works
%mill.field: spinning and weaving, the dye house, the order book
%mill.thing: looms, bobbins, dye lots, pattern books, fleeces, carding machines, bolts of cloth, shuttles,
  wage sheets, boiler inspections, yarn samples, export orders
%mill.activity: setting up the looms, matching dye lots, grading fleeces, mending broken yarn, oiling the shafts,
  drawing new patterns, training weavers, packing export bales
%mill.problem: a faded dye lot, a split drive belt, an unpaid export order, a boiler fault, a shortage of fleeces
%mill.site: the weaving shed, the dye house, the wool loft, the boiler house, the pattern room, the loading bay
%mill.role: master weaver, dyer, loom tuner, pattern designer, overseer, wool buyer
%mill.kind: loom, boiler, spinning frame, dye vat, warehouse, waterwheel

%observatory.org_kind: Observatory, Astronomical Society, Institute of Geophysics
%observatory.field: variable stars, the survey of faint objects, instrument development
%observatory.thing: photographic plates, light curves, mirror coatings, spectra, comet sightings, calibration lamps,
  star charts, telescope schedules, seismograph traces, dark frames, visiting astronomers, cooling pumps
%observatory.activity: measuring light curves, recoating the mirror, digitising plates, aligning the dome,
  comparing spectra, timing occultations, training observers, reducing the survey data
%observatory.problem: a drifting clock, a scratched mirror, an unexplained dip in brightness, a stuck dome shutter,
  a corrupted tape
%observatory.site: the main dome, the plate vault, the instrument shop, the clock room, the summit hut, the library
%observatory.role: astronomer, instrument maker, night assistant, data officer, optician, director
%observatory.kind: telescope, spectrograph, camera, survey, comet, catalogue

%library.org_kind: City Library, Reading Society, University Library
%library.field: lending and reference, the reading rooms, the catalogue reform
%library.thing: overdue loans, reading desks, microfilm reels, children's books, shelf marks, reservation slips,
  bound newspapers, membership cards, lecture notes, atlases, binding costs, donated books
%library.activity: reshelving the stacks, binding newspapers, scanning rare maps, helping with homework,
  weeding duplicates, planning lectures, chasing overdue loans, writing catalogue entries
%library.problem: a damp wall, a lost accession book, a jammed lift, an overfull stack, a quarrel over noise
%library.site: the map room, the north stacks, the children's corner, the bindery, the reading room, the annex
%library.role: head librarian, cataloguer, binder, reference librarian, caretaker, trustee
%library.kind: atlas, reading room, bequest, bookmobile, archive, catalogue

%water.org_kind: Waterworks, Drainage District, River Authority
%water.field: drinking water, flood protection, the sewer renewal
%water.thing: pumps, sluices, chlorine levels, water meters, filter beds, culverts, flood warnings, pipe joints,
  leak reports, sand bags, reservoir levels, sampling bottles
%water.activity: flushing the mains, sampling the reservoir, lining old pipes, clearing culverts, reading gauges,
  rehearsing flood drills, mapping leaks, raking the filter beds
%water.problem: a burst main, a blocked culvert, an algal bloom, a silted intake, a faulty chlorine gauge
%water.site: the pumping station, the filter house, the upper reservoir, the sluice gate, the east culvert, the weir
%water.role: water chemist, pump attendant, hydrologist, leak inspector, dyke warden, district engineer
%water.kind: pump, reservoir, sluice, culvert, aqueduct, filter bed

%forest.org_kind: Forest Service, Woodland Trust, Timber Council
%forest.field: timber and conservation, the replanting plan, the bird census
%forest.thing: oak saplings, felling permits, nest boxes, fire breaks, sawlogs, trail signs, bark beetles, tree rings,
  charcoal kilns, deer fences, seed orchards, mushroom pickers
%forest.activity: counting breeding birds, marking trees, clearing windfall, repairing trails, planting oak,
  measuring tree rings, burning brush, mapping beetle damage
%forest.problem: a beetle outbreak, an illegal clearing, a washed-out track, a summer fire, a broken winch
%forest.site: the ranger hut, the seed nursery, the old sawmill, the upper ridge, the beech stand, the bog
%forest.role: head ranger, forester, botanist, fire warden, sawyer, ornithologist
%forest.kind: plantation, sawmill, oak, trail, watchtower, nature reserve

%studio.org_kind: Film Studio, Broadcasting House, Radio Workshop
%studio.field: documentary production, the sound archive, the evening programme
%studio.thing: tape reels, camera lenses, scripts, location permits, costumes, sound effects, subtitles, edit suites,
  call sheets, broadcast rights, microphones, listener letters
%studio.activity: cutting the second episode, recording birdsong, scouting locations, mixing the score,
  checking subtitles, interviewing witnesses, restoring old tapes, writing the narration
%studio.problem: a lost reel, a flooded location, an unclear licence, a buzzing microphone, a cancelled interview
%studio.site: the sound stage, the tape vault, the edit suite, the costume store, the small studio, the roof terrace
%studio.role: producer, sound engineer, editor, camera operator, researcher, script supervisor
%studio.kind: documentary, series, recording, camera, archive, transmitter

%data.org_kind: Computing Centre, Software Cooperative, Statistics Office
%data.field: hosted services, the migration project, data quality
%data.thing: backups, database replicas, access logs, build servers, error reports, message queues, survey forms,
  storage nodes, unit tests, user accounts, batch jobs, certificates
%data.activity: migrating old records, writing tests, tuning queries, rotating certificates, reviewing changes,
  cleaning survey data, replaying logs, documenting interfaces
%data.problem: a corrupted index, a memory leak, an expired certificate, a slow query, a duplicated account
%data.site: the server room, the north data hall, the help desk, the test lab, the tape library, the annex office
%data.role: system administrator, release manager, database engineer, analyst, support lead, security officer
%data.kind: scheduler, gateway, index, importer, cluster, message broker

%bakery.org_kind: Bakers' Union, Bread Company, Flour Mill
%bakery.field: bread and pastry, the delivery rounds, the flour supply
%bakery.thing: rye loaves, flour sacks, proving baskets, delivery vans, oven bricks, recipes, yeast cultures,
  pastry orders, apprentices, market stalls, invoices, cooling racks
%bakery.activity: firing the ovens, testing new recipes, milling rye, delivering to schools, cleaning the mixers,
  feeding the sourdough, pricing pastries, training apprentices
%bakery.problem: a cracked oven, a spoiled batch of flour, a late delivery, a broken mixer, a wage dispute
%bakery.site: the oven hall, the flour loft, the corner shop, the loading yard, the pastry room, the test kitchen
%bakery.role: master baker, miller, pastry cook, delivery manager, apprentice, shopkeeper
%bakery.kind: oven, mixer, delivery van, silo, recipe, shop
)";

}  // namespace ripplekv
