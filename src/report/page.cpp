// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The document as one HTML page without scripts: what a pointer shows is done by the style.
#include <fmt/format.h>

#include <algorithm>

#include "base/html.h"
#include "report/document.h"

namespace ripplekv {
namespace {

// Series colours differ in lightness as well as in hue; d: first layer to last, q: amounts, one hue, lightness strictly
// monotone.
constexpr std::string_view kReportStyle = R"css(
:root {
  --k0: #1f5fa8; --k1: #c2570c; --k2: #18794e; --k3: #8e3ea8; --k4: #c0245e; --k5: #5f6670; --k6: #8a6d00;
  --k7: #007a86;
  --d0: #46085c; --d1: #472d7b; --d2: #3b518b; --d3: #2c718e; --d4: #218e8d; --d5: #27a07b; --d6: #46a45a;
  --d7: #72a032; --d8: #a29312; --d9: #c97f0a;
  --q0: #e4eff8; --q1: #cfe1f2; --q2: #b3d2ea; --q3: #91bfe0; --q4: #6ca9d4; --q5: #4a91c6; --q6: #3078b5;
  --q7: #1f609f; --q8: #154a86; --q9: #0c3468;
  --ink-low: #000; --ink-high: #fff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --k0: #7db8f0; --k1: #ff9d5c; --k2: #5fd3a5; --k3: #cf9bea; --k4: #ff7fae; --k5: #b5bcc4; --k6: #e3c04f;
    --k7: #5fd0da;
    --d0: #9a7be0; --d1: #7f8be8; --d2: #6a9be6; --d3: #58abdc; --d4: #4bbac9; --d5: #4dc7ad; --d6: #6dd28a;
    --d7: #9bd964; --d8: #ccdd4a; --d9: #fde047;
    --q0: #142b40; --q1: #173a57; --q2: #1b4a70; --q3: #215b89; --q4: #2c6ea1; --q5: #4284b6; --q6: #609bc8;
    --q7: #85b4d9; --q8: #b0cfe9; --q9: #e3f3ff;
    --ink-low: #fff; --ink-high: #000;
  }
}
.k0 { --c: var(--k0); } .k1 { --c: var(--k1); } .k2 { --c: var(--k2); } .k3 { --c: var(--k3); }
.k4 { --c: var(--k4); } .k5 { --c: var(--k5); } .k6 { --c: var(--k6); } .k7 { --c: var(--k7); }
.d0 { --c: var(--d0); } .d1 { --c: var(--d1); } .d2 { --c: var(--d2); } .d3 { --c: var(--d3); }
.d4 { --c: var(--d4); } .d5 { --c: var(--d5); } .d6 { --c: var(--d6); } .d7 { --c: var(--d7); }
.d8 { --c: var(--d8); } .d9 { --c: var(--d9); }
.q0 { --c: var(--q0); } .q1 { --c: var(--q1); } .q2 { --c: var(--q2); } .q3 { --c: var(--q3); }
.q4 { --c: var(--q4); } .q5 { --c: var(--q5); } .q6 { --c: var(--q6); } .q7 { --c: var(--q7); }
.q8 { --c: var(--q8); } .q9 { --c: var(--q9); }
nav { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 16px; font-size: .9rem; }
nav a { color: var(--focus); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 250px), 1fr)); gap: 10px;
  margin: 18px 0 0; }
.tiles div { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
.tiles dt { color: var(--muted); font-size: .8rem; overflow-wrap: anywhere; }
.tiles dd { margin: 0; font-size: 1.2rem; font-weight: 600; overflow-wrap: anywhere; }
.tiles .sub, p.sub { font-size: .85rem; font-weight: 400; color: var(--muted); }
section .facts { margin-top: 10px; }
section h2 { font-size: 1.2rem; overflow-wrap: anywhere; }
.warning { margin-top: 10px; padding: 6px 12px; border-left: 4px solid var(--accent); background: var(--button);
  overflow-wrap: anywhere; }
.figures { columns: 2 440px; column-gap: 28px; margin-top: 16px; }
figure { margin: 0 0 22px; break-inside: avoid; }
figcaption { font-size: .88rem; overflow-wrap: anywhere; }
figcaption span { color: var(--muted); }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 6px 0 0; padding: 0;
  font-size: .82rem; align-items: center; }
