// The page of a run: what it shows follows the data and the fragment of its address.

let data, rows, byID;
const main = document.getElementById('main');
const live = document.getElementById('live');
let evidence, grid, overview, trialBox, found, badge;

function load(d) {
  data = d;
  const at = Object.fromEntries(d.columns.map((c, i) => [c, i]));
  rows = d.rows.map((v, i) => ({
    i, id: v[at.trial_id], agent: d.agents[v[at.agent]].label, agentAt: v[at.agent], caseKey: d.cases[v[at.case]], repetition: v[at.repetition], attempt: v[at.attempt],
    status: v[at.status], code: v[at.code], phase: v[at.phase], score: v[at.score], cost: v[at.cost_usd], latency: v[at.latency_ms], why: v[at.why],
    chunk: v[at.chunk], line: v[at.line], facts: v[at.facts],
  }));
  byID = new Map(rows.map((r) => [r.id, r]));
}

// The fragment says what is looked at, so that a link leads there and back goes back.
function state() {
  const p = new URLSearchParams(location.hash.slice(1));
  const get = (k) => p.get(k) || '';
  return { trial: get('trial'), agent: get('agent'), outcome: get('outcome'), case: get('case'), q: get('q'), sort: get('sort'), section: get('section') };
}

function fragment(change) {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries({ ...state(), section: '', ...change })) if (v) p.set(k, v);
  return '#' + p.toString();
}

function go(change, replace) {
  const to = fragment(change);
  if (to === (location.hash || '#')) return; // what is shown already is no step to go back to
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  apply();
}

function say(text) { live.textContent = text; }

// keepFocus has a part of the page that is drawn anew keep the focus, which a keyboard
// would else have to bring back.
function keepFocus(box, draw) {
  const was = document.activeElement, from = was.closest('details')?.dataset.from;
  const alike = () => [...box.querySelectorAll('a[href], button, summary, [tabindex]')].filter((e) => e.tagName === was.tagName && e.id === was.id
    && e.getAttribute('href') === was.getAttribute('href') && e.closest('details')?.dataset.from === from);
  const at = box.contains(was) ? alike().indexOf(was) : -1;
  draw();
  if (at >= 0 && !box.contains(was)) (alike()[at] ?? box.querySelector(`details[data-from="${from}"] summary`))?.focus({ preventScroll: true });
}

// filtered are the rows that the filters leave, in their order.
function filtered(st) {
  const words = st.q.toLowerCase().split(/\s+/).filter(Boolean);
  const list = rows.filter((r) => (!st.agent || r.agent === st.agent) && (!st.outcome || r.status === st.outcome) && (!st.case || r.caseKey === st.case)
    && words.every((w) => (r.caseKey + '\n' + r.agent + '\n' + r.status + '\n' + r.code + '\n' + r.phase + '\n' + r.why + '\n' + r.id).toLowerCase().includes(w)));
  const [key, down] = sorting(st);
  const c = gridColumns.find((x) => x.key === key);
  if (!c) return list;
  return list.sort((a, b) => {
    const [x, y] = [c.value(a), c.value(b)];
    if (x === null || y === null) return x === y ? a.i - b.i : x === null ? 1 : -1; // what has no value stands last
    const order = typeof x === 'number' ? x - y : x < y ? -1 : x > y ? 1 : 0;
    return (down ? -order : order) || a.i - b.i;
  });
}

function sorting(st) { return [st.sort.replace(/^-/, ''), st.sort.startsWith('-')]; }

// apply shows what the fragment says.
let shown = '';
let back = { top: 0 };

function apply(unasked) {
  const st = state();
  const inTrial = st.trial !== '';
  if (inTrial && shown !== 'trial') back = { top: scrollY };
  overview.hidden = inTrial;
  trialBox.hidden = !inTrial;
  fillFilters(st);
  found = filtered(st);
  const [key, down] = sorting(st);
  if (!inTrial) {
    grid.show(found, key, down);
    const total = `${count(found.length)} of ${count(rows.length)} trials`;
    document.getElementById('found').textContent = total;
    if (shown === 'overview' && !unasked) say(total); // a run that goes on is not read out again and again
    if (shown === 'trial') {
      scrollTo(0, back.top);
      const i = found.findIndex((r) => r.id === back.id);
      if (i >= 0) grid.focus(i);
    }
    if (st.section) document.getElementById(st.section)?.scrollIntoView();
    document.title = `Run ${seen(data.run.name)} · agentclash report`;
  }
  shown = inTrial ? 'trial' : 'overview';
  if (inTrial) openTrial(st.trial);
}

