'use strict';
(function () {
  const content = JSON.parse(document.getElementById('content').textContent);
  const byId = (name) => document.getElementById(name);
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  // No button that would send anything anywhere.
  const CONFIG = { responsive: true, displaylogo: false, displayModeBar: innerWidth > 600 ? 'hover' : false, modeBarButtons: [['toImage', 'zoom2d', 'pan2d', 'resetScale2d']] };
  const SERIES = ['displaced', 'missed', 'series3', 'series4', 'false', 'quiet', 'text'];
  const DASHES = ['solid', 'dash', 'dot', 'dashdot'];
  const SYMBOLS = ['circle', 'square', 'triangle-up', 'triangle-down', 'diamond', 'cross', 'x', 'star'];
  const pattern = (shape) => () => ({ shape, fillmode: 'overlay', fgcolor: color('back'), fgopacity: 0.7, solidity: 0.2 });
  const PATTERNS = { displaced: pattern(''), missed: pattern('/'), false: pattern('.') };
  // The drawing library takes some HTML in labels; names of files are to be shown as they are.
  const plain = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const fixed = (value, digits) => (value === null || value === undefined ? '-' : value.toFixed(digits));

  function layout(more) {
    const line = { gridcolor: color('line'), zerolinecolor: color('quiet'), automargin: true };
    const base = { paper_bgcolor: color('back'), plot_bgcolor: color('back'), font: { color: color('text'), size: 13 },
      margin: { l: 60, r: 20, t: 30, b: 50 }, legend: { orientation: 'h', x: 0, y: 1.02, yanchor: 'bottom', traceorder: 'normal' }, xaxis: line, yaxis: line,
      hoverlabel: { align: 'left' } };
    const all = Object.assign({}, base, more);
    for (const axis of Object.keys(all).filter((key) => /^[xy]axis/.test(key))) all[axis] = Object.assign({}, line, all[axis]);
    return all;
  }

  function draw(name, traces, more) {
    const place = byId(name);
    if (place) Plotly.react(place, traces, layout(more), CONFIG);
  }

  // Tables: sorting and saving.
  function sortTable(button) {
    const head = button.closest('th');
    const table = head.closest('table');
    const column = Array.from(head.parentNode.children).indexOf(head);
    const up = head.getAttribute('aria-sort') !== 'ascending';
    for (const other of head.parentNode.children) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const key = (row) => {
      const cell = row.children[column];
      return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    };
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).sort((a, b) => {
      const x = key(a), y = key(b);
      if (typeof x !== typeof y) return typeof x === 'number' ? -1 : 1;
      const order = typeof x === 'number' ? x - y : x.localeCompare(y, undefined, { numeric: true });
      return up ? order : -order;
    });
    rows.forEach((row) => body.appendChild(row));
  }
  function csvOf(table) {
    const quote = (text) => (/[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
    return Array.from(table.rows).map((row) => Array.from(row.cells).map((cell) => quote(cell.textContent)).join(',')).join('\n') + '\n';
  }
  function save(holder) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([csvOf(holder.querySelector('table'))], { type: 'text/csv' }));
    link.download = holder.dataset.name + '.csv';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  document.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if (button.classList.contains('sort')) sortTable(button);
    if (button.classList.contains('csv')) save(button.closest('.table'));
  });
  function tableElement(name, caption, header, rows) {
    const holder = document.createElement('div');
    holder.className = 'table';
    holder.dataset.name = name;
    const scroll = document.createElement('div');
    scroll.className = 'scroll';
    const table = document.createElement('table');
    table.createCaption().textContent = caption;
    const head = table.createTHead().insertRow();
    for (const title of header) {
      const cell = document.createElement('th');
      cell.scope = 'col';
      cell.textContent = title;
      head.appendChild(cell);
    }
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      row.forEach((value) => {
        const cell = line.insertCell();
        cell.textContent = value === null || value === undefined ? '-' : value;
        if (typeof value === 'number') cell.className = 'number';
      });
    }
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'csv';
    button.textContent = 'Save as CSV';
    scroll.appendChild(table);
    holder.append(scroll, button);
    return holder;
  }

  function scorePage() {
    let at = 0;
    let place = 0;
    const program = () => content.programs[at];
    const frames = () => {
      const shown = program().frames.shown.slice();
      return byId('order').value === 'worst' ? shown.sort((a, b) => b.cost - a.cost) : shown;
    };

    function drawBudget() {
      const names = content.everyone.map((one) => plain(one.name));
      const traces = ['displaced', 'missed', 'false'].map((part) => ({ type: 'bar', orientation: 'h', name: part, y: names,
        x: content.everyone.map((one) => one.budget[part]), marker: { color: color(part), pattern: PATTERNS[part]() },
        hovertemplate: '%{y}<br>' + part + ' %{x:.2f} nm<extra></extra>' }));
      byId('budget-chart').style.height = 8 + 2.5 * names.length + 'rem';
      draw('budget-chart', traces, { barmode: 'stack', xaxis: { title: { text: 'nm per true ' + content.unit } }, yaxis: { autorange: 'reversed', type: 'category' } });
    }

    function describe(side, columns, k, other) {
      const partner = columns.partner[k];
      const lines = [(side === 'truth' ? 'molecule' : 'detection') + ' row ' + columns.row[k],
        'x ' + columns.x[k] + ', y ' + columns.y[k] + (columns.z ? ', z ' + columns.z[k] : '') + ' nm'];
      if (columns.photons) lines.push(columns.photons[k] + ' photons');
      if (side === 'truth') lines.push((partner < 0 ? 'missed: costs ' : 'displaced: costs ') + fixed(columns.cost[k], 1) + ' nm');
      else lines.push(partner < 0 ? 'false: costs ' + fixed(columns.cost[k], 1) + ' nm' : 'found');
      lines.push(partner < 0 ? 'no partner' : 'partner: ' + (side === 'truth' ? 'detection' : 'molecule') + ' row ' + other.row[partner]);
      return lines.join('<br>');
    }

    function drawFrame() {
      const list = frames();
      byId('slider').max = Math.max(0, list.length - 1);
      byId('slider').disabled = list.length < 2;
      place = Math.min(place, Math.max(0, list.length - 1));
      byId('slider').value = place;
      const all = program().frames;
      byId('frame-note').textContent = all.shown.length === all.total ? 'All ' + all.total + ' frames are here.' :
        'Of ' + all.total + ' frames the ' + all.shown.length + ' here are the worst and some spread evenly over the rest, to keep the file small.';
      if (!list.length) {
        byId('frame-text').textContent = 'There is no frame to show.';
        return;
      }
      const f = list[place];
      const text = 'Frame ' + f.frame + ' (' + (place + 1) + ' of ' + list.length + '): ' + f.truth.x.length + ' true, ' + f.pred.x.length + ' found; matched ' +
        f.tp + ', false ' + f.fp + ', missed ' + f.fn + '; costs ' + fixed(f.cost, 1) + ' nm in all.';
      byId('frame-text').textContent = text;
      byId('slider').setAttribute('aria-valuetext', text);
      const lines = { x: [], y: [] };
      f.truth.partner.forEach((j, i) => {
        if (j >= 0) { lines.x.push(f.truth.x[i], f.pred.x[j], null); lines.y.push(f.truth.y[i], f.pred.y[j], null); }
      });
      const pick = (columns, rows) => ({ x: rows.map((k) => columns.x[k]), y: rows.map((k) => columns.y[k]) });
      const single = (columns) => columns.partner.map((j, i) => (j < 0 ? i : -1)).filter((i) => i >= 0);
      const hover = (side, columns, other) => columns.x.map((_, k) => describe(side, columns, k, other));
      const traces = [
        Object.assign({ type: 'scatter', mode: 'lines', name: 'moved', hoverinfo: 'skip', line: { color: color('displaced'), width: 2 } }, lines),
        Object.assign({ type: 'scatter', mode: 'markers', name: 'missed', hoverinfo: 'skip', marker: { symbol: 'cross-thin', size: 15, line: { width: 3, color: color('missed') } } }, pick(f.truth, single(f.truth))),
        Object.assign({ type: 'scatter', mode: 'markers', name: 'false', hoverinfo: 'skip', marker: { symbol: 'x-thin', size: 14, line: { width: 2.5, color: color('false') } } }, pick(f.pred, single(f.pred))),
        { type: 'scatter', mode: 'markers', name: 'found', x: f.pred.x, y: f.pred.y, hovertext: hover('pred', f.pred, f.truth), hoverinfo: 'text', marker: { symbol: 'circle', size: 6, color: color('displaced') } },
        { type: 'scatter', mode: 'markers', name: 'truth', x: f.truth.x, y: f.truth.y, hovertext: hover('truth', f.truth, f.pred), hoverinfo: 'text', marker: { symbol: 'circle-open', size: 11, line: { width: 2 }, color: color('truth') } },
      ];
      draw('frame-map', traces, { hovermode: 'closest', xaxis: { title: { text: 'x [nm]' }, range: span('x'), constrain: 'domain', zeroline: false },
        yaxis: { title: { text: 'y [nm]' }, range: span('y').reverse(), scaleanchor: 'x', constrain: 'domain', zeroline: false } });
      const rows = f.truth.x.map((_, k) => ['truth', f.truth.row[k], f.truth.x[k], f.truth.y[k], f.truth.cost[k], f.truth.partner[k] < 0 ? 'missed' : 'displaced', f.truth.partner[k] < 0 ? '-' : f.pred.row[f.truth.partner[k]]])
        .concat(f.pred.x.map((_, k) => ['found', f.pred.row[k], f.pred.x[k], f.pred.y[k], f.pred.cost[k], f.pred.partner[k] < 0 ? 'false' : 'moved', f.pred.partner[k] < 0 ? '-' : f.truth.row[f.pred.partner[k]]]));
      byId('frame-table').replaceChildren(tableElement('frame-' + f.frame, 'Frame ' + f.frame, ['side', 'row', 'x [nm]', 'y [nm]', 'cost [nm]', 'part', 'partner row'], rows));
    }

    // All frames are drawn over the same field, so that the eye has something to hold on to.
    const extents = new Map();
    function span(axis) {
      const key = at + axis;
      if (!extents.has(key)) {
        let low = Infinity, high = -Infinity;
        for (const f of program().frames.shown) for (const side of [f.truth, f.pred]) for (const v of side[axis]) { low = Math.min(low, v); high = Math.max(high, v); }
        const edge = 0.03 * (high - low) + 20;
        extents.set(key, [low - edge, high + edge]);
      }
      return extents.get(key).slice();
    }

    function drawSeries() {
      const s = program().series;
      const traces = ['displaced', 'missed', 'false'].map((part) => ({ type: 'bar', name: part, x: s.frame, y: s[part], marker: { color: color(part), line: { width: 0 }, pattern: PATTERNS[part]() }, hovertemplate: 'frame %{x}<br>' + part + ' %{y:.1f} nm<extra></extra>' }));
      draw('series', traces, { barmode: 'stack', bargap: 0, xaxis: { title: { text: 'frame' } }, yaxis: { title: { text: s.together > 1 ? 'nm, mean of ' + s.together + ' frames' : 'nm' } } });
    }

    function drawField() {
      const f = program().field;
      const layer = document.querySelector('input[name=layer]:checked').value;
      const axes = { xaxis: { title: { text: 'x [nm]' }, constrain: 'domain', zeroline: false },
        yaxis: { title: { text: 'y [nm]' }, autorange: 'reversed', scaleanchor: 'x', constrain: 'domain', zeroline: false } };
      if (f.kind === 'points') {
        byId('field-note').textContent = 'Every row of all frames. Drag to zoom, double-click to see all.';
        const p = f.layers[layer];
        if (!p.x.length) axes.annotations = [{ text: 'nothing ' + layer, showarrow: false, xref: 'paper', yref: 'paper', x: 0.5, y: 0.5 }];
        Object.assign(axes.xaxis, { range: span('x') });
        Object.assign(axes.yaxis, { range: span('y').reverse(), autorange: false });
        const look = { truth: ['circle-open', 'truth'], found: ['circle', 'displaced'], missed: ['cross-thin', 'missed'], false: ['x-thin', 'false'] }[layer];
        draw('field-map', [{ type: 'scatter', mode: 'markers', name: layer, x: p.x, y: p.y, marker: { symbol: look[0], size: 7, color: color(look[1]), line: { width: 1.5, color: color(look[1]) } } }], axes);
        return;
      }
      byId('field-note').textContent = 'Counted over all frames in squares of ' + fixed(f.step, 1) + ' nm. Drag to zoom, double-click to see all.';
      draw('field-map', [{ type: 'heatmap', z: f.layers[layer], x0: f.x, dx: f.step, y0: f.y, dy: f.step, colorscale: 'Cividis', hovertemplate: 'x %{x:.0f}, y %{y:.0f} nm: %{z}<extra></extra>' }], axes);
    }

    function drawErrors() {
      const e = program().errors;
      byId('errors-text').textContent = e.matched === 0 ? 'Nothing was matched.' : e.matched + ' matched; ' +
        e.axes.map((a) => a.name + ': bias ' + fixed(a.bias, 1) + ' nm, RMSE ' + fixed(a.rmse, 1) + ' nm').join('; ') + '.';
      if (e.matched === 0) { Plotly.purge('errors-plane'); Plotly.purge('errors-axes'); return; }
      draw('errors-plane', [{ type: 'heatmap', z: e.plane.count, x: e.plane.middle, y: e.plane.middle, colorscale: 'Cividis', hovertemplate: 'dx %{x:.1f}, dy %{y:.1f} nm: %{z}<extra></extra>' }],
        { xaxis: { title: { text: 'dx [nm]' }, constrain: 'domain' }, yaxis: { title: { text: 'dy [nm]' }, scaleanchor: 'x', constrain: 'domain' } });
      draw('errors-axes', e.axes.map((a, k) => ({ type: 'scatter', mode: 'lines', line: { shape: 'hvh', color: color(SERIES[k]), dash: DASHES[k] }, name: a.name, x: a.middle, y: a.count })),
        { xaxis: { title: { text: 'error [nm]; the ends hold what lies beyond' } }, yaxis: { title: { text: 'molecules' } } });
    }

    const lamLine = (lam) => ({ type: 'line', x0: lam, x1: lam, yref: 'paper', y0: 0, y1: 1, line: { color: color('quiet'), dash: 'dot' } });
    function drawCurve() {
      const p = program();
      const curve = content.everyone[at].curve;
      byId('curve-note').textContent = 'Of ' + curve.breakpoints + ' breakpoints ' + curve.lam.length + ' are drawn, exact at each. The dotted line is lam = ' + p.lam + ' nm.';
      draw('curve-chart', [{ type: 'scatter', mode: 'lines', x: curve.lam, y: curve.value, line: { color: color('displaced') }, hovertemplate: 'lam %{x:.1f}: %{y:.2f} nm<extra></extra>' }],
        { shapes: [lamLine(p.lam)], xaxis: { title: { text: 'lam [nm]' } }, yaxis: { title: { text: 'Flat Metric [nm]' }, rangemode: 'tozero' } });
      draw('all-curves', content.everyone.map((one, k) => ({ type: 'scatter', mode: 'lines', name: plain(one.name), x: one.curve.lam, y: one.curve.value, line: { color: color(SERIES[k % SERIES.length]), dash: DASHES[k % DASHES.length] } })),
        { shapes: [lamLine(p.lam)], xaxis: { title: { text: 'lam [nm]' } }, yaxis: { title: { text: 'Flat Metric [nm]' }, rangemode: 'tozero' } });
    }

    function drawBins() {
      document.querySelectorAll('.of-program').forEach((part) => { part.hidden = Number(part.dataset.program) !== at; });
      for (const [quantity, b] of Object.entries(program().bins)) {
        if (!b) continue;
        const steps = (values) => ({ x: b.edges, y: values.concat(values.slice(-1)) });
        draw('bins-' + at + '-' + quantity, [
          Object.assign({ type: 'scatter', mode: 'lines', name: 'Flat Metric [nm]', line: { shape: 'hv', color: color('displaced') } }, steps(b.flat_metric)),
          Object.assign({ type: 'scatter', mode: 'lines', name: 'Jaccard [%]', yaxis: 'y2', line: { shape: 'hv', color: color('missed'), dash: 'dash' } }, steps(b.jaccard)),
        ], { xaxis: { title: { text: b.name } }, yaxis: { title: { text: 'Flat Metric [nm]' }, rangemode: 'tozero' },
          yaxis2: { title: { text: 'Jaccard [%]' }, overlaying: 'y', side: 'right', range: [0, 105], showgrid: false, tickmode: 'array', tickvals: [0, 25, 50, 75, 100] } });
      }
    }

    function drawProgram() {
      const name = content.programs.length > 1 ? 'Program: ' + program().name : '';
      document.querySelectorAll('.whose').forEach((place) => { place.textContent = name; });
      drawFrame(); drawSeries(); drawField(); drawErrors(); drawCurve(); drawBins(); }
    function step(by) {
      const last = frames().length - 1;
      place = Math.max(0, Math.min(last, place + by));
      drawFrame();
    }
    document.querySelectorAll('select.program').forEach((select) => select.addEventListener('change', () => {
      at = Number(select.value);
      place = 0;
      document.querySelectorAll('select.program').forEach((other) => { other.value = select.value; });
      drawProgram();
    }));
    byId('order').addEventListener('change', () => { place = 0; drawFrame(); });
    byId('slider').addEventListener('input', (event) => { place = Number(event.target.value); drawFrame(); });
    byId('previous').addEventListener('click', () => step(-1));
    byId('next').addEventListener('click', () => step(1));
    document.addEventListener('keydown', (event) => {
      // Controls have arrow keys of their own.
      if (event.target.closest('input, select, textarea, summary') || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === 'ArrowLeft') step(-1);
      if (event.key === 'ArrowRight') step(1);
    });
    document.querySelectorAll('input[name=layer]').forEach((radio) => radio.addEventListener('change', drawField));
    return () => { drawBudget(); drawProgram(); };
  }

  function boardPage() {
    const metrics = content.metrics;
    const label = (name) => content.titles[name];
    function drawScatter() {
      const x = byId('metric-x').value, y = byId('metric-y').value, set = byId('metric-set').value;
      const chosen = metrics.filter((m) => set === '' || m.dataset === set);
      const groups = Array.from(new Set(chosen.map((m) => m.dataset)));
      draw('metric-scatter', groups.map((group, k) => {
        const rows = chosen.filter((m) => m.dataset === group && m[x] !== null && m[y] !== null);
        return { type: 'scatter', mode: 'markers', name: plain(group), x: rows.map((m) => m[x]), y: rows.map((m) => m[y]),
          hovertext: rows.map((m) => plain(m.program) + '<br>' + plain(m.dataset) + '<br>' + label(x) + ' ' + fixed(m[x], 2) + '<br>' + label(y) + ' ' + fixed(m[y], 2)), hoverinfo: 'text',
          marker: { size: 9, symbol: SYMBOLS[k % SYMBOLS.length], color: color(SERIES[k % SERIES.length]) } };
      }), { hovermode: 'closest', xaxis: { title: { text: label(x) } }, yaxis: { title: { text: label(y) } } });
      const found = content.correlations.filter((c) => c.kind === 'spearman' && ((c.a === x && c.b === y) || (c.a === y && c.b === x)))[0];
      byId('metric-text').textContent = x === y || !found || found.value === null ? 'No rank correlation to tell.' :
        'Spearman over all results: ' + fixed(found.value, 2) + (found.interval ? ' (95 %: ' + fixed(found.interval[0], 2) + ' to ' + fixed(found.interval[1], 2) + ')' : '') + '.';
    }
    function showPair() {
      const a = byId('pair-a').value, b = byId('pair-b').value;
      const rows = content.pairs.filter((p) => (p.a === a && p.b === b) || (p.a === b && p.b === a)).map((p) => {
        const sign = p.a === a ? 1 : -1;
        const span = p.ci === null ? [] : [sign * p.ci[0], sign * p.ci[1]].sort((u, v) => u - v);
        return [p.dataset, Number(fixed(sign * p.difference, 2)), span.map((end) => fixed(end, 2)).join(' to '), p.words];
      });
      byId('pair-text').textContent = a === b ? 'Pick two different programs.' : rows.length === 0 ? 'They share no data set.' : '';
      byId('pair-table').replaceChildren(...(rows.length && a !== b ? [tableElement('pair', 'Flat Metric of ' + a + ' minus that of ' + b + ', same frames', ['data set', 'difference [nm]', content.level + ' % for all pairs', 'in words'], rows)] : []));
    }
    for (const name of ['metric-x', 'metric-y', 'metric-set']) byId(name).addEventListener('change', drawScatter);
    for (const name of ['pair-a', 'pair-b']) byId(name).addEventListener('change', showPair);
    function drawRanks() {
      const all = content.overall;
      if (!all.length) return;
      byId('ranks').style.height = 8 + 1.6 * all.length + 'rem';
      draw('ranks', [{ type: 'scatter', mode: 'markers', x: all.map((s) => s.rank), y: all.map((s) => plain(s.program)), marker: { size: 9, color: color('displaced') },
        error_x: { type: 'data', symmetric: false, array: all.map((s) => s.rank_interval[1] - s.rank), arrayminus: all.map((s) => s.rank - s.rank_interval[0]), color: color('displaced') },
        hovertemplate: '%{y}: %{x}<extra></extra>' }], { xaxis: { title: { text: 'mean rank, with the ranks it may have' } }, yaxis: { autorange: 'reversed', type: 'category' } });
    }
    return () => { drawRanks(); drawScatter(); showPair(); };
  }

  const drawAll = content.kind === 'board' ? boardPage() : scorePage();
  drawAll();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  document.documentElement.dataset.ready = 'yes';
})();
