// The table of trials: only the rows in view are in the document.

const rowHeight = 33;

// printed is how many rows there are on paper.
const printed = 500;

// columnsOf says what there is to see and to sort by.
const gridColumns = [
  { key: 'case', label: 'Case', value: (r) => r.caseKey },
  { key: 'rep', label: 'Rep', value: (r) => r.repetition, num: true },
  { key: 'agent', label: 'Agent', value: (r) => r.agent },
  { key: 'outcome', label: 'Outcome', value: (r) => r.status },
  { key: 'score', label: 'Score', value: (r) => r.score, num: true },
  { key: 'cost', label: 'Cost', value: (r) => r.cost, num: true },
  { key: 'latency', label: 'Latency', value: (r) => r.latency, num: true },
  { key: 'why', label: 'Why', value: (r) => r.code || r.why },
];

class Grid {
  // open(row) is called to look into a trial; sort(key) when a heading is chosen.
  constructor(link, open, sort) {
    Object.assign(this, { link, open, rows: [], at: 0, from: -1, to: -1, print: false });
    this.body = h('tbody', {});
    this.heads = gridColumns.map((c) => h('th', { scope: 'col', class: c.num ? 'num' : null, 'data-col': c.key },
      h('button', { type: 'button', onclick: () => sort(c.key) }, c.label, h('span', { class: 'arrow', 'aria-hidden': 'true' }))));
    this.table = h('table', { class: 'grid', role: 'grid', 'aria-label': 'Trials' },
      h('colgroup', {}, gridColumns.map((c) => h('col', { class: 'col-' + c.key }))),
      h('thead', {}, h('tr', { 'aria-rowindex': 1 }, this.heads)), this.body);
    this.box = h('div', { class: 'gridbox', id: 'grid' }, this.table);
    this.box.addEventListener('scroll', () => { if (!this.waiting) { this.waiting = true; requestAnimationFrame(() => { this.waiting = false; this.draw(); }); } });
    this.body.addEventListener('keydown', (e) => this.key(e));
    this.body.addEventListener('click', (e) => {
      const tr = e.target.closest('tr[data-i]');
      if (tr && !e.target.closest('a') && String(getSelection()) === '') this.open(this.rows[Number(tr.dataset.i)]);
    });
    this.body.addEventListener('focusin', (e) => {
      const tr = e.target.closest('tr[data-i]');
      if (tr) this.rove(Number(tr.dataset.i));
    });
    new ResizeObserver(() => this.draw(true)).observe(this.box);
  }

  show(rows, sortKey, down) {
    this.rows = rows;
    this.at = Math.max(0, Math.min(this.at, rows.length - 1));
    this.box.style.height = (rows.length + 1) * rowHeight + 20 + 'px'; // at most what the style allows
    this.table.setAttribute('aria-rowcount', rows.length + 1);
    this.heads.forEach((head, i) => {
      const on = gridColumns[i].key === sortKey;
      if (on) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
      head.querySelector('.arrow').textContent = on ? (down ? ' ↓' : ' ↑') : '';
    });
    this.draw(true);
  }

  // draw puts the rows in view into the document, between two that stand for the
  // rest. A row that has the focus stays.
  draw(all) {
    const height = this.print ? Infinity : this.box.clientHeight || 600;
    const from = this.print ? 0 : Math.max(0, Math.floor(this.box.scrollTop / rowHeight) - 8);
    const to = Math.min(this.rows.length, this.print ? printed : from + Math.ceil(height / rowHeight) + 17);
    if (!all && from === this.from && to === this.to) return;
    const focused = this.body.contains(document.activeElement) ? Number(document.activeElement.closest('tr').dataset.i) : -1;
    Object.assign(this, { from, to });
    const list = [];
    for (let i = from; i < to; i++) list.push(this.row(i));
    this.body.replaceChildren(this.gap(from), ...list, this.gap(this.print ? 0 : this.rows.length - to));
    if (this.print && to < this.rows.length) this.body.append(h('tr', {}, h('td', { colspan: gridColumns.length, class: 'empty' }, `${count(this.rows.length - to)} more trials are not printed: filter the table first.`)));
    if (this.rows.length === 0) this.body.replaceChildren(h('tr', {}, h('td', { colspan: gridColumns.length, class: 'empty' }, 'No trial is like that.')));
    if (focused >= from && focused < to) this.body.querySelector(`tr[data-i="${focused}"]`).focus({ preventScroll: true });
  }

  gap(n) {
    const tr = h('tr', { 'aria-hidden': 'true', class: 'gap' }, h('td', { colspan: gridColumns.length }));
    tr.style.height = n * rowHeight + 'px';
    tr.hidden = n === 0;
    return tr;
  }

  row(i) {
    const r = this.rows[i];
    const why = r.code ? [h('code', {}, seen(r.code)), r.phase ? h('span', { class: 'muted' }, ' in ' + seen(r.phase)) : '', r.why ? ' ' + seen(r.why) : ''] : [seen(r.why)];
    return h('tr', { 'data-i': i, 'aria-rowindex': i + 2, tabindex: i === this.at ? 0 : -1, 'data-status': r.status },
      h('td', {}, h('a', { href: this.link(r), tabindex: -1 }, name(r.caseKey))), num(r.repetition),
      h('td', {}, name(r.agent)), h('td', {}, status(r.status)), num(score(r.score)), num(usd(r.cost)), num(duration(r.latency)),
      h('td', { class: 'why', title: seen(r.why) }, why));
  }

  rove(i) {
    if (i === this.at) return;
    this.at = i;
    for (const tr of this.body.querySelectorAll('tr[data-i]')) tr.tabIndex = Number(tr.dataset.i) === i ? 0 : -1;
  }

  // focus moves to a row, which comes into view.
  focus(i) {
    if (this.rows.length === 0) return;
    i = Math.max(0, Math.min(i, this.rows.length - 1));
    this.rove(i);
    const top = i * rowHeight, head = rowHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + rowHeight + head > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + rowHeight + head - this.box.clientHeight;
    this.draw();
    this.body.querySelector(`tr[data-i="${i}"]`)?.focus({ preventScroll: true });
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / rowHeight) - 2);
    const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, Home: 0, End: this.rows.length - 1, PageDown: this.at + page, PageUp: this.at - page }[e.key];
    if (to !== undefined) {
      e.preventDefault();
      this.focus(to);
    } else if (e.key === 'Enter' && e.target.tagName === 'TR') {
      e.preventDefault();
      this.open(this.rows[this.at]);
    }
  }
}