let opening = 0;

async function openTrial(id, again) {
  const turn = ++opening;
  const end = id.replace(/-/g, '').toLowerCase();
  const row = byID.get(id) || (/^[0-9a-f]{6,32}$/.test(end) ? rows.find((r) => r.id.replace(/-/g, '').endsWith(end)) : undefined);
  back.id = row?.id;
  const leave = h('a', { href: fragment({ trial: '' }), class: 'backlink' }, '← All trials');
  if (!row) {
    trialBox.replaceChildren(h('p', {}, leave), h('h2', { id: 'trialname', tabindex: -1 }, 'No such trial'), h('p', {}, 'This page has no trial ', h('code', {}, seen(id)), '. ', data.left_out.trials ? 'It may be one of those that are left out.' : ''));
    return;
  }
  const i = found.findIndex((r) => r.id === row.id);
  const near = (n, label, key) => {
    const r = i < 0 ? undefined : found[i + n];
    return r ? h('a', { class: 'button', href: fragment({ trial: r.id }), 'data-key': key, title: `${label} (${key})` }, label) : h('span', { class: 'button off' }, label);
  };
  const head = h('div', { class: 'trialhead' }, h('p', { class: 'row' }, leave, h('span', { class: 'row' }, near(-1, 'Previous', 'k'), near(1, 'Next', 'j'))),
    h('h2', { id: 'trialname', tabindex: -1 }, name(row.caseKey), h('span', { class: 'muted' }, ' #' + row.repetition + ' · '), name(row.agent), ' ', status(row.status)));
  const body = h('div', { class: 'trialbody' }, h('p', { class: 'muted' }, 'Opening …'));
  if (!again) {
    trialBox.replaceChildren(head, body);
    scrollTo(0, 0);
    head.querySelector('h2').focus({ preventScroll: true });
    document.title = `${seen(row.caseKey)} #${row.repetition}, ${row.status} · ${seen(data.run.name)}`;
  }
  let content;
  try {
    const d = await evidence.detail(row);
    content = d ? trialView(row, d, evidence) : [h('p', { class: 'notice' }, row.status === 'queued' ? 'The trial has not begun.' : ['What happened in this trial is not in the page, which has a limited size. All of it: ', command('agentclash replay get ' + tail(row.id))]),
      facts([['Score', score(row.score)], ['Latency', duration(row.latency)], ['Cost', usd(row.cost)], ['Code', seen(row.code)], ['Phase', seen(row.phase)], ['Why', seen(row.why)]])];
  } catch (err) {
    content = [h('p', { class: 'notice' }, 'This trial cannot be shown: ' + seen(err.message) + '. It can be read with ', command('agentclash replay get ' + tail(row.id)))];
  }
  if (turn !== opening) return; // another trial was opened meanwhile
  if (again) {
    const was = new Set([...trialBox.querySelectorAll('details.step[open]')].map((e) => e.dataset.from));
    keepFocus(trialBox, () => {
      trialBox.replaceChildren(head, body);
      body.replaceChildren(...content);
      for (const e of body.querySelectorAll('details.step')) e.open = was.has(e.dataset.from);
    });
  } else body.replaceChildren(...content);
  body.dataset.ready = '1';
}

// ---- the overview

