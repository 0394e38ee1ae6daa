// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The trace page's own style and markup (contract: trace_page.h; the script is trace_script.cpp; what all pages share
// is base/html.h). Colours that carry a value are set by the script.
#include "engine/trace_page.h"

namespace ripplekv {

const std::string_view kTracePageStyle = R"css(
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; margin-bottom: 12px; }
.bar h2 { margin-right: auto; }
.group { display: flex; align-items: center; gap: 6px; }
label { font-size: .85rem; color: var(--muted); }
button, select, input[type=search] { max-width: 100%;
  font: inherit; font-size: .9rem; color: var(--text); background: var(--button);
  border: 1px solid var(--line); border-radius: 7px; min-height: 34px; padding: 4px 10px; }
button { cursor: pointer; min-width: 34px; }
button:disabled { opacity: .45; cursor: default; }
button:hover:not(:disabled), select:hover { border-color: var(--muted); }
input[type=search] { width: 100%; background: var(--panel); min-height: 40px; font-size: 1rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }

.find { display: grid; grid-template-columns: auto 1fr; align-items: center; gap: 6px 14px; }
.find .note { grid-column: 2; }
.hits { list-style: none; margin: 12px 0 0; padding: 0; display: grid; gap: 6px; max-height: 290px; overflow: auto; }
.hits button { width: 100%; text-align: left; display: grid; gap: 5px; padding: 8px 10px; background: none; }
.hits button[aria-current=true] { border-color: var(--accent); }
.hits .quote { overflow-wrap: anywhere; }
.hits .fate { font-size: .85rem; color: var(--muted); }
.hits .fate b { color: var(--text); }
mark { background: var(--mark); color: var(--mark-text); border-radius: 3px; padding: 0 1px; }
.strip { display: flex; height: 14px; gap: 1px; width: 100%; max-width: 620px; }
.strip i { flex: 1 1 0; min-width: 1px; border-radius: 1px; }
.strip i.on { outline: 2px solid var(--accent); outline-offset: 0; }

#map { display: block; width: 100%; touch-action: pan-y; cursor: crosshair; border-radius: 4px; }
#pan { width: 100%; margin: 6px 0 0; accent-color: var(--focus); }
.legend { display: grid; width: 220px; font-size: .78rem; line-height: 1.35; color: var(--muted); }
.legend .ramp { display: flex; height: 12px; border: 1px solid var(--line); border-radius: 3px; overflow: hidden; }
.legend .ramp i { flex: 1; }
.legend .ticks { position: relative; height: 16px; font-variant-numeric: tabular-nums; }
.legend .ticks span { position: absolute; transform: translateX(-50%); }
.legend .ticks span:first-child { transform: none; }
.legend .ticks span:last-child { transform: translateX(-100%); }

#doc { white-space: pre-wrap; overflow-wrap: anywhere; overflow-y: auto; max-height: 70vh; padding: 10px 12px;
  line-height: 1.75; border: 1px solid var(--line); border-radius: 8px; position: relative; }
#doc span, #answer span { border-radius: 2px; padding: 1px 0; }
#doc span { cursor: pointer; }
#doc .s0 { background: none; color: var(--muted); }
#doc .nl::before { content: "\21B5"; opacity: .7; }
#doc .piece::before, #answer .piece::before { content: "\25E6"; opacity: .8; }
#doc .hit { box-shadow: 0 2px 0 0 var(--accent), 0 -2px 0 0 var(--accent); }
#doc .at { outline: 2px solid var(--accent); outline-offset: 1px; position: relative; z-index: 1; }

#inspector { position: sticky; bottom: 8px; z-index: 5; display: grid; gap: 6px 18px; padding: 10px 14px;
  grid-template-columns: minmax(0, 1fr) auto; align-items: center; box-shadow: 0 4px 18px rgb(0 0 0 / .16); }
#inspector .what { display: flex; gap: 10px; align-items: baseline; min-width: 0; }
#inspector .chip { font-family: var(--mono); font-size: .88rem; white-space: pre; overflow: hidden;
  text-overflow: ellipsis; background: var(--button); border: 1px solid var(--line); border-radius: 5px;
  padding: 0 6px; min-width: 0; }
#inspector .where { white-space: nowrap; font-variant-numeric: tabular-nums; font-weight: 600; }
#inspector .fate { font-size: .88rem; color: var(--muted); }
#inspector .fate b { color: var(--text); }
#inspector .strip { grid-column: 1; max-width: none; }
#inspector .go { grid-column: 2; grid-row: 1 / span 3; display: grid;
  grid-template-columns: repeat(3, auto); gap: 6px; }

.output { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 16px 32px; }
.output h3 { font-size: .92rem; margin: 0 0 8px; }
.tops { display: grid; grid-template-columns: minmax(60px, max-content) 1fr max-content; gap: 4px 10px; margin: 0;
  align-items: center; font-size: .88rem; font-variant-numeric: tabular-nums; }
