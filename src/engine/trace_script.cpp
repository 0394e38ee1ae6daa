// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The trace page's first script (contract: trace_page.h): the data, the colours, the one selection that every view
// shows, and the heat map. The names declared here are what trace_text_script.cpp builds on.
#include "engine/trace_page.h"

namespace ripplekv {

const std::string_view kTracePageScript = R"js(
'use strict';
const data = JSON.parse(document.getElementById('trace-data').textContent);
const $ = id => document.getElementById(id);

// el('p', {className: 'note'}, 'text', child): texts become text nodes, never markup.
function el(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}
const format = n => n.toLocaleString('en-US');
const percent = x => (100 * x).toFixed(x > 0 && x < 0.0995 ? 1 : 0) + '%';
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const plural = (n, word) => format(n) + ' ' + word + (n === 1 ? '' : 's');

// ---- data: which (layer, head) holds which token ----
const texts = data.tokens.text;
const nTokens = texts.length;
const nLayers = data.kept.length;
// bits[layer][head]: row r is bit r % 8 of byte r / 8.
const bits = data.kept.map(heads => heads.map(text => Uint8Array.from(atob(text), c => c.charCodeAt(0))));
const holds = (layer, head, token) => bits[layer][head][token >> 3] >> (token & 7) & 1;
const nHeads = bits.map(heads => heads.length);
const nHeadsAll = nHeads.reduce((a, b) => a + b, 0);
const nHeadsMax = Math.max(...nHeads);
const counts = bits.map((heads, layer) => {  // [layer][token]: heads that hold it
  const count = new Uint16Array(nTokens);
  heads.forEach((_, head) => { for (let t = 0; t < nTokens; ++t) count[t] += holds(layer, head, t); });
  return count;
});
const sums = counts.map(count => {  // [layer][t]: sum of counts before t, so that any span is one subtraction
  const sum = new Uint32Array(nTokens + 1);
  for (let t = 0; t < nTokens; ++t) sum[t + 1] = sum[t] + count[t];
  return sum;
});
const heldIn = (layer, a, b) => sums[layer][b] - sums[layer][a];
const shareIn = (layer, a, b) => heldIn(layer, a, b) / ((b - a) * nHeads[layer]);
const rows = sums.map((sum, layer) => sum[nTokens] / nHeads[layer]);
const rowsAll = rows.reduce((a, b) => a + b, 0);
const rowsMax = Math.max(...rows);

// A token as a name: quotes show where blanks are; a piece of a character has no text of its own.
function nameOf(token) {
  const text = texts[token];
  return text === '' ? '(piece of a character)' : text.replace(/\n/g, '\u21b5').replace(/\t/g, '\u21e5');
}

// "3, 5-9": a list of ascending numbers as ranges.
function ranges(numbers) {
  const out = [];
  for (const n of numbers) {
    const last = out[out.length - 1];
    if (last && last[1] === n - 1) last[1] = n; else out.push([n, n]);
  }
  return out.map(([a, b]) => a === b ? a : b === a + 1 ? a + ', ' + b : a + '\u2013' + b).join(', ');
}

// ---- colours: one hue, lightness strictly monotone: safe for every kind of colour vision ----
// Level 0 means kept by none. The rest follows the square root of the share, so that 2% and 10% can be told apart.
const nLevels = 20;
const levelOf = share => share <= 0 ? 0 : Math.max(1, Math.round(nLevels * Math.sqrt(share)));
const stops = {
  light: ['#d6e6f4', '#9fc9e6', '#5b9fd1', '#2b6fb0', '#0d3a72'],
  dark: ['#16344f', '#1f5585', '#3683b8', '#79b8de', '#e3f3ff'],
};
const darkScheme = matchMedia('(prefers-color-scheme: dark)');
const rgbOf = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
function mix(scale, x) {
  const at = x * (scale.length - 1), i = Math.min(Math.floor(at), scale.length - 2);
  const a = rgbOf(scale[i]), b = rgbOf(scale[i + 1]);
  return a.map((value, c) => Math.round(value + (b[c] - value) * (at - i)));
}
function luminance(rgb) {  // WCAG 2 relative luminance
  const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
let colours = [];  // of each level, for style sheets
let pixels = [];   // and as RGBA
const levelSheet = document.head.appendChild(el('style'));
const cssVariable = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function setColours() {
  const scale = darkScheme.matches ? stops.dark : stops.light;
  colours = [cssVariable('--lost')];
  pixels = [[...rgbOf(colours[0]), 255]];
  let sheet = '.s0{background:var(--lost)}';
  for (let level = 1; level <= nLevels; ++level) {
    const rgb = mix(scale, (level - 1) / (nLevels - 1));
    colours.push('rgb(' + rgb + ')');
    pixels.push([...rgb, 255]);
    // Black on it or white on it, whichever has the higher contrast.
    const ink = (luminance(rgb) + 0.05) ** 2 > 1.05 * 0.05 ? '#000' : '#fff';
    sheet += '.s' + level + '{background:' + colours[level] + ';color:' + ink + '}';
  }
  levelSheet.textContent = sheet;
}
setColours();

for (const legend of document.querySelectorAll('[data-legend]')) {
  const ramp = el('span', {className: 'ramp'});
  for (let level = 0; level <= nLevels; ++level) ramp.append(el('i', {className: 's' + level}));
  const ticks = el('span', {className: 'ticks'});
  for (const share of [0, 0.1, 0.25, 0.5, 1]) {
    const tick = el('span', {}, percent(share));
    tick.style.left = 100 * Math.sqrt(share) + '%';
    ticks.append(tick);
  }
  legend.append(el('span', {}, legend.dataset.legend), ramp, ticks);
}

// One cell per layer, shaded by `share(layer)`.
function strip(share, layerMarked = -1) {
  return Array.from({length: nLayers}, (_, layer) =>
    el('i', {className: 's' + levelOf(share(layer)) + (layer === layerMarked ? ' on' : '')}));
}

// ---- header ----
$('model').textContent = data.model || 'unnamed model';
function fact(name, value, sub = '') {
  const dd = el('dd', {}, value);
  if (sub) dd.append(el('span', {className: 'sub'}, ' ' + sub));
  $('facts').append(el('div', {}, el('dt', {}, name), dd));
}
const headsText = Math.min(...nHeads) === nHeadsMax ? format(nHeadsMax) : Math.min(...nHeads) + '\u2013' + nHeadsMax;
fact('Selector', data.selector || 'n/a');
fact('Allocator', data.allocator || 'n/a');
fact('Budget', data.budget || 'n/a');
fact('kept_fraction', percent(rowsAll / (nTokens * nLayers)),
     format(rowsAll) + ' of ' + format(nTokens * nLayers) + ' rows');
fact('Prompt', plural(nTokens, 'token'));
fact('Layers \u00d7 KV heads', format(nLayers) + ' \u00d7 ' + headsText);

// ---- selection: what is pinned by click or key, and what the pointer is over ----
// null or {a, b, layer}: tokens [a, b) and a layer or -1.
let pinned = null;
let hovered = null;
let hits = [];       // [[a, b), ...] of the search
let hitCurrent = -1;

function describe({a, b, layer}) {
  const held = counts.map((_, l) => heldIn(l, a, b));
  const layersAny = held.filter(n => n > 0).length;
  const parts = [];
  if (layer >= 0) {
    if (b - a === 1) {
      const heads = bits[layer].flatMap((_, head) => holds(layer, head, a) ? [head] : []);
      parts.push(['Layer ' + layer + ': ', heads.length === 0 ? 'dropped by every head' :
        'kept by ' + heads.length + ' of ' + plural(nHeads[layer], 'head') + ' (' + ranges(heads) + ')']);
    } else {
      parts.push(['Layer ' + layer + ': ', percent(shareIn(layer, a, b)) + ' kept']);
    }
  }
  const all = held.reduce((x, y) => x + y, 0);
  parts.push([layer >= 0 ? 'All layers: ' : '', layersAny === 0 ? 'lost: no layer holds it' :
    'in ' + layersAny + ' of ' + plural(nLayers, 'layer') + ', ' +
    (b - a === 1 ? all + ' of ' + nHeadsAll + ' heads' : percent(all / ((b - a) * nHeadsAll)) + ' of their rows')]);
  return parts;
}

function showSelection() {
  const selection = hovered || pinned;
  $('inspector').hidden = !selection;
  drawOverlay();
  markInText(selection);
  if (!selection) return;
  const {a, b, layer} = selection;
  $('where').textContent = b - a === 1 ? 'Token ' + format(a) : 'Tokens ' + format(a) + '\u2013' + format(b - 1);
  const names = Array.from({length: Math.min(b - a, 40)}, (_, i) => nameOf(a + i));
  const hex = data.tokens.hex[a];
  $('chip').textContent = names.join('') + (b - a === 1 && hex ? '  [' + hex + ']' : '');
  $('strip').replaceChildren(...strip(l => shareIn(l, a, b), layer));
  const fate = describe(selection);
  $('fate').replaceChildren(...fate.flatMap(([name, text], i) => [i ? ' \u00b7 ' : '', name, el('b', {}, text)]));
}

// A click or a key: the selection stays, and is spoken.
function pin(selection) {
  pinned = selection;
  hovered = null;
  showSelection();
  if (!selection) return;
  $('live').textContent = $('where').textContent + ' ' + $('chip').textContent + '. ' +
    describe(pinned).map(part => part.join('')).join('. ');
}
function hover(selection) {
  hovered = selection;
  showSelection();
}
// ---- heat map: the tokens [view.start, view.end) of every layer ----
const canvas = $('map');
const context = canvas.getContext('2d');
const cellCanvas = document.createElement('canvas');
const base = document.createElement('canvas');  // everything but the selection, so that pointing redraws little
let view = {start: 0, end: nTokens};
let plot = null;  // sizes in CSS pixels, set by drawMap
const zoomMin = Math.min(nTokens, 32);

function layoutMap() {
  const width = Math.max(canvas.clientWidth, 200);
  const narrow = width < 560;
  const rowHeight = clamp(Math.floor((narrow ? 330 : 390) / nLayers), 2, 26);
  const left = 30, right = narrow ? 86 : 128, top = 14, bottom = 20;
  const plotWidth = width - left - right;
  const n = view.end - view.start;
  // Narrower than 2 pixels a column cannot be told from its neighbours, nor pointed at.
  const nColumns = Math.min(n, Math.floor(plotWidth / 2));
  return {width, height: top + bottom + rowHeight * nLayers, left, right, top, bottom, rowHeight, plotWidth, nColumns};
}
const columnStart = column => view.start + Math.floor(column * (view.end - view.start) / plot.nColumns);
function columnOf(token) {
  const n = view.end - view.start;
  let column = clamp(Math.floor((token - view.start) * plot.nColumns / n), 0, plot.nColumns - 1);
  while (column + 1 < plot.nColumns && columnStart(column + 1) <= token) ++column;
  return column;
}
const columnX = column => plot.left + column * plot.plotWidth / plot.nColumns;

function niceStep(span, nTicks) {
  const raw = Math.max(1, span / nTicks), unit = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map(m => m * unit).find(step => step >= raw);
}

function drawMap() {
  plot = layoutMap();
  const dpr = Math.min(window.devicePixelRatio || 1, 3);
  for (const c of [canvas, base]) {
    c.width = Math.round(plot.width * dpr);
    c.height = Math.round(plot.height * dpr);
  }
  canvas.style.height = plot.height + 'px';
  const g = base.getContext('2d');
  const gap = plot.rowHeight >= 7 ? 1 : 0;
  const device = x => Math.round(x * dpr);
  const rowY = layer => plot.top + layer * plot.rowHeight;
  // One pixel a cell, scaled up: a fill per cell is tens of times slower.
  const cells = new ImageData(plot.nColumns, nLayers);
  for (let layer = 0; layer < nLayers; ++layer) {
    for (let column = 0; column < plot.nColumns; ++column) {
      const level = levelOf(shareIn(layer, columnStart(column), columnStart(column + 1)));
      cells.data.set(pixels[level], 4 * (layer * plot.nColumns + column));
    }
  }
  cellCanvas.width = plot.nColumns;
  cellCanvas.height = nLayers;
  cellCanvas.getContext('2d').putImageData(cells, 0, 0);
  g.imageSmoothingEnabled = false;
  g.drawImage(cellCanvas, device(plot.left), device(plot.top), device(plot.plotWidth),
    device(rowY(nLayers)) - device(plot.top));
  for (let layer = 1; gap && layer < nLayers; ++layer) {
    g.clearRect(device(plot.left), device(rowY(layer) - gap), device(plot.plotWidth), device(gap));
  }
  g.scale(dpr, dpr);
  const muted = cssVariable('--muted'), line = cssVariable('--line'), lost = cssVariable('--lost');
  g.font = '11px ' + cssVariable('--sans');
  g.textBaseline = 'middle';
  const barX = plot.left + plot.plotWidth + 10;
  const numberWidth = 40, barWidth = plot.right - 10 - numberWidth;
  const labelEvery = Math.max(1, Math.ceil(13 / plot.rowHeight));
  for (let layer = 0; layer < nLayers; ++layer) {
    const y = rowY(layer) + (plot.rowHeight - gap) / 2;
    if (barWidth > 4) {
      g.fillStyle = lost;
      g.fillRect(barX, rowY(layer), barWidth, plot.rowHeight - gap);
      g.fillStyle = cssVariable('--focus');
      g.fillRect(barX, rowY(layer), barWidth * rows[layer] / rowsMax, plot.rowHeight - gap);
    }
    if (layer % labelEvery === 0) {
      g.fillStyle = muted;
      g.textAlign = 'right';
      g.fillText(String(layer), plot.left - 6, y);
      g.fillText(format(rows[layer]), plot.width, y);
    }
  }
  g.textAlign = 'center';
  const step = niceStep(view.end - view.start, plot.plotWidth / 60);
  const axisY = plot.top + plot.rowHeight * nLayers;
  for (let token = Math.ceil(view.start / step) * step; token < view.end; token += step) {
    const x = plot.left + (token - view.start) * plot.plotWidth / (view.end - view.start);
    g.fillStyle = line;
    g.fillRect(x, axisY, 1, 4);
    g.fillStyle = muted;
    g.fillText(format(token), clamp(x, plot.left + 4, plot.left + plot.plotWidth - 14), axisY + 12);
  }
  g.fillStyle = cssVariable('--accent');
  for (const [a, b] of hits) {
    if (b <= view.start || a >= view.end) continue;
    const x = columnX(columnOf(Math.max(a, view.start))), end = columnX(columnOf(Math.min(b, view.end) - 1) + 1);
    g.fillRect(x, 5, Math.max(3, end - x), 6);
  }
  const n = view.end - view.start, perColumn = n / plot.nColumns;
  $('binning').textContent = perColumn > 1 ? 'A column is the mean of ' + perColumn.toFixed(1) + ' tokens.' : '';
  $('zoom-in').disabled = n <= zoomMin;
  $('zoom-out').disabled = $('zoom-fit').disabled = n === nTokens;
  const pan = $('pan');
  pan.hidden = n === nTokens;
  pan.max = nTokens - n;
  pan.step = Math.max(1, Math.floor(n / 16));
  pan.value = view.start;
  drawOverlay();
}

function drawOverlay() {
  if (!plot) return;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.drawImage(base, 0, 0);
  const selection = hovered || pinned;
  if (!selection) return;
  const {a, b, layer} = selection;
  if (b <= view.start || a >= view.end) return;
  const dpr = canvas.width / plot.width;
  context.scale(dpr, dpr);
  const x = columnX(columnOf(Math.max(a, view.start)));
  const width = columnX(columnOf(Math.min(b, view.end) - 1) + 1) - x;
  context.strokeStyle = cssVariable('--accent');
  context.lineWidth = 1.5;
  context.strokeRect(x - 1, plot.top - 1, width + 2, plot.rowHeight * nLayers + 2);
  if (layer >= 0) {
    context.lineWidth = 2;
    context.strokeRect(x - 2, plot.top + layer * plot.rowHeight - 2, width + 4, plot.rowHeight + 3);
  }
}

function showView(start, n) {
  n = clamp(Math.round(n), zoomMin, nTokens);
  start = clamp(Math.round(start), 0, nTokens - n);
  view = {start, end: start + n};
  drawMap();
}
function zoom(factor) {
  const n = (view.end - view.start) * factor;
  const seen = pinned && pinned.a >= view.start && pinned.a < view.end;
  showView((seen ? pinned.a : (view.start + view.end) / 2) - n / 2, n);
}
function bringIntoView({a, b}) {
  if (a < view.start || b > view.end) {
    const n = view.end - view.start;
    showView((a + b) / 2 - n / 2, n);
  }
}

function selectionAt(event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  const column = clamp(Math.floor((x - plot.left) * plot.nColumns / plot.plotWidth), 0, plot.nColumns - 1);
  const layer = clamp(Math.floor((y - plot.top) / plot.rowHeight), 0, nLayers - 1);
  return {a: columnStart(column), b: columnStart(column + 1), layer};
}
canvas.addEventListener('pointermove', event => {
  if (event.pointerType === 'mouse') hover(selectionAt(event)); else pin(selectionAt(event));
});
canvas.addEventListener('pointerleave', () => hover(null));
canvas.addEventListener('click', event => pin(selectionAt(event)));
canvas.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const from = pinned || {a: view.start, b: view.start + 1, layer: 0};
  bringIntoView(from);
  let column = columnOf(from.a), layer = Math.max(from.layer, 0), turn = 0;
  switch (event.key) {
    case 'ArrowLeft': --column; turn = -1; break;
    case 'ArrowRight': ++column; turn = 1; break;
    case 'ArrowUp': --layer; break;
    case 'ArrowDown': ++layer; break;
    case 'Home': column = 0; break;
    case 'End': column = plot.nColumns - 1; break;
    case '+': case '=': zoom(0.5); event.preventDefault(); return;
    case '-': zoom(2); event.preventDefault(); return;
    case '0': showView(0, nTokens); event.preventDefault(); return;
    default: return;
  }
  event.preventDefault();
  if (column < 0 || column >= plot.nColumns) {  // past the edge: turn the page by half
    const n = view.end - view.start, before = view.start;
    showView(view.start + turn * n / 2, n);
    if (view.start === before) return;
    column = clamp(columnOf(from.a) + turn, 0, plot.nColumns - 1);
  }
  pin({a: columnStart(column), b: columnStart(column + 1), layer: clamp(layer, 0, nLayers - 1)});
});
$('zoom-in').addEventListener('click', () => zoom(0.5));
$('zoom-out').addEventListener('click', () => zoom(2));
$('zoom-fit').addEventListener('click', () => showView(0, nTokens));
$('pan').addEventListener('input', () => showView(Number($('pan').value), view.end - view.start));

function table(head, body) {
  const cell = (tag, text, i) => el(tag, {className: i ? '' : 'left'}, text);
  return el('div', {className: 'scroll', tabIndex: 0}, el('table', {},
    el('thead', {}, el('tr', {}, ...head.map((text, i) => cell('th', text, i)))),
    el('tbody', {}, ...body.map(line => el('tr', {}, ...line.map((text, i) => cell('td', text, i)))))));
}
$('layers').append(table(['Layer', 'Rows', 'Share of the prompt', 'Share of all rows'],
  rows.map((n, layer) => [String(layer), format(n), percent(n / nTokens), percent(rowsAll ? n / rowsAll : 0)])));
canvas.setAttribute('aria-label', 'Heat map of ' + plural(nLayers, 'layer') + ' by ' + plural(nTokens, 'token') +
  ': the fraction of heads that kept each token');
)js";

}  // namespace ripplekv