function draw() {
  const st = state();
  const top = overview ? [...overview.children] : null;
  const parts = [summary(), dimensions(), ...comparisons(), distributions()].filter(Boolean);
  if (top) {
    keepFocus(overview, () => {
      for (const e of top) if (!e.contains(grid.box) && e.id !== 'attached') e.remove();
      document.getElementById('attached').replaceChildren(...[attached()].filter(Boolean));
      overview.prepend(nav(), ...parts);
    });
    return;
  }
  grid = new Grid((r) => fragment({ trial: r.id }), (r) => go({ trial: r.id }), (key) => {
    const [now, down] = sorting(state());
    go({ sort: now !== key ? key : down ? '' : '-' + key });
  });
  overview = h('div', { id: 'overview' }, nav(), ...parts, trials(), h('div', { id: 'attached' }, attached()));
  trialBox = h('section', { id: 'trial', 'aria-labelledby': 'trialname', hidden: true });
  main.replaceChildren(overview, trialBox);
  if (st.section) document.getElementById(st.section)?.scrollIntoView();
}

function nav() {
  const link = (id, label) => h('li', {}, h('a', { href: fragment({ section: id }) }, label));
  return h('nav', { class: 'sections', 'aria-label': 'Sections' }, h('ul', {}, link('summary', 'Summary'), data.agents.some((a) => (a.dimensions && Object.keys(a.dimensions).length)) && link('dimensions', 'Dimensions'),
    data.agents.some((a) => a.compared) && link('comparison', 'Comparison'), link('distributions', 'Cost and latency'), link('trials', 'Trials'), (data.artifacts.length > 0 || data.left_out.private > 0) && link('artifacts', 'Artifacts')));
}

// attached are the files that people attached to the run.
function attached() {
  const list = data.artifacts, l = data.left_out;
  if (list.length === 0 && l.private === 0) return null;
  const get = (a) => data.served
    ? h('a', { class: 'button', href: here('artifacts/' + encodeURIComponent(a.artifact_id), true), download: plainName(a.name || 'artifact') }, 'Save')
    : a.chunk >= 0 ? h('button', { type: 'button', 'aria-label': 'Save ' + seen(a.name || a.artifact_id), onclick: async () => save(plainName(a.name || 'artifact'), await evidence.bytes(a.chunk)) }, 'Save')
      : h('div', {}, 'not in the page: ', command(`agentclash artifact download ${tail(a.artifact_id)}`));
  return section('artifacts', 'Artifacts', list.length > 0 && wide(h('table', { class: 'plain' }, h('caption', { class: 'sr' }, 'Files that were attached to the run'),
    h('thead', {}, h('tr', {}, th('File'), th('Type'), th('Of'), th('Size', 'num'), th('SHA-256'), th('Uploaded'), th('Download'))),
    h('tbody', {}, list.map((a) => h('tr', {}, h('th', { scope: 'row' }, name(a.name || tail(a.artifact_id))), h('td', {}, seen(a.artifact_type)), h('td', {}, a.agent ? name(a.agent) : 'the run'),
      num(count(a.size_bytes) + ' B'), h('td', {}, h('code', { title: a.checksum_sha256 }, a.checksum_sha256.slice(0, 12))), h('td', {}, when(a.created_at)), h('td', {}, get(a))))))),
    l.private > 0 && h('p', { class: 'muted' }, `${count(l.private)} private ${l.private === 1 ? 'artifact is' : 'artifacts are'} left out: `, command('agentclash artifact list --run ' + tail(data.run.run_id))));
}

function tokens(u) { return u ? count(u.total_tokens ?? u.total ?? 0) : '–'; }

