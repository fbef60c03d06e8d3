// The page of a leaderboard: any two programs, any metric against any other.
function boardPage() {
  const label = (name) => content.titles[name];

  function drawScatter() {
    const x = byId('metric-x').value, y = byId('metric-y').value, set = byId('metric-set').value;
    const rows = content.metrics.filter((m) => (set === '' || m.dataset === set) && m[x] !== null && m[y] !== null);
    const groups = Array.from(new Set(content.metrics.map((m) => m.dataset)));
    chart('metric-scatter', (width) => {
      if (!rows.length) return 'No result has both.';
      const same = [x, y].map((name) => constantWords(rows.map((m) => m[name]), label(name), '')).filter(Boolean);
      if (same.length) return same.join('; ');
      return figure(width, {
        height: Math.round(clamp(0.55 * width, 280, 520)), x: { label: label(x), nice: true }, y: { label: label(y), nice: true },
        color: { domain: groups, range: groups.map((_, k) => seriesColor(k)), legend: groups.length > 1 }, symbol: { domain: groups },
        marks: [Plot.dot(rows, { x, y, stroke: 'dataset', symbol: 'dataset', r: 5, strokeWidth: 2 }),
          Plot.tip(rows, Plot.pointer({ x, y, title: (m) => `${m.program}\n${m.dataset}\n${label(x)} ${fixed(m[x], 2)}\n${label(y)} ${fixed(m[y], 2)}` }))],
      });
    });
    const found = content.correlations.find((c) => c.kind === 'spearman' && ((c.a === x && c.b === y) || (c.a === y && c.b === x)));
    byId('metric-text').textContent = x === y || !found || found.value === null ? 'No rank correlation to tell.' :
      `Spearman over all results that are ranked: ${fixed(found.value, 2)}${found.interval ? ` (95 %: ${fixed(found.interval[0], 2)} to ${fixed(found.interval[1], 2)})` : ''}.`;
  }

  function showPair() {
    const a = byId('pair-a').value, b = byId('pair-b').value;
    const rows = content.pairs.filter((p) => (p.a === a && p.b === b) || (p.a === b && p.b === a)).map((p) => {
      const sign = p.a === a ? 1 : -1;
      const span = p.ci === null ? [] : [sign * p.ci[0], sign * p.ci[1]].sort((u, v) => u - v);
      return [p.dataset, Number(fixed(sign * p.difference, 2)), span.map((end) => fixed(end, 2)).join(' to '), p.words];
    });
    byId('pair-text').textContent = a === b ? 'Pick two different programs.' : rows.length === 0 ? 'They share no data set.' : '';
    byId('pair-table').replaceChildren(...(rows.length && a !== b ? [tableElement('pair', `Flat Metric of ${a} minus that of ${b}, same frames`, ['data set', 'difference [nm]', `${content.level} % for all pairs`, 'in words'], rows)] : []));
  }

  for (const name of ['metric-x', 'metric-y', 'metric-set']) byId(name).addEventListener('change', drawScatter);
  for (const name of ['pair-a', 'pair-b']) byId(name).addEventListener('change', showPair);
  return async () => { drawScatter(); showPair(); await drawSamples(); };
}

// Frames of simulated movies, with the truth.
async function drawSamples() {
  for (const sample of content.samples || []) {
    const holder = byId(sample.place);
    if (holder.dataset.drawn) continue;
    holder.dataset.drawn = 'yes';
    const camera = sample.camera, steps = await unpacked(Object.values(camera.images)[0], Uint8Array);
    const view = new View({ x: [0, camera.width * camera.pixel], y: [0, camera.height * camera.pixel] });
    new Plane(holder, view, (plane, pen) => {
      pen.fillStyle = '#000';
      pen.fillRect(0, 0, plane.width, plane.height);
      drawCamera(plane, pen, camera, steps, 0.6);
      pen.strokeStyle = ON_BLACK.truth;
      pen.lineWidth = 1.5;
      sample.x.forEach((x, k) => { pen.beginPath(); pen.arc(plane.px(x), plane.py(sample.y[k]), 6, 0, 7); pen.stroke(); });
    }).draw();
  }
}

function programPage() {
  return async () => {
    for (const one of content.series) {
      const lines = one.frame.map((frame, at) => ({ frame, cost: one.cost[at] }));
      chart(one.place, (width) => constantWords(one.cost, `${one.dataset}, nm per frame`, ' nm') || figure(width, {
        height: 190, x: { label: 'frame' }, y: { label: `${shortened(one.dataset)}: nm in each frame${one.together > 1 ? `, mean of ${one.together}` : ''}`, zero: true },
        marks: [Plot.ruleY([0]), Plot.line(lines, { x: 'frame', y: 'cost', stroke: 'var(--program-0)' })],
      }));
    }
  };
}
