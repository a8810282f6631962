// Charts are SVG with their numbers in words beside them or in their labels.

// bar is a value from 0 to 1.
function bar(value, label) {
  const v = Math.max(0, Math.min(1, value ?? 0));
  const g = s('svg', { class: 'bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    s('rect', { class: 'rail', x: 0, y: 0, width: 100, height: 8, rx: 1 }));
  if (value !== null && value !== undefined) g.append(s('rect', { class: 'fill', x: 0, y: 0, width: Math.max(v * 100, 0.6), height: 8, rx: 1 }));
  return g;
}

// outcomeBar shows how many trials ended how.
function outcomeBar(counts) {
  const total = counts.reduce((n, [, v]) => n + v, 0);
  const label = counts.filter(([, v]) => v > 0).map(([k, v]) => v + ' ' + k).join(', ') || 'no trial';
  const g = s('svg', { class: 'bar outcomes', viewBox: '0 0 100 8', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    s('rect', { class: 'rail', x: 0, y: 0, width: 100, height: 8, rx: 1 }));
  let x = 0;
  for (const [kind, n] of counts) {
    if (n === 0) continue;
    const width = 100 * n / total;
    g.append(s('rect', { class: 'is-' + kind, x, y: 0, width: Math.max(width - (x + width < 99.9 ? 0.7 : 0), 0.4), height: 8 }));
    x += width;
  }
  return g;
}

// interval is a difference with the interval that it lies in, on a scale whose
// middle is zero.
function interval(d, most, outcome) {
  const width = 220, height = 22, mid = width / 2;
  const at = (v) => mid + Math.max(-1, Math.min(1, v / most)) * (mid - 6);
  const g = s('svg', { class: 'interval', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'data-status': outcome,
    'aria-label': d.interval ? `difference ${d.mean_difference}, interval from ${d.interval.low} to ${d.interval.high}` : `difference ${d.mean_difference}, no interval` },
    s('line', { class: 'rail', x1: 6, x2: width - 6, y1: 11, y2: 11 }),
    s('line', { class: 'zero', x1: mid, x2: mid, y1: 2, y2: 20 }));
  if (d.interval) {
    const [l, r] = [at(d.interval.low), at(d.interval.high)];
    g.append(s('line', { class: 'range', x1: l, x2: r, y1: 11, y2: 11 }),
      s('line', { class: 'range end', x1: l, x2: l, y1: 7, y2: 15 }), s('line', { class: 'range end', x1: r, x2: r, y1: 7, y2: 15 }));
  }
  if (d.mean_difference !== null) g.append(s('circle', { class: 'point', cx: at(d.mean_difference), cy: 11, r: 4 }));
  return g;
}

function median(sorted) {
  const n = sorted.length;
  return n === 0 ? null : n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

function quantile(sorted, q) { return sorted.length === 0 ? null : sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)]; }

// ticks are round numbers from 0 up to at least max.
function ticks(max) {
  if (!(max > 0)) return [0, 1];
  const rough = max / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((v) => v >= rough * 0.999);
  const list = [];
  for (let v = 0; list.length < 12; v += step) {
    list.push(v);
    if (v >= max) break;
  }
  return list;
}

// Of so many trials each is a mark; more are counted in columns.
const marks = 400, columns = 48;

// distribution shows the values of each agent on one scale: {label, values: [{v,
// failed}]}.
function distribution(title, lanes, show) {
  const width = 720, left = 8, right = 24, lane = 58, top = 6;
  const max = Math.max(0, ...lanes.flatMap((l) => l.values.map((p) => p.v).reduce((m, v) => Math.max(m, v), 0)));
  const axis = ticks(max), end = axis[axis.length - 1];
  const x = (v) => left + (width - left - right) * v / end;
  const height = top + lane * lanes.length + 24;
  const said = [];
  const g = s('svg', { class: 'distribution', viewBox: `0 0 ${width} ${height}`, role: 'img' });
  for (const t of axis) {
    g.append(s('line', { class: 'tick', x1: x(t), x2: x(t), y1: top, y2: height - 20 }),
      s('text', { class: 'axis', x: x(t), y: height - 6, 'text-anchor': t === 0 ? 'start' : t === end ? 'end' : 'middle' }, show(t)));
  }
  lanes.forEach((l, i) => {
    const y = top + i * lane;
    const sorted = l.values.map((p) => p.v).sort((a, b) => a - b);
    const mid = median(sorted);
    g.append(s('text', { class: 'lane', x: left, y: y + 13 }, seen(l.label)));
    (l.values.length > marks ? counted : dotted)(g, l.values, x, end, y + 20);
    if (mid === null) return;
    const at = x(mid);
    g.append(s('line', { class: 'median', x1: at, x2: at, y1: y + 17, y2: y + 54 }),
      s('text', { class: 'medianText', x: at + (at > width - 140 ? -5 : 5), y: y + 13, 'text-anchor': at > width - 140 ? 'end' : 'start' }, 'median ' + show(mid)));
    said.push([l.label, sorted.length, mid, quantile(sorted, 0.95), sorted[sorted.length - 1]]);
  });
  g.setAttribute('aria-label', title + ': ' + (said.map(([label, n, mid, , most]) => `${label}: ${n} trials, median ${show(mid)}, most ${show(most)}`).join('; ') || 'nothing is known'));
  const rows = said.map(([label, n, mid, p95, most]) => h('tr', {}, h('th', { scope: 'row' }, name(label)), num(count(n)), num(show(mid)), num(show(p95)), num(show(most))));
  return h('figure', { class: 'chart' }, h('figcaption', {}, title), h('div', { class: 'scroll' }, g),
    wide(h('table', { class: 'plain small' }, h('caption', { class: 'sr' }, title + ' by agent'), h('thead', {}, h('tr', {}, th('Agent'), th('Trials', 'num'), th('Median', 'num'), th('95 % within', 'num'), th('Most', 'num'))), h('tbody', {}, rows))));
}

function dotted(g, values, x, end, y) {
  values.forEach((p, i) => {
    const cx = x(p.v), cy = y + 4 + (i * 7919 % 5) * 6; // spread, the same each time
    g.append(p.failed
      ? s('path', { class: 'mark is-failed', d: `M${cx - 3} ${cy - 3}l6 6m0 -6l-6 6` })
      : s('circle', { class: 'mark is-passed', cx, cy, r: 3 }));
  });
}

function counted(g, values, x, end, y) {
  const bins = Array.from({ length: columns }, () => 0);
  for (const p of values) bins[Math.min(columns - 1, Math.floor(columns * p.v / end))]++;
  const most = bins.reduce((m, n) => Math.max(m, n), 1);
  bins.forEach((n, i) => {
    if (n === 0) return;
    const tall = Math.max(1, 32 * n / most), from = x(end * i / columns);
    g.append(s('rect', { class: 'column', x: from, y: y + 32 - tall, width: x(end * (i + 1) / columns) - from - 1, height: tall }));
  });
}

function num(...text) { return h('td', { class: 'num' }, ...text); }

function th(text, kind) { return h('th', { scope: 'col', class: kind }, text); }
