// One trial: its scores, its timeline, its files, what judges said of it.

// Evidence is where a trial's evidence comes from: a chunk of this page, or who
// serves it.
class Evidence {
  constructor(served) { Object.assign(this, { served, opened: new Map() }); }

  // lines opens a chunk, once.
  lines(i) {
    if (!this.opened.has(i)) this.opened.set(i, unpack(document.getElementById('chunk-' + i).textContent));
    return this.opened.get(i);
  }

  async detail(row) {
    if (this.served) return ask(`trials/${encodeURIComponent(row.id)}`);
    if (row.chunk < 0) return null;
    return JSON.parse((await this.lines(row.chunk))[row.line]);
  }

  // facts are the events of a trial as JSONL, null where the page has none.
  async facts(row) {
    if (row.facts[0] < 0) return null;
    return JSON.parse((await this.lines(row.facts[0]))[row.facts[1]]);
  }

  // bytes are those of an artifact, which has a chunk of its own.
  async bytes(chunk) { return Uint8Array.from(atob(JSON.parse((await this.lines(chunk))[0])), (c) => c.charCodeAt(0)); }
}

class CannotOpen extends Error {}

async function unpack(text) {
  if (typeof DecompressionStream === 'undefined') throw new CannotOpen('this browser cannot open packed data (it has no DecompressionStream): use one of 2023 or later');
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const plain = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  return plain.split('\n');
}

// here is an address of the served run, without what follows it; alone, it has no
// comparison either.
function here(path, alone) { return location.pathname.replace(/\/$/, '') + '/' + path + (alone ? '' : location.search); }

async function ask(path) {
  const answer = await fetch(here(path));
  if (!answer.ok) throw new Error((await answer.text()).trim() || 'status ' + answer.status);
  return answer.json();
}

// save hands a text to the browser as a file.
function save(filename, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type: type || 'application/octet-stream' }));
  const a = h('a', { href: url, download: filename });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function saver(label, filename, text, type) {
  return h('button', { type: 'button', onclick: async () => save(filename, await text(), type) }, label);
}

// plainName is the last part of a path as the name of a file.
function plainName(path) { return seen(path).split(/[\\/]/).pop().replace(/[^\w.+-]+/g, '_').replace(/^\.+/, '') || 'file'; }

function section(id, title, ...content) {
  return h('section', { id, 'aria-labelledby': id + '-title' }, h('h2', { id: id + '-title' }, title), ...content);
}

function facts(list) {
  return h('dl', { class: 'facts' }, list.filter(([, v]) => v !== null && v !== undefined && v !== '').map(([k, v]) => h('div', {}, h('dt', {}, k), h('dd', {}, v))));
}

// command is something to type.
function command(text) { return h('code', { class: 'command' }, text); }

function trialView(row, d, evidence) {
  const t = d.trial;
  const parts = [facts([
    ['Score', score(t.overall_score)], ['Latency', duration(t.latency_ms)], ['Cost', usd(t.cost_usd)], ['Attempt', String(t.attempt)],
    ['Stopped', seen(t.stop_reason || '').replaceAll('_', ' ')], ['Validity', seen(t.validity || '')],
    ['Calls', `${d.counts.model_calls} model, ${d.counts.tool_calls} tool, ${d.counts.judge_calls} judge`], ['Trial', h('code', {}, t.trial_id)],
  ])];
  if (t.reason || t.code) parts.push(h('p', { class: 'reason', 'data-status': row.status }, status(row.status), ' ', t.code ? h('code', {}, seen(t.code)) : '', t.phase ? ' in ' + seen(t.phase) : '', t.reason ? h('span', { dir: 'auto' }, ' ' + seen(t.reason)) : ''));
  if (d.left_out_steps || d.cut_texts) parts.push(shortened(row, d));
  if (d.baseline) parts.push(againstBaseline(d.baseline));
  parts.push(scores(t), expected(d), judges(t), timeline(d), output(t, d), files(row, d, evidence), downloads(row, d, evidence));
  return parts.filter(Boolean);
}

function shortened(row, d) {
  const what = [d.cut_texts ? count(d.cut_texts) + ' long texts are cut' : '', d.left_out_steps ? count(d.left_out_steps) + ' steps are left out' : ''].filter(Boolean).join(' and ');
  return h('p', { class: 'notice' }, what + ', as the page has a limited size. All of it: ', command('agentclash replay get ' + tail(row.id) + ' --json'));
}

