// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The trace page's second script (contract: trace_page.h): the shaded text, the search and the model's output, on top
// of what trace_script.cpp declares; its last lines draw the page.
#include "engine/trace_page.h"

namespace ripplekv {

const std::string_view kTracePageTextScript = R"js(
'use strict';
// ---- the text ----
const doc = $('doc');
const spans = texts.map((text, token) => {
  const span = el('span', {id: 't' + token}, text);
  span.token = token;
  if (text === '') span.classList.add('piece');
  if (/^\s*\n\s*$/.test(text)) span.classList.add('nl');
  return span;
});
doc.replaceChildren(...spans);

const layerSelect = $('layer'), headSelect = $('head');
layerSelect.append(el('option', {value: '-1'}, 'all'));
rows.forEach((n, layer) => {
  layerSelect.append(el('option', {value: String(layer)}, layer + ' (' + plural(n, 'row') + ')'));
});
headSelect.append(el('option', {value: '-1'}, 'all'));
for (let head = 0; head < nHeadsMax; ++head) headSelect.append(el('option', {value: String(head)}, String(head)));

function shadeText() {
  const layer = Number(layerSelect.value), head = Number(headSelect.value);
  const layers = layer >= 0 ? [layer] : counts.map((_, l) => l);
  let nLost = 0;
  spans.forEach((span, token) => {
    let held = 0, possible = 0;
    for (const l of layers) {
      if (head < 0) {
        held += counts[l][token];
        possible += nHeads[l];
      } else if (head < nHeads[l]) {
        held += holds(l, head, token);
        ++possible;
      }
    }
    if (held === 0) ++nLost;
    const level = 's' + levelOf(possible ? held / possible : 0);
    if (span.level !== level) {
      span.classList.remove(span.level);
      span.classList.add(span.level = level);
    }
  });
  $('layer-down').disabled = layer < 0;
  $('layer-up').disabled = layer === nLayers - 1;
  const where = (layer < 0 ? 'any layer' : 'layer ' + layer) + (head < 0 ? '' : ', KV head ' + head);
  $('doc-note').textContent = plural(nLost, 'token') + ' of ' + format(nTokens) + ' (' + percent(nLost / nTokens) +
    ') not held in ' + where + ': shown unshaded.' +
    (texts.includes('') ? ' A hollow dot is a later piece of a character that several tokens share.' : '');
}
layerSelect.addEventListener('change', shadeText);
headSelect.addEventListener('change', shadeText);
for (const [id, by] of [['layer-down', -1], ['layer-up', 1]]) {
  $(id).addEventListener('click', () => {
    layerSelect.value = String(clamp(Number(layerSelect.value) + by, -1, nLayers - 1));
    shadeText();
  });
}

let spansMarked = [];
function markInText(selection) {
  for (const span of spansMarked) span.classList.remove('at');
  spansMarked = selection ? spans.slice(selection.a, selection.b) : [];
  for (const span of spansMarked) span.classList.add('at');
  if (selection) doc.setAttribute('aria-activedescendant', 't' + selection.a);
}
// Scrolls the text's own box only: the page stays where the reader is.
function scrollTextTo(token) {
  const span = spans[token];
  const top = span.offsetTop - doc.clientHeight / 2;
  doc.scrollTo({top});
}
const layerShaded = () => Number(layerSelect.value);
const selectionOf = token => ({a: token, b: token + 1, layer: layerShaded()});
doc.addEventListener('pointerover', event => {
  if (event.pointerType === 'mouse' && event.target.token !== undefined) hover(selectionOf(event.target.token));
});
doc.addEventListener('pointerleave', () => hover(null));
doc.addEventListener('click', event => {
  if (event.target.token !== undefined) pin(selectionOf(event.target.token));
});
doc.addEventListener('keydown', event => {
  const from = pinned || {a: 0, b: 0};
  const to = {ArrowLeft: from.a - 1, ArrowRight: from.b, Home: 0, End: nTokens - 1}[event.key];
  if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const token = clamp(to, 0, nTokens - 1);
  pin(selectionOf(token));
  scrollTextTo(token);
});
$('go-text').addEventListener('click', () => {
  hovered = null;
  scrollTextTo(pinned.a);
  $('doc-title').scrollIntoView({block: 'start'});
});
$('go-map').addEventListener('click', () => {
  hovered = null;
  bringIntoView(pinned);
  $('map-title').scrollIntoView({block: 'start'});
});
$('clear').addEventListener('click', () => pin(null));
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && event.target !== $('query')) pin(null);
});