.tops .tok { font-family: var(--mono); white-space: pre; overflow: hidden; text-overflow: ellipsis; max-width: 150px; }
.tops .track { height: 12px; background: var(--lost); border-radius: 3px; overflow: hidden; }
.tops .track i { display: block; height: 100%; background: var(--focus); }
.tops .num { text-align: right; color: var(--muted); }
#answer { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.85; max-height: 300px; overflow: auto; }
.n1 { border-bottom: 2px solid color-mix(in srgb, var(--accent) 35%, transparent); }
.n2 { border-bottom: 3px solid color-mix(in srgb, var(--accent) 70%, transparent); }
.n3 { border-bottom: 4px double var(--accent); }
.nats { display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: .78rem; color: var(--muted); margin-top: 8px; }

@media (max-width: 640px) {
  .find { grid-template-columns: 1fr; }
  .find .note { grid-column: 1; }
  .bar h2 { width: 100%; }
  .legend { width: 100%; }
  #doc { max-height: 62vh; font-size: .95rem; }
  #inspector { padding: 8px 10px; gap: 6px 10px; }
  #inspector .what { flex-wrap: wrap; gap: 2px 8px; }
  #inspector .go { grid-row: 1; align-self: start; text-transform: capitalize; }
  #inspector .go button { padding: 4px 9px; text-transform: inherit; }
  #inspector .go .verb { display: none; }
  #inspector .strip, #inspector .fate { grid-column: 1 / -1; }
  .output { grid-template-columns: minmax(0, 1fr); }
}
)css";

const std::string_view kTracePageBody = R"html(<div class="page">
<header>
<p class="brand">RippleKV trace</p>
<h1 id="model"></h1>
<p class="lede">What the KV cache still holds of the prompt. A row that a layer dropped can no longer be read by it:
a fact whose tokens are gone from most layers is easily lost.</p>
<dl class="facts" id="facts"></dl>
<noscript><p class="lede">This page draws its data with JavaScript, which is switched off.</p></noscript>
</header>
<main>
<section aria-label="Find a phrase">
<div class="find">
<h2><label for="query" style="color:inherit;font-size:inherit">Find a fact</label></h2>
<input type="search" id="query" placeholder="a name, a number, a phrase of the prompt" autocomplete="off"
 spellcheck="false">
<p class="note" id="found" role="status">Marks the phrase in both views and says in how many layers it survived.</p>
</div>
<ol class="hits" id="hits" hidden></ol>
</section>
<div>
<section aria-labelledby="map-title">
<div class="bar">
<h2 id="map-title">Layers × positions</h2>
<div class="legend" data-legend="fraction of heads that kept it"></div>
<div class="group" role="group" aria-label="Zoom">
<button type="button" id="zoom-out" aria-label="Zoom out">−</button>
<button type="button" id="zoom-in" aria-label="Zoom in">+</button>
<button type="button" id="zoom-fit">Fit</button>
</div>
</div>
<canvas id="map" tabindex="0" role="application" aria-roledescription="heat map" aria-describedby="map-help"></canvas>
<input type="range" id="pan" aria-label="Scroll the heat map along the prompt" hidden>
<p class="note" id="map-help">First layer on top; bars: rows each layer holds. Point or tap to inspect; arrow keys
move, + and − zoom, 0 fits, Escape clears. <span id="binning"></span></p>
<details id="layers"><summary>Rows per layer as a table</summary></details>
</section>
<section aria-labelledby="doc-title">
<div class="bar">
<h2 id="doc-title">Prompt text</h2>
<div class="legend" data-legend="share of layers × heads"></div>
<div class="group">
<label for="layer">Layer</label><button type="button" id="layer-down" aria-label="Previous layer">‹</button>
<select id="layer"></select><button type="button" id="layer-up" aria-label="Next layer">›</button>
</div>
<div class="group"><label for="head">KV head</label><select id="head"></select></div>
</div>
<div id="doc" tabindex="0" role="group" dir="auto" aria-label="Prompt text; left and right arrow keys move by token">
</div>
<p class="note" id="doc-note" style="margin-top:8px"></p>
</section>
<section id="inspector" aria-label="Token under inspection" hidden>
<div class="what"><span class="where" id="where"></span><span class="chip" id="chip" dir="auto"></span></div>
<div class="strip" id="strip" aria-hidden="true"></div>
<p class="fate" id="fate"></p>
<div class="go"><button type="button" id="go-text"><span class="verb">Show in </span>text</button>
<button type="button" id="go-map"><span class="verb">Show on </span>map</button>
<button type="button" id="clear" aria-label="Clear the selection">×</button></div>
</section>
</div>
<p class="hidden" id="live" aria-live="polite"></p>
<section id="output" aria-labelledby="output-title" hidden>
<div class="bar"><h2 id="output-title">What the model said with this cache</h2></div>
<div class="output" id="output-body"></div>
</section>
</main>
</div>
)html";

}  // namespace ripplekv