function summary() {
  const r = data.run, o = data.outcomes, sum = (k) => data.agents.every((a) => a[k] === null) ? null : data.agents.reduce((n, a) => n + (a[k] ?? 0), 0);
  const pending = Object.entries(o).filter(([k]) => !['passed', 'failed', 'invalid'].includes(k));
  const agents = data.agents.map((a) => h('tr', {}, h('th', { scope: 'row' }, name(a.label), h('div', { class: 'muted small' }, name(a.model))),
    h('td', {}, status(a.result), a.reason ? h('div', { class: 'small why' }, seen(a.reason)) : ''),
    num(score(a.overall_score)), num(percent(a.pass_rate)),
    h('td', { class: 'barcell' }, outcomeBar([['passed', a.passed_trials], ['failed', a.failed_trials], ['invalid', a.invalid_trials]])),
    num(count(a.passed_trials)), num(count(a.failed_trials)), num(a.invalid_trials ? h('strong', { class: 'is-invalid' }, count(a.invalid_trials)) : '0'), num(usd(a.cost_usd)), num(duration(a.latency_ms))));
  return section('summary', 'Summary',
    data.active && h('p', { class: 'notice' }, h('strong', {}, `The run is ${r.status}.`), data.served ? ' The page follows it.' : ` This is how it stood at ${when(data.generated_at)}.`),
    r.status !== 'completed' && !data.active && h('p', { class: 'notice' }, status(r.status), r.reason ? ' ' + seen(r.reason) : ''),
    facts([['Status', status(r.status)], ['Pack', h('span', {}, name(r.pack.slug), ' v' + r.pack.version)], ['Input set', name(r.input_set)], ['Mode', seen(r.execution_mode)], ['Sandbox', seen(r.sandbox || 'none')],
      ['Trials', count(Object.values(o).reduce((n, v) => n + v, 0)) + (pending.length ? ` (${pending.map(([k, v]) => v + ' ' + k).join(', ')})` : '')],
      ['Started', when(r.started_at)], ['Duration', duration(data.duration_ms)], ['Spent', usd(sum('spent_usd'))], ['Run', h('code', {}, r.run_id)]]),
    wide(h('table', { class: 'plain', id: 'agents' }, h('caption', { class: 'sr' }, 'Agents'), h('thead', {}, h('tr', {}, th('Agent'), th('Result'), th('Score', 'num'), th('Pass rate', 'num'), th('Trials'), th('Passed', 'num'), th('Failed', 'num'), th('Invalid', 'num'), th('Cost', 'num'), th('Latency', 'num'))), h('tbody', {}, agents))),
    verdicts(), invalids(), leftOut());
}

// verdicts are what gates say; they are told again with their numbers below.
function verdicts() {
  const list = data.agents.filter((a) => a.compared || a.not_compared);
  return list.length > 0 && h('ul', { class: 'verdicts' }, list.map((a) => h('li', {}, a.compared
    ? [status(a.compared.gate.verdict), ' ', name(a.label), ' against ', baselineName(a.compared.baseline), h('span', { dir: 'auto' }, ': ' + seen(a.compared.gate.summary || a.compared.comparison.summary))]
    : [h('span', { class: 'muted' }, '· '), name(a.label), h('span', { class: 'muted' }, ' is not compared: ' + seen(a.not_compared))])));
}

function baselineName(b) { return h('span', {}, name(b.run_agent_label), ' of ', name(b.run_name || tail(b.run_id))); }

// invalids are always told: they are left out of every score.
function invalids() {
  const list = data.agents.flatMap((a) => (a.invalid_causes || []).map((c) => ({ ...c, label: a.label })));
  if (list.length === 0) return null;
  const n = list.reduce((m, c) => m + c.trials, 0);
  return h('div', { class: 'box', 'data-status': 'invalid', id: 'invalid' }, h('h3', {}, status('invalid'), ` ${count(n)} ${n === 1 ? 'trial is' : 'trials are'} left out of every score`),
    h('ul', {}, list.map((c) => h('li', {}, name(c.label), `: ${count(c.trials)} with `, h('code', {}, seen(c.code)), c.phase ? ' in ' + seen(c.phase) : '', ' ', h('a', { href: fragment({ trial: '', agent: c.label, outcome: 'invalid', q: c.code, section: 'trials' }) }, 'show')))));
}

function leftOut() {
  const l = data.left_out;
  const list = data.served ? [] : [[l.trials, 'trials that passed have no row'], [l.details, 'trials have a row and nothing of what happened in them'], [l.shortened, 'trials are shown with their longest texts cut']].filter(([n]) => n > 0);
  if (l.texts > 0) list.push([l.texts, 'long names, keys and reasons are cut']);
  if (l.case_pairs > 0) list.push([l.case_pairs, 'cases are left out of the list of compared cases']);
  return list.length > 0 && h('p', { class: 'notice', id: 'leftout' }, 'The page has a limited size: ' + list.map(([n, what]) => count(n) + ' ' + what).join('; ') + '. All of it: ', command('agentclash serve'));
}