function againstBaseline(b) {
  return h('p', { class: 'notice' }, 'On the baseline, ', name(b.agent), ' of ', name(b.run_name), ', this trial ', status(b.outcome), ` with score ${score(b.score)}, ${duration(b.latency_ms)}, ${usd(b.cost_usd)}.`);
}

function scores(t) {
  const rows = Object.entries(t.dimensions || {}).map(([key, d]) => h('tr', {}, h('th', { scope: 'row' }, name(key)), h('td', { class: 'barcell' }, bar(d.score, key + ' ' + score(d.score))),
    num(score(d.score)), h('td', {}, seen(d.source)), h('td', { class: 'why' }, d.state === 'available' ? seen(d.reason || '') : seen(d.state + (d.reason ? ': ' + d.reason : '')))));
  const checks = (t.validators || []).map((v) => h('tr', {}, h('th', { scope: 'row' }, name(v.key)), h('td', {}, seen(v.type)), h('td', {}, status(v.verdict || v.state)),
    num(score(v.normalized_score)), h('td', { class: 'why' }, seen(v.reason || ''), v.source ? [' ', stepLink(v.source.sequence)] : '')));
  const metrics = (t.metrics || []).map((m) => h('tr', {}, h('th', { scope: 'row' }, name(m.key)), num(m.state === 'available' ? seen(String(m.value)) + (m.unit ? ' ' + seen(m.unit) : '') : seen(m.state)), h('td', { class: 'why' }, seen(m.reason || ''))));
  if (rows.length + checks.length + metrics.length === 0) return null;
  return section('scores', 'Scores',
    rows.length > 0 && wide(h('table', { class: 'plain' }, h('caption', {}, 'Dimensions'), h('thead', {}, h('tr', {}, th('Dimension'), h('th', { scope: 'col' }, h('span', { class: 'sr' }, 'Bar')), th('Score', 'num'), th('From'), th('Note'))), h('tbody', {}, rows))),
    checks.length > 0 && wide(h('table', { class: 'plain' }, h('caption', {}, 'Validators'), h('thead', {}, h('tr', {}, th('Validator'), th('Type'), th('Verdict'), th('Score', 'num'), th('Reason'))), h('tbody', {}, checks))),
    metrics.length > 0 && wide(h('table', { class: 'plain' }, h('caption', {}, 'Metrics'), h('thead', {}, h('tr', {}, th('Metric'), th('Value', 'num'), th('Note'))), h('tbody', {}, metrics))));
}

function wide(table) { return h('div', { class: 'scroll' }, table); }

function stepLink(sequence) {
  return sequence ? h('button', { type: 'button', class: 'link', onclick: () => showStep(sequence) }, 'event ' + sequence) : '';
}

// showStep opens the step that an event belongs to.
function showStep(sequence) {
  const step = [...document.querySelectorAll('details.step')].findLast((e) => Number(e.dataset.from) <= sequence);
  if (!step) return;
  step.open = true;
  step.scrollIntoView({ block: 'center' });
  step.querySelector('summary').focus();
}

function judges(t) {
  if (!t.judges || t.judges.length === 0) return null;
  return section('judges', 'Judges', t.judges.map((j) => {
    const values = j.calls.map((c) => c.score).filter((v) => v !== null);
    return h('article', { class: 'judge' },
      h('h3', {}, name(j.judge_key), ' ', h('span', { class: 'muted' }, seen(j.mode)), ' ', h('strong', {}, j.state === 'available' ? score(j.normalized_score) : seen(j.state))),
      facts([['Confidence', seen(j.confidence || '')], ['Samples', String(j.sample_count)], ['Models apart by', j.spread === null ? '' : score(j.spread)], ['Variance', j.variance === null ? '' : j.variance.toFixed(4)], ['Unable', j.unable_to_judge_count ? String(j.unable_to_judge_count) : '']]),
      values.length > 1 && sampleStrip(values),
      j.reason && h('p', { dir: 'auto' }, seen(j.reason)),
      (j.warnings || []).map((w) => h('p', { class: 'notice', dir: 'auto' }, seen(w))),
      h('ul', { class: 'opinions' }, j.calls.map((c) => h('li', {}, h('p', {}, h('strong', {}, c.error ? seen(c.error) : score(c.score)), ' ', name(c.model), h('span', { class: 'muted' }, ` sample ${c.sample_index}` + (c.confidence ? ', confidence ' + seen(c.confidence) : ''))),
        c.reasoning && h('blockquote', { dir: 'auto' }, seen(c.reasoning))))));
  }));
}

