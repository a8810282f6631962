// What all pages share: making elements, showing strange text, the theme.

// h makes an element. Text becomes text nodes and never markup; attributes that
// begin with "on" are listeners.
function h(tag, attrs, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

const svgSpace = 'http://www.w3.org/2000/svg';

// s is h for SVG.
function s(tag, attrs, ...children) {
  const e = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value !== null && value !== undefined) e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// Characters that hide, turn round or erase text are shown by their numbers.
const strange = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

function seen(text) {
  return String(text).replace(/\r\n/g, '\n').replace(strange, (c) => '⟨' + c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '⟩');
}

// name is a short text from elsewhere, kept apart from the direction of what
// stands around it.
function name(text) { return h('bdi', {}, seen(text)); }

// block is a long text. Of a very long one the beginning is shown first.
const shownText = 20000;

function block(text, attrs) {
  const all = seen(text);
  const pre = h('pre', { class: 'text', tabindex: '0', dir: 'auto', ...attrs });
  if (all.length <= shownText) {
    pre.append(all);
    return pre;
  }
  pre.append(all.slice(0, shownText));
  const more = h('button', { type: 'button', onclick: () => { pre.replaceChildren(all); more.remove(); pre.focus(); } },
    `Show all ${count(all.length)} characters`);
  return h('div', {}, pre, more);
}

function count(n) { return Number(n).toLocaleString('en-US'); }

function score(v) { return v === null || v === undefined ? '–' : v.toFixed(2); }

function percent(v) { return v === null || v === undefined ? '–' : (100 * v).toFixed(1) + '%'; }

function usd(v) {
  if (v === null || v === undefined) return '–';
  if (v !== 0 && Math.abs(v) < 0.00005) return '<$0.0001';
  return '$' + v.toFixed(v >= 100 ? 2 : 4);
}

function duration(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 1000) return Math.round(ms) + ' ms';
  if (ms < 60000) return (ms / 1000).toFixed(ms < 10000 ? 2 : 1) + ' s';
  const sec = Math.round(ms / 1000);
  if (sec < 3600) return Math.floor(sec / 60) + ' min ' + String(sec % 60).padStart(2, '0') + ' s';
  return Math.floor(sec / 3600) + ' h ' + String(Math.floor(sec / 60) % 60).padStart(2, '0') + ' min';
}

function when(text) { return text ? text.replace('T', ' ').replace(/(\.\d+)?Z$/, '') + ' UTC' : '–'; }

function tail(id) { return id.replace(/-/g, '').slice(-8); }

// The signs of outcomes, so that colour is never the only one.
const signs = {
  passed: '✓', failed: '✕', invalid: '△', running: '▸', queued: '○', interrupted: '‖', cancelled: '–', completed: '✓', scoring: '▸',
  degraded: '△', better: '▲', worse: '▼', same: '=', pass: '✓', fail: '✕', warn: '△', insufficient_evidence: '?', '~': '~', unknown: '?',
};

function status(word) {
  return h('span', { class: 'status', 'data-status': word }, h('span', { class: 'sign', 'aria-hidden': 'true' }, signs[word] || '·'), ' ', word.replaceAll('_', ' '));
}

// The theme is the system's until somebody chooses; a browser that keeps nothing
// forgets it.
function themeButton() {
  const key = 'agentclash-theme';
  const order = ['auto', 'light', 'dark'];
  let chosen = 'auto';
  try { chosen = localStorage.getItem(key) || 'auto'; } catch { /* a file may not keep anything */ }
  const b = h('button', { type: 'button', id: 'theme', title: 'Switch between the colours of the system, light and dark' });
  const apply = () => {
    if (!order.includes(chosen)) chosen = 'auto';
    if (chosen === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    b.textContent = 'Theme: ' + chosen;
  };
  b.addEventListener('click', () => {
    chosen = order[(order.indexOf(chosen) + 1) % order.length];
    try { localStorage.setItem(key, chosen); } catch { /* as above */ }
    apply();
  });
  apply();
  return b;
}