function dimensions() {
  const keys = [...new Set(data.agents.flatMap((a) => Object.keys(a.dimensions || {})))];
  if (keys.length === 0) return null;
  return section('dimensions', 'Dimensions', h('div', { class: 'dims' }, keys.map((k) => wide(h('table', { class: 'plain dim' }, h('caption', {}, name(k)), h('thead', { class: 'sr' }, h('tr', {}, th('Agent'), th('Bar'), th('Score'), th('Trials'))),
    h('tbody', {}, data.agents.filter((a) => Object.hasOwn(a.dimensions, k)).map((a) => {
      const d = a.dimensions[k];
      return h('tr', {}, h('th', { scope: 'row' }, name(a.label)), h('td', { class: 'barcell' }, bar(d.score, `${a.label} ${score(d.score)}`)), num(d.state === 'available' ? score(d.score) : seen(d.state)), num(h('span', { class: 'muted' }, 'n ' + d.n)));
    })))))));
}

// Scores have one scale, so that they can be held against each other.
const ownScale = /^(cost_usd|latency_ms|total_tokens)/;

function comparisons() {
  const list = data.agents.filter((a) => a.compared);
  if (list.length === 0) return [];
  return [section('comparison', 'Comparison', list.map((a) => comparison(a, a.compared)))];
}

function comparison(a, c) {
  const cmp = c.comparison, st = cmp.statistics;
  const extent = (d) => d ? Math.max(Math.abs(d.mean_difference ?? 0), Math.abs(d.interval?.low ?? 0), Math.abs(d.interval?.high ?? 0)) : 0;
  const shared = (c.rows || []).filter((r) => !ownScale.test(r.metric)).reduce((m, r) => Math.max(m, extent(r.doubt)), 0.05);
  const table = (c.rows || []).map((r) => h('tr', {}, h('th', { scope: 'row' }, name(r.metric)), num(seen(r.baseline)), num(seen(r.candidate)), num(seen(r.delta)),
    h('td', {}, r.doubt && r.doubt.mean_difference !== null ? interval(r.doubt, ownScale.test(r.metric) ? extent(r.doubt) || 1 : shared, r.outcome) : h('span', { class: 'muted' }, '–')), num(seen(r.interval)),
    h('td', {}, r.outcome === '~' ? h('span', { class: 'status', 'data-status': '~' }, h('span', { class: 'sign', 'aria-hidden': 'true' }, '~'), ' cannot tell') : status(r.outcome)), h('td', { class: 'why small' }, seen(r.doubt?.reason || (r.state === 'available' ? '' : r.state)))));
  const flips = cmp.cases.paired.filter((p) => p.verdict_change !== 'unchanged');
  return h('article', { class: 'comparison' },
    h('h3', {}, name(a.label), ' against ', baselineName(c.baseline)),
    h('p', { class: 'verdict', 'data-status': c.gate.verdict }, status(c.gate.verdict), h('span', { dir: 'auto' }, ' ' + seen(c.gate.summary))),
    h('p', { dir: 'auto' }, seen(cmp.summary), st ? h('span', { class: 'muted' }, ' ' + seen(st.summary)) : ''),
    table.length > 0 && wide(h('table', { class: 'plain compare' }, h('caption', { class: 'sr' }, 'Numbers of both sides'), h('thead', {}, h('tr', {}, th('Metric'), th('Baseline', 'num'), th('Candidate', 'num'), th('Delta', 'num'), h('th', { scope: 'col' }, h('span', { class: 'ends' }, h('span', {}, '← less'), h('span', {}, 'more →'))), th('95 % interval', 'num'), th('Outcome'), th('Method'))), h('tbody', {}, table))),
    st && h('p', { class: 'muted small' }, `Tests are ${seen(st.tail)} at ${st.alpha}, over cases; correction: ${seen(st.correction)}. Scores share one scale; cost, latency and tokens have their own.`),
    flips.length > 0 && [h('h4', {}, 'Cases that changed'), wide(h('table', { class: 'plain' }, h('caption', { class: 'sr' }, 'Cases that changed'), h('thead', {}, h('tr', {}, th('Case'), th('Baseline', 'num'), th('Candidate', 'num'), th('Delta', 'num'), th('Change'))), h('tbody', {}, flips.map((p) => h('tr', {},
      h('th', { scope: 'row' }, h('a', { href: fragment({ trial: '', agent: a.label, case: p.case_key, section: 'trials' }) }, name(p.case_key))), num(`${p.baseline_passed_trials}/${p.baseline_valid_trials}`), num(`${p.candidate_passed_trials}/${p.candidate_valid_trials}`), num(p.delta === null ? '–' : (p.delta > 0 ? '+' : '') + p.delta.toFixed(2)),
      h('td', {}, status(p.verdict_change === 'flipped_to_failing' ? 'worse' : p.verdict_change === 'flipped_to_passing' ? 'better' : 'unknown'), ' ', seen(p.verdict_change).replaceAll('_', ' '))))))) ],
    bullets('Regression reasons', cmp.regression_reasons), bullets('Evidence warnings', cmp.evidence_quality.warnings), bullets('Missing evidence', cmp.evidence_quality.missing_fields));
}