// sampleStrip shows how far samples lie apart.
function sampleStrip(values) {
  const g = s('svg', { class: 'strip', viewBox: '0 0 220 22', width: 220, height: 22, role: 'img', 'aria-label': 'samples: ' + values.map(score).join(', ') }, s('line', { class: 'rail', x1: 6, x2: 214, y1: 11, y2: 11 }));
  for (const v of values) g.append(s('circle', { class: 'point', cx: 6 + 208 * Math.max(0, Math.min(1, v)), cy: 11, r: 4 }));
  return h('p', { class: 'stripline' }, h('span', { class: 'muted' }, '0 '), g, h('span', { class: 'muted' }, ' 1'));
}

const stepWords = {
  model_call: 'model', tool_call: 'tool', judge_call: 'judge', sandbox_command: 'command', code_execution: 'tests', capture: 'capture', scoring: 'scoring',
  output: 'output', turn: 'turn', simulated_user: 'user', human: 'person', phase: 'phase', conversation: 'talk', run: 'trial', agent_step: 'step', event: 'event',
};

function timeline(d) {
  if (d.steps.length === 0) return section('timeline', 'Timeline', h('p', { class: 'muted' }, 'Nothing has happened yet.'));
  const start = Date.parse(d.steps[0].occurred_at);
  const ends = d.steps.map((p) => Date.parse(p.completed_at || p.occurred_at) - start);
  const total = Math.max(1, ends.reduce((m, v) => Math.max(m, v), 0));
  const list = h('ol', { class: 'timeline' }, d.steps.map((p) => h('li', {}, step(p, Date.parse(p.occurred_at) - start, total, d))));
  const all = h('button', { type: 'button', onclick: () => {
    const steps = [...list.querySelectorAll('details.step')], open = steps.some((e) => !e.open);
    for (const e of steps) e.open = open;
    all.textContent = open ? 'Close all' : 'Open all';
  } }, 'Open all');
  return section('timeline', 'Timeline', h('p', { class: 'row' }, h('span', { class: 'muted' }, `${count(d.steps.length)} steps in ${duration(total)}`), all), list);
}