.key li { display: flex; gap: 6px; align-items: center; overflow-wrap: anywhere; min-width: 0; }
.key svg { flex: none; }
p.key { gap: 8px; color: var(--muted); }
.ramp { border: 1px solid var(--line); border-radius: 3px; }
.chart { display: block; width: 100%; height: auto; margin-top: 8px; font-family: var(--sans); }
.narrow { display: none; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--muted); stroke-width: 1; }
.ref { stroke: var(--muted); stroke-width: 1.2; stroke-dasharray: 5 4; }
.tick, .label { fill: var(--muted); font-size: 11px; font-variant-numeric: tabular-nums; }
.halo { paint-order: stroke; stroke: var(--panel); stroke-width: 3px; }
.name { fill: var(--text); font-size: 12px; font-variant-numeric: tabular-nums; }
.strong { font-weight: 600; fill: var(--text); }
.ln { stroke: var(--c); stroke-width: 2; fill: none; stroke-linejoin: round; stroke-linecap: round; }
.ln.thin { stroke-width: 1.3; stroke-dasharray: none; opacity: .75; }
.solid { stroke-dasharray: none !important; }
.dash1 { stroke-dasharray: 7 4; } .dash2 { stroke-dasharray: 2 4; } .dash3 { stroke-dasharray: 9 3 2 3; }
.pt { fill: var(--c); stroke: var(--panel); stroke-width: 1; stroke-dasharray: none; }
.fill, .cell { fill: var(--c); }
.cell { rx: 3px; }
.none { --c: var(--lost); }
.err { stroke: var(--text); stroke-width: 1.3; }
.ink { font-size: 11px; fill: var(--ink-low); font-variant-numeric: tabular-nums; }
.ink.q5, .ink.q6, .ink.q7, .ink.q8, .ink.q9 { fill: var(--ink-high); }
.touch { fill: transparent; stroke: none; pointer-events: all; }
path.touch { fill: none; stroke: transparent; stroke-width: 9; pointer-events: stroke; }
.hit { outline: none; }
.tip, .guide { visibility: hidden; pointer-events: none; }
.guide { stroke: var(--muted); stroke-width: 1; }
.hit:hover .tip, .hit:focus .tip, .hit:hover .guide, .hit:focus .guide { visibility: visible; }
.box { fill: var(--panel); stroke: var(--muted); rx: 5px; }
.tiptext { fill: var(--text); font-size: 12px; font-variant-numeric: tabular-nums; }
.one .name { visibility: hidden; }
.one:hover .name { visibility: visible; }
.one:hover .ln { stroke-width: 4; }
h3 { font-size: .95rem; margin: 20px 0 0; overflow-wrap: anywhere; }
summary { padding: 4px 0; overflow-wrap: anywhere; }
.scroll { max-height: 70vh; overflow: auto; }
thead { position: sticky; top: 0; background: var(--panel); }
thead th { vertical-align: bottom; white-space: normal; }
thead .span { text-align: center; border-left: 1px solid var(--line); }
.long { white-space: normal; min-width: 40ch; overflow-wrap: anywhere; }
tbody tr:hover { background: var(--button); }
footer { margin-top: 20px; color: var(--muted); font-size: .82rem; }
@media (max-width: 640px) {
  .wide { display: none; }
  .narrow { display: block; }
  .tiles { grid-template-columns: 1fr; }
}
@media print { section { break-inside: avoid; } }
)css";

std::string shown(std::string_view text) { return html_escape(visible_text(text)); }