function bullets(title, list) { return list && list.length > 0 && [h('h4', {}, title), h('ul', {}, list.map((l) => h('li', { dir: 'auto' }, seen(l))))]; }

function distributions() {
  const lanes = (value) => data.agents.map((a, at) => ({ label: a.label, values: rows.filter((r) => r.agentAt === at && value(r) !== null && (r.status === 'passed' || r.status === 'failed')).map((r) => ({ v: value(r), failed: r.status === 'failed' })) })).filter((l) => l.values.length > 0);
  const [slow, dear] = [lanes((r) => r.latency), lanes((r) => r.cost)];
  return section('distributions', 'Cost and latency', h('p', { class: 'muted small' }, 'Valid trials only: ● passed, ✕ failed.'), h('div', { class: 'charts' },
    slow.length > 0 ? distribution('Latency of trials', slow, duration) : h('p', { class: 'muted' }, 'No latency is known.'),
    dear.length > 0 ? distribution('Cost of trials', dear, usd) : h('p', { class: 'muted' }, 'No cost is known: the models have no prices.')));
}

function trials() {
  const pick = (id, label, onchange) => h('label', {}, label + ' ', h('select', { id, onchange: (e) => onchange(e.target.value) }));
  return section('trials', 'Trials', h('form', { class: 'filters', role: 'search', 'aria-label': 'Trials', onsubmit: (e) => e.preventDefault() },
    h('label', {}, 'Search ', h('input', { type: 'search', id: 'search', placeholder: 'case, code or reason', oninput: (e) => go({ q: e.target.value }, true), autocomplete: 'off' })),
    pick('f-agent', 'Agent', (v) => go({ agent: v })), pick('f-outcome', 'Outcome', (v) => go({ outcome: v })), h('span', { id: 'f-case' }),
    h('button', { type: 'button', id: 'clear', onclick: () => go({ q: '', agent: '', outcome: '', case: '' }) }, 'Clear'), h('span', { id: 'found', class: 'muted' })), grid.box);
}

function fillFilters(st) {
  const fill = (id, all, list, value) => {
    const e = document.getElementById(id);
    e.replaceChildren(h('option', { value: '' }, all), ...list.map(([v, label]) => h('option', { value: v }, label)));
    e.value = list.some(([v]) => v === value) ? value : '';
    e.closest('label').hidden = list.length < 2 && !value;
  };
  const order = ['failed', 'invalid', 'passed', 'running', 'queued', 'interrupted', 'cancelled'];
  fill('f-agent', 'all', data.agents.map((a) => [a.label, seen(a.label)]), st.agent);
  fill('f-outcome', 'all', order.filter((o) => data.outcomes[o]).map((o) => [o, `${o} (${count(data.outcomes[o])})`]), st.outcome);
  const search = document.getElementById('search');
  if (search.value !== st.q) search.value = st.q;
  document.getElementById('f-case').replaceChildren(...(st.case ? [h('span', { class: 'chip' }, 'case ', name(st.case), ' ', h('button', { type: 'button', 'aria-label': 'Show all cases', onclick: () => go({ case: '' }) }, '×'))] : []));
  document.getElementById('clear').hidden = !(st.q || st.agent || st.outcome || st.case);
}

// ---- keys, help, print