function step(p, at, total, d) {
  const body = h('div', { class: 'stepbody' });
  const width = Math.max(0.6, 100 * (p.duration_ms || 0) / total), from = Math.min(99.4, 100 * at / total);
  const gantt = s('svg', { class: 'gantt', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    s('rect', { class: 'rail', x: 0, y: 3.5, width: 100, height: 1 }), s('rect', { class: 'kind-' + p.type, x: from, y: 0, width: Math.min(width, 100 - from), height: 8 }));
  const e = h('details', { class: 'step', 'data-from': p.started_sequence, 'data-kind': p.type }, h('summary', {},
    h('span', { class: 'at num' }, '+' + duration(at)), h('span', { class: 'kind' }, stepWords[p.type] || p.type),
    h('span', { class: 'headline' }, headline(p, d)), p.status !== 'completed' ? status(p.status) : '', gantt, h('span', { class: 'num took' }, p.duration_ms ? duration(p.duration_ms) : '')), body);
  e.addEventListener('toggle', () => { if (e.open && !body.firstChild) body.append(...stepBody(p, d)); });
  return e;
}

// headline is what a step is, and the beginning of what it says.
function headline(p, d) {
  const captured = p.type === 'capture' && d.files.find((f) => f.sequence === p.started_sequence);
  if (captured) return h('strong', {}, name(captured.path));
  const hint = p.tool_name ? argumentHint(p.arguments) : p.model_output || p.final_output || p.user_message || p.error_message || '';
  const title = p.tool_name || p.headline.replace(/^(model call to|tool call:) /, '');
  return [h('strong', {}, name(title)), p.http ? [' ', answered(p.http)] : '', hint ? h('span', { class: 'muted', dir: 'auto' }, ' ' + seen(hint.slice(0, 160)).replace(/\s+/g, ' ')) : ''];
}

// answered is how a request went: the status of its answer, or the phase that it
// failed in.
function answered(q) {
  return q.phase ? h('span', { class: 'status', 'data-status': 'failed' }, 'failed in ' + seen(q.phase)) : q.status_code ? h('span', { class: 'muted' }, 'answered ' + q.status_code) : '';
}

function argumentHint(args) {
  if (args === null || args === undefined) return '';
  if (typeof args !== 'object') return String(args);
  return Object.values(args).map((v) => typeof v === 'string' ? v : JSON.stringify(v)).join(' ');
}

function labelled(label, content) { return h('div', { class: 'part' }, h('h4', {}, label), content); }

function stepBody(p, d) {
  const parts = [h('p', { class: 'muted small' }, `events ${p.started_sequence}` + (p.completed_sequence && p.completed_sequence !== p.started_sequence ? ` to ${p.completed_sequence}` : '') + `: ${p.event_types.join(', ')}; ${when(p.occurred_at)}`)];
  for (const m of p.input || []) parts.push(labelled(seen(m.role), block(m.content || JSON.stringify(m.tool_calls ?? '', null, 2))));
  if (p.prompt) parts.push(labelled('Prompt', block(p.prompt)));
  if (p.user_message) parts.push(labelled('User says', block(p.user_message)));
  if (p.assistant_message) parts.push(labelled('Agent says', block(p.assistant_message)));
  if (p.arguments !== undefined && p.arguments !== null) parts.push(labelled('Arguments', h('div', {}, details(p.arguments))));
  if (p.http) parts.push(facts([['Request', h('span', { dir: 'auto' }, seen([p.http.method, p.http.url].filter(Boolean).join(' ')))], ['Answer', p.http.status_code ? String(p.http.status_code) : ''], ['Failed in', seen(p.http.phase || '')]]));
  if (p.tool_result) parts.push(labelled('Result', block(p.tool_result)));
  if (p.model_output) parts.push(labelled('Reply', block(p.model_output)));
  for (const c of p.model_tool_calls || []) parts.push(labelled('Calls ' + seen(c.name ?? 'a tool'), block(pretty(c.arguments ?? c))));
  if (p.final_output) parts.push(labelled('Output', block(p.final_output)));
  if (p.error_message && p.error_message !== p.tool_result) parts.push(labelled('Error', block(p.error_message)));
  if (p.detail) parts.push(...details(p.detail));
  if (p.type === 'capture') for (const f of d.files) if (f.sequence === p.started_sequence) parts.push(fileContent(f));
  return parts;
}

// details are the parts of a command or another fact: long texts by themselves.
function details(detail) {
  if (typeof detail !== 'object' || detail === null) return [block(String(detail))];
  const rest = Object.create(null), parts = []; // which has no names of its own: __proto__ is one like others
  for (const [k, v] of Object.entries(detail)) {
    if (typeof v === 'string' && (v.length > 120 || v.includes('\n'))) parts.push(labelled(k.replaceAll('_', ' '), block(v)));
    else rest[k] = v;
  }
  return [...(Object.keys(rest).length > 0 ? [block(pretty(rest))] : []), ...parts];
}

function pretty(v) {
  if (typeof v !== 'string') return JSON.stringify(v, null, 2);
  try { return JSON.stringify(JSON.parse(v), null, 2); } catch { return v; }
}

function output(t, d) {
  if (t.final_output === null || t.final_output === undefined) return null;
  return section('output', 'Final output', block(t.final_output), d.baseline && changes(d.baseline.output_diff, 'output'));
}

function changes(diff, what) {
  if (diff === null || diff === undefined) return null;
  if (diff === '') return h('p', { class: 'muted' }, `The ${what} is the same as on the baseline.`);
  return h('div', { class: 'part' }, h('h4', {}, 'Changes since the baseline'), diffView(diff, `Changes of the ${what} since the baseline: lines with + are new, lines with - are gone`));
}

// diffView shows a unified diff line by line. Space at the end of a changed line would
// not be seen, and may be all that differs.
const shownLines = 2000;

function diffView(diff, label) {
  const lines = diff.replace(/\n$/, '').split('\n');
  const kind = (l, i) => i < 2 ? 'head' : l[0] === '+' ? 'add' : l[0] === '-' ? 'del' : l[0] === '@' ? 'hunk' : l[0] === '\\' ? 'head' : 'same';
  const text = (l, k) => k === 'add' || k === 'del' ? l[0] + l.slice(1).replace(/[ \t]+$/, (end) => end.replaceAll(' ', '·').replaceAll('\t', '→')) : l;
  const draw = (n) => lines.slice(0, n).map((l, i) => h('div', { class: 'line ' + kind(l, i) }, seen(text(l.slice(0, shownText), kind(l, i))) || ' '));
  const pre = h('pre', { class: 'diff', tabindex: '0', role: 'group', 'aria-label': label }, draw(shownLines));
  const more = lines.length > shownLines && h('button', { type: 'button', onclick: () => { pre.replaceChildren(...draw(lines.length)); more.remove(); pre.focus(); } }, `Show all ${count(lines.length)} lines`);
  return [pre, more];
}

// expected are the checks that did not pass, with what they expect and what they read.
function expected(d) {
  if (!d.expected || d.expected.length === 0) return null;
  return section('expected', 'Expected and found', d.expected.map((x) => h('article', { class: 'file' },
    h('h3', {}, name(x.validator), ' ', h('span', { class: 'muted' }, seen(x.type) + ' reads ', h('code', {}, seen(x.path || x.target)))),
    x.diff ? diffView(x.diff, `What ${seen(x.validator)} expects and what it read: lines with - are expected, lines with + were found`)
      : h('p', { class: 'muted' }, x.part ? 'What was kept of both is the same: they differ further on.' : 'Line by line both are the same.'),
    x.within && h('p', { class: 'muted' }, 'The expected text need only be a part of what is read: other lines may be there.'),
    x.diff && x.part && h('p', { class: 'muted' }, 'It is only the beginning of both.'))));
}

function fileContent(f) {
  if (!f.exists) return h('p', { class: 'muted' }, 'The file does not exist.');
  if (f.unread) return h('p', { class: 'muted' }, 'The file is there and could not be read: ' + seen(f.unread));
  if (f.directory) return block((f.entries || []).map((e) => e.path + (e.is_dir ? '/' : '\t' + e.size)).join('\n') || '(empty)');
  return block(f.content);
}

function files(row, d, evidence) {
  if (d.files.length === 0) return null;
  return section('files', 'Captured files', d.files.map((f, i) => h('article', { class: 'file' },
    h('h3', {}, h('code', {}, seen(f.path)), ' ', h('span', { class: 'muted' }, name(f.key), f.directory ? ', directory' : f.exists ? `, ${count(f.size)} bytes` + (f.truncated ? ', cut when it was captured' : '') : '')),
    f.diff ? [changes(f.diff, 'file'), h('details', {}, h('summary', {}, 'The whole file'), fileContent(f))] : [f.diff === '' ? changes('', 'file') : null, fileContent(f)],
    f.exists && !f.directory && !f.unread && h('p', {}, evidence.served
      ? h('a', { class: 'button', href: here(`trials/${encodeURIComponent(row.id)}/files/${i}`), download: plainName(f.path) }, 'Save the file')
      : d.cut_texts ? h('span', { class: 'muted' }, 'Texts are cut here; the whole file: ', command('agentclash serve'))
        : saver('Save the file', plainName(f.path), () => f.content)))));
}

function downloads(row, d, evidence) {
  const short = tail(row.id);
  const list = [h('li', {}, saver('Scorecard as JSON', `trial-${short}-scorecard.json`, () => JSON.stringify(d.trial, null, 2), 'application/json')),
    h('li', {}, saver('Evidence as JSON', `trial-${short}.json`, () => JSON.stringify(d, null, 2), 'application/json'))];
  if (evidence.served) list.push(h('li', {}, h('a', { class: 'button', href: here(`trials/${encodeURIComponent(row.id)}/events.jsonl`), download: `trial-${short}-events.jsonl` }, 'Events as JSONL')));
  else if (row.facts[0] >= 0) list.push(h('li', {}, saver('Events as JSONL', `trial-${short}-events.jsonl`, () => evidence.facts(row))));
  else list.push(h('li', { class: 'muted' }, 'Events: ', command(`agentclash replay get ${short} --json`)));
  return section('downloads', 'Downloads', h('ul', { class: 'buttons' }, list));
}