// ---- search: letters without case, runs of blanks as one blank ----
let searchable = '';
const tokenAt = [];  // of each UTF-16 unit of `searchable`
texts.forEach((text, token) => {
  for (const c of text.toLowerCase()) {
    const unit = /\s/.test(c) ? ' ' : c;
    if (unit === ' ' && searchable.endsWith(' ')) continue;
    searchable += unit;
    for (let i = 0; i < unit.length; ++i) tokenAt.push(token);
  }
});
const nHitsMax = 500, nHitsListed = 25;

function find(query) {
  const found = [];
  const wanted = query.toLowerCase().replace(/\s+/g, ' ').trim();
  if (wanted === '') return found;
  for (let at = searchable.indexOf(wanted); at >= 0 && found.length < nHitsMax;
       at = searchable.indexOf(wanted, at + wanted.length)) {
    const a = tokenAt[at], b = tokenAt[at + wanted.length - 1] + 1;
    const last = found[found.length - 1];
    if (!last || last[0] !== a || last[1] !== b) found.push([a, b]);  // a token may hold the phrase twice
  }
  return found;
}

// Per layer: whole if every token is held by a head of it, lost if none is.
function fateOf([a, b]) {
  const fate = {whole: [], part: [], lost: []};
  counts.forEach((count, layer) => {
    const held = count.subarray(a, b).filter(n => n > 0).length;
    fate[held === b - a ? 'whole' : held ? 'part' : 'lost'].push(layer);
  });
  return fate;
}

function hitItem([a, b], index) {
  const fate = fateOf([a, b]);
  const quote = el('span', {className: 'quote', dir: 'auto'},
    '\u2026' + texts.slice(Math.max(0, a - 10), a).join(''), el('mark', {}, texts.slice(a, b).join('')),
    texts.slice(b, b + 10).join('') + '\u2026');
  const text = el('span', {className: 'fate'}, 'Whole in ', el('b', {}, fate.whole.length + ' of ' + nLayers),
    ' layers', fate.whole.length && fate.whole.length < nLayers ? ' (' + ranges(fate.whole) + ')' : '');
  for (const [name, layers] of [[', in part in ', fate.part], [', lost in ', fate.lost]]) {
    if (layers.length) text.append(name, el('b', {}, String(layers.length)), ' (' + ranges(layers) + ')');
  }
  text.append(' \u00b7 ' + (b - a === 1 ? 'token ' + format(a) : 'tokens ' + format(a) + '\u2013' + format(b - 1)));
  const cells = el('span', {className: 'strip'});
  cells.append(...strip(layer => shareIn(layer, a, b)));
  const button = el('button', {type: 'button'}, quote, cells, text);
  button.addEventListener('click', () => showHit(index));
  return el('li', {}, button);
}

function showHit(index) {
  hitCurrent = index;
  [...$('hits').querySelectorAll('button')].forEach((button, i) => button.setAttribute('aria-current', i === index));
  const [a, b] = hits[index];
  pin({a, b, layer: layerShaded()});
  bringIntoView(pinned);
  scrollTextTo(a);
}