const keyHelp = [['/', 'search'], ['↑ ↓ Home End Page', 'move in the table'], ['Enter', 'open the trial'], ['j k', 'next and previous trial'], ['Esc', 'back to all trials'], ['?', 'this help']];

function helpDialog() {
  return h('dialog', { id: 'help', 'aria-labelledby': 'helpname' }, h('h2', { id: 'helpname' }, 'Keys'), facts(keyHelp.map(([k, what]) => [h('kbd', {}, k), what])),
    h('form', { method: 'dialog' }, h('button', { autofocus: true }, 'Close')));
}

document.addEventListener('keydown', (e) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
  if (e.ctrlKey || e.metaKey || e.altKey || document.getElementById('help').open) return;
  const inTrial = state().trial !== '';
  if (e.key === 'Escape' && inTrial && !typing) go({ trial: '' });
  else if (e.key === 'Escape' && e.target.id === 'search') { go({ q: '' }, true); e.target.blur(); }
  else if (e.target.id === 'search' && (e.key === 'Enter' || e.key === 'ArrowDown')) { e.preventDefault(); grid.focus(0); }
  else if (typing) return;
  else if (e.key === '/') {
    e.preventDefault();
    if (inTrial) go({ trial: '' });
    document.getElementById('search').focus();
  } else if (e.key === '?') document.getElementById('help').showModal();
  else if (inTrial && (e.key === 'j' || e.key === 'k')) trialBox.querySelector(`a[data-key="${e.key}"]`)?.click();
});

// On paper there is no scrolling: the rows are all there, up to a number.
addEventListener('beforeprint', () => { grid.print = true; grid.draw(true); });
addEventListener('afterprint', () => { grid.print = false; grid.draw(true); });

// ---- a run that goes on

const soonest = 1500;

// follow asks for what is new until the run has ended: seldom, when answers take long.
async function follow() {
  let mark = '', wait = soonest;
  while (data.active) {
    await new Promise((done) => setTimeout(done, document.hidden ? 4 * wait : wait));
    const began = performance.now();
    try {
      const answer = await fetch(here('data.json'), { cache: 'no-store', headers: mark ? { 'If-None-Match': mark } : {} });
      if (answer.status === 200) {
        mark = answer.headers.get('ETag') || '';
        const was = state().trial, before = was && byID.get(was)?.status;
        load(await answer.json());
        draw();
        const open = was && !['passed', 'failed', 'invalid'].includes(before);
        if (was) found = filtered(state()); else apply(true);
        if (open) openTrial(was, true);
      } else if (answer.status === 304) {
        const was = state().trial;
        if (was && byID.get(was)?.status === 'running') openTrial(was, true);
      } else if (answer.status === 404) {
        badge.textContent = 'removed';
        say('The run is no longer in the store');
        return;
      } else throw new Error('status ' + answer.status);
      badge.textContent = data.active ? '● live' : 'ended';
      wait = Math.max(soonest, 10 * (performance.now() - began));
    } catch {
      badge.textContent = 'not connected';
      wait = Math.min(30000, 2 * wait);
    }
  }
  badge.textContent = 'ended: ' + data.run.status;
  say('The run has ended: ' + data.run.status);
}

function begin() {
  load(JSON.parse(document.getElementById('data').textContent));
  evidence = new Evidence(data.served);
  badge = h('span', { class: 'badge', id: 'badge' }, '● live');
  document.getElementById('tools').append(...[data.served && data.active ? badge : null, data.served ? h('a', { class: 'button', href: '/' }, 'All runs') : null,
    data.served ? h('a', { class: 'button', href: here('report.html'), download: true }, 'Save as a file') : saver('Data as JSON', `run-${tail(data.run.run_id)}.json`, () => JSON.stringify(data, null, 2), 'application/json'),
    themeButton(), h('button', { type: 'button', onclick: () => document.getElementById('help').showModal() }, 'Keys ?')].filter(Boolean));
  document.body.append(helpDialog(), h('footer', {}, `agentclash ${seen(data.program)} · written ${when(data.generated_at)}`));
  draw();
  addEventListener('popstate', () => apply());
  apply();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  if (data.served && data.active) follow();
}

begin();