std::string facts_html(const std::vector<Fact>& facts, std::string_view css_class) {
  if (facts.empty()) return "";
  std::string out = fmt::format("<dl class=\"{}\">\n", css_class);
  for (const Fact& fact : facts) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd>", shown(fact.name), shown(fact.value));
    if (!fact.note.empty()) out += "<dd class=\"sub\">" + shown(fact.note) + "</dd>";
    out += "</div>\n";
  }
  return out + "</dl>\n";
}

// A column of texts alone stands to the left.
bool is_left(const Table& table, size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const std::vector<Cell>& row) { return row[column].numbers.empty(); });
}

// One with sentences in it is broken into lines.
bool is_long(const Table& table, size_t column) {
  constexpr size_t kLineBytes = 70;
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const std::vector<Cell>& row) { return row[column].text.size() > kLineBytes; });
}

std::string table_html(const Table& table) {
  std::string body = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<thead>\n", shown(table.title));
  if (!table.groups.empty()) {
    body += "<tr>";
    for (const auto& [name, n] : table.groups) {
      body += fmt::format("<th class=\"span\" scope=\"colgroup\" colspan=\"{}\">{}</th>", n, shown(name));
    }
    body += "</tr>\n";
  }
  body += "<tr>";
  std::vector<const char*> sides;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    sides.push_back(!is_left(table, c) ? "" : is_long(table, c) ? " class=\"left long\"" : " class=\"left\"");
    body += fmt::format("<th scope=\"col\"{}>{}</th>", sides[c], shown(table.columns[c]));
  }
  body += "</tr>\n</thead>\n<tbody>\n";
  for (size_t r = 0; r < std::min(table.rows.size(), kShownRowsMax); ++r) {
    const std::vector<Cell>& row = table.rows[r];
    body += "<tr>";
    for (size_t c = 0; c < row.size(); ++c) body += fmt::format("<td{}>{}</td>", sides[c], shown(row[c].text));
    body += "</tr>\n";
  }
  body += "</tbody>\n</table></div>\n";
  if (const std::string note = shown_rows_note(table); !note.empty()) body += "<p class=\"sub\">" + note + "</p>\n";
  if (table.folded) return fmt::format("<details><summary>{}</summary>{}</details>\n", shown(table.title), body);
  return fmt::format("<h3>{}</h3>{}", shown(table.title), body);
}

}  // namespace

std::string report_html(const Report& report) {
  std::string out = html_head("RippleKV report: " + report.title, kReportStyle, /*scripts=*/false);
  out += fmt::format("<div class=\"page\">\n<header>\n<p class=\"brand\">RippleKV report</p>\n<h1>{}</h1>\n",
                     shown(report.title));
  out += facts_html(report.facts, "tiles");
  if (report.sections.size() > 1) {
    out += "<nav aria-label=\"Sections\">";
    for (size_t s = 0; s < report.sections.size(); ++s) {
      out += fmt::format("<a href=\"#s{}\">{}</a>", s, shown(report.sections[s].title));
    }
    out += "</nav>\n";
  }
  out += "</header>\n<main>\n";
  for (size_t s = 0; s < report.sections.size(); ++s) {
    const Section& section = report.sections[s];
    out += fmt::format("<section id=\"s{}\" aria-labelledby=\"t{}\">\n<h2 id=\"t{}\">{}</h2>\n", s, s, s,
                       shown(section.title));
    if (!section.lede.empty()) out += "<p class=\"lede\">" + shown(section.lede) + "</p>\n";
    for (const std::string& warning : section.warnings) out += "<p class=\"warning\">" + shown(warning) + "</p>\n";
    out += facts_html(section.facts, "facts");
    if (!section.figures.empty()) {
      out += "<div class=\"figures\">\n";
      for (const Figure& figure : section.figures) out += figure.markup + "\n";
      out += "</div>\n";
    }
    for (const Table& table : section.tables) out += table_html(table);
    out += "</section>\n";
  }
  out += "</main>\n<footer>Point at a mark or tap it to read its value. This page loads nothing and runs no script.";
  return out + "</footer>\n</div>\n</body>\n</html>\n";
}

}  // namespace ripplekv