const foundIdle = $('found').textContent;
function search() {
  for (const [a, b] of hits) spans.slice(a, b).forEach(span => span.classList.remove('hit'));
  hits = find($('query').value);
  hitCurrent = -1;
  for (const [a, b] of hits) spans.slice(a, b).forEach(span => span.classList.add('hit'));
  $('hits').replaceChildren(...hits.slice(0, nHitsListed).map(hitItem));
  $('hits').hidden = hits.length === 0;
  $('found').textContent = $('query').value.trim() === '' ? foundIdle :
    hits.length === 0 ? 'Not in the prompt.' :
    (hits.length === nHitsMax ? 'The first ' : '') + plural(hits.length, 'place') +
    (hits.length > nHitsListed ? ', the first ' + nHitsListed + ' listed.' : '.') +
    ' Cells: one per layer, first layer left. Whole: each token is kept by one head of that layer or more.';
  drawMap();
}
$('query').addEventListener('input', search);
$('query').addEventListener('keydown', event => {
  if (event.key !== 'Enter' || hits.length === 0) return;
  const n = Math.min(hits.length, nHitsListed);
  showHit((hitCurrent + (event.shiftKey ? n - 1 : 1)) % n);
});

// ---- output: next token, answer ----
const number = (x, digits) => x === null ? 'n/a' : x.toFixed(digits).replace('-', '\u2212');
const quoted = (text, hex) => '"' + text.replace(/\n/g, '\u21b5') + '"' + (hex ? ' [' + hex + ']' : '');
if (data.next.length) {
  const list = el('div', {className: 'tops', role: 'list'});
  for (const {text, hex, log_probability} of data.next) {
    const p = log_probability === null ? null : Math.exp(log_probability);
    const fill = el('i');
    fill.style.width = 100 * clamp(p || 0, 0, 1) + '%';
    list.append(el('span', {className: 'tok', title: quoted(text, hex)}, quoted(text, hex)),
      el('span', {className: 'track'}, fill),
      el('span', {className: 'num'}, p === null ? 'n/a' : percent(p) + ' (' + number(log_probability, 2) + ')'));
  }
  $('output-body').append(el('div', {}, el('h3', {}, 'Next token: probability (log-probability)'), list));
}
if (data.answer) {
  const {tokens, nll, kl_mean, top1_agreement} = data.answer;
  const answer = el('div', {id: 'answer', tabIndex: 0, dir: 'auto'});
  const surprise = x => x === null || x < 1 ? 'n0' : x < 2.5 ? 'n1' : x < 5 ? 'n2' : 'n3';
  tokens.text.forEach((text, i) => answer.append(el('span', {
    className: surprise(nll[i]) + (text === '' ? ' piece' : ''),
    title: quoted(text, tokens.hex[i]) + ': ' + number(nll[i], 3) + ' nats'}, text)));
  const known = nll.filter(x => x !== null);
  const mean = known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  const legend = el('div', {className: 'nats'}, el('span', {}, '\u2212log p in nats:'), el('span', {}, 'below 1'));
  [['n1', '1 to 2.5'], ['n2', '2.5 to 5'], ['n3', '5 and more']].forEach(([name, text]) =>
    legend.append(el('span', {className: name}, text)));
  const stats = el('dl', {className: 'facts', style: 'margin:0 0 12px'});
  for (const [name, value] of [
    ['KL to the full cache', number(kl_mean, 4) + ' nats'],
    ['Same likeliest token', top1_agreement === null ? 'n/a' : percent(top1_agreement)],
    ['Mean \u2212log p', number(mean, 3) + ' nats'],
    ['Answer', plural(nll.length, 'token')],
  ]) {
    stats.append(el('div', {}, el('dt', {}, name), el('dd', {}, value)));
  }
  const details = el('details', {}, el('summary', {}, 'Per token as a table'));
  details.append(table(['Token', '\u2212log p'],
    tokens.text.map((text, i) => [i + '  ' + quoted(text, tokens.hex[i]), number(nll[i], 3)])));
  $('output-body').append(el('div', {}, el('h3', {}, 'Answer: the thicker the line, the more surprising the token'),
    stats, answer, legend, details));
}
$('output').hidden = !data.next.length && !data.answer;

shadeText();
drawMap();
showSelection();
new ResizeObserver(() => { if (canvas.clientWidth !== plot.width) drawMap(); }).observe(canvas);
darkScheme.addEventListener('change', () => { setColours(); drawMap(); });
)js";

}  // namespace ripplekv
