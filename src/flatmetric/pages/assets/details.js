// The charts of programs, one at a time or two side by side.
const PLACES = ['a', 'b'];

function drawSeries(frames, shown) {
  // Both programs on one scale, since their lengths are compared.
  const most = Math.max(1, ...shown.flatMap((k) => {
    const series = content.programs[k].series;
    return series.frame.map((_, at) => PARTS.reduce((sum, part) => sum + series[part][at], 0));
  }));
  shown.forEach((k, place) => {
    const series = content.programs[k].series, name = `series-${PLACES[place]}`;
    const bars = series.frame.flatMap((first, at) => {
      let sum = 0;
      return PARTS.map((part) => ({ at, first, last: series.last[at] + 1, part, low: sum, high: (sum += series[part][at]) }));
    });
    const holder = byId(name);
    const title = (content.programs.length > 1 ? content.programs[k].name + ': ' : '') + (series.together > 1 ? `nm, mean of ${series.together} frames` : 'nm in each frame');
    chart(name, (width) => {
      if (!bars.length) return 'There is no frame to show.';
      const drawn = figure(width, {
        height: 210, x: { label: 'frame' }, y: { label: title, domain: [0, most] }, color: PART_COLORS,
        marks: [Plot.rect(bars, { x1: 'first', x2: 'last', y1: 'low', y2: 'high', fill: 'part', inset: 0 }),
          Plot.ruleX(frames.frame ? [frames.frame.frame + 0.5] : [], { stroke: 'var(--text)', strokeWidth: 1.5, strokeDasharray: '3 2' }), Plot.ruleY([0])],
      });
      const scale = drawn.scale('x');
      drawn.style.cursor = 'pointer';
      drawn.addEventListener('click', (event) => {
        const plot = all('svg', drawn).pop(); // after those of the legend
        openBar(frames, k, scale.invert(event.clientX - plot.getBoundingClientRect().left));
      });
      return drawn;
    });
    holder.setAttribute('aria-valuemin', series.frame[0] || 0);
    holder.setAttribute('aria-valuemax', series.last[series.last.length - 1] || 0);
    holder.setAttribute('aria-valuenow', frames.frame ? frames.frame.frame : 0);
    holder.onkeydown = (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key];
      if (!by || !frames.frame) return;
      event.preventDefault();
      const numbers = frames.all.map((frame) => frame.frame), at = numbers.indexOf(frames.frame.frame);
      frames.open(numbers[clamp(at + by, 0, numbers.length - 1)]);
    };
  });
}

// The worst frame of a bar that is here, since a bar may stand for several.
function openBar(frames, k, number) {
  const series = content.programs[k].series;
  let at = series.frame.findIndex((_, i) => number < series.last[i] + 1);
  if (at < 0) at = series.frame.length - 1;
  const inside = frames.all.filter((frame) => frame.frame >= series.frame[at] && frame.frame <= series.last[at]);
  inside.sort((a, b) => b.programs[k].cost - a.programs[k].cost);
  frames.open(inside.length ? inside[0].frame : number);
}

// A ramp from light to dark in one hue: lightness alone tells the value.
const RAMP = [[247, 244, 239], [253, 208, 162], [241, 135, 76], [193, 68, 14], [92, 26, 4]];
function ramp(share) {
  const at = clamp(share, 0, 1) * (RAMP.length - 1), k = Math.min(RAMP.length - 2, Math.floor(at));
  return `rgb(${RAMP[k].map((from, c) => Math.round(from + (at - k) * (RAMP[k + 1][c] - from))).join(' ')})`;
}

function startField(shown) {
  const view = new View({ x: content.picture.x, y: content.picture.y });
  const what = () => document.querySelector('input[name=field]:checked').value;
  const most = () => (what() === 'share' ? 1 : Math.max(1, ...shown().flatMap((k) => content.programs[k].field.false.flat())));
  const planes = all('#field .plane').map((holder, place) => new Plane(holder, view, (plane, pen) => {
    const field = content.programs[shown()[place]].field, values = field[what()];
    pen.fillStyle = color('panel');
    pen.fillRect(0, 0, plane.width, plane.height);
    const size = field.step / plane.scale + 0.5;
    values.forEach((row, j) => row.forEach((value, i) => {
      if (value === null) return;
      pen.fillStyle = ramp(value / most());
      pen.fillRect(plane.px(field.x + i * field.step), plane.py(field.y + j * field.step), size, size);
    }));
  }, (plane, x, y) => {
    const field = content.programs[shown()[place]].field;
    const value = (field[what()][Math.floor((y - field.y) / field.step)] || [])[Math.floor((x - field.x) / field.step)];
    if (value === undefined || value === null) return '';
    return what() === 'share' ? `${fixed(100 * value, 0)} % missed` : `${value} false`;
  }));
  const draw = () => {
    const stops = RAMP.map((_, k) => ramp(k / (RAMP.length - 1))).join(', ');
    const [low, high] = what() === 'share' ? ['0 % missed', '100 %'] : ['0 false', String(most())];
    const scale = element('span', { class: 'scale', style: `background: linear-gradient(to right, ${stops})` });
    byId('field-key').replaceChildren(low, scale, high);
    planes.forEach((plane, place) => {
      plane.draw();
      const one = content.programs[shown()[place]], name = content.programs.length > 1 ? one.name + ', ' : '';
      plane.holder.nextElementSibling.textContent = `${name}squares of ${fixed(one.field.step, 0)} nm`;
    });
  };
  all('input[name=field]').forEach((box) => box.addEventListener('change', draw));
  return draw;
}

function drawErrors(shown) {
  shown.forEach((k, place) => {
    const one = content.programs[k].errors, name = content.programs.length > 1 ? content.programs[k].name + ': ' : '';
    byId(`errors-${PLACES[place]}-text`).textContent = name + (one.matched === 0 ? 'nothing was matched.' : `${one.matched} matched; ${
      one.axes.map((a) => `${a.name}: bias ${fixed(a.bias, 1)} nm, RMSE ${fixed(a.rmse, 1)} nm`).join('; ')}.`);
    for (const plane of one.planes) drawErrorPlane(`errors-${PLACES[place]}-${plane.name}`, plane, one.matched);
  });
  const axes = shown.flatMap((k) => content.programs[k].errors.axes.map((axis) => Object.assign({ k }, axis)));
  const lines = [];
  axes.forEach((axis) => {
    const label = (content.programs.length > 1 ? content.programs[axis.k].name + ' ' : '') + axis.name;
    axis.count.forEach((count, at) => lines.push({ label, x: axis.edges[at], count }, { label, x: axis.edges[at + 1], count }));
  });
  const labels = Array.from(new Set(lines.map((line) => line.label)));
  const same = axes.length && axes.every((axis) => axis.constant);
  chart('errors-axes', (width) => {
    if (!lines.length) return 'Nothing was matched.';
    if (same) return axes.map((axis) => `${axis.name}: ${fixed(axis.bias, 2)} nm for every molecule`).join('; ');
    return figure(width, {
      x: { label: 'error [nm]' }, y: { label: 'molecules' }, color: { domain: labels, range: labels.map((_, k) => seriesColor(k)), legend: true },
      marks: [Plot.line(lines, { x: 'x', y: 'count', z: 'label', stroke: 'label', strokeWidth: 1.8, strokeDasharray: (line) => DASHES[labels.indexOf(line.label) % DASHES.length] }),
        Plot.ruleX([0], { stroke: 'var(--quiet)' }), Plot.ruleY([0])],
    });
  });
  byId('errors-note').textContent = lines.length && !same ? 'The outermost bins hold what lies beyond.' : '';
}

function drawErrorPlane(name, plane, matched) {
  const cells = plane.cells.x.map((i, at) => ({ x1: plane.edges[i], x2: plane.edges[i + 1], y1: plane.edges[plane.cells.y[at]], y2: plane.edges[plane.cells.y[at] + 1], count: plane.cells.count[at] }));
  const reach = plane.edges[plane.edges.length - 1];
  const share = matched ? fixed((100 * plane.inside) / matched, 0) : '0';
  chart(name, (width) => {
    if (!cells.length) return 'Nothing was matched.';
    if (cells.length === 1) return `all ${cells[0].count} errors lie in one place: dx ${fixed((cells[0].x1 + cells[0].x2) / 2, 1)}, dy ${fixed((cells[0].y1 + cells[0].y2) / 2, 1)} nm`;
    return figure(Math.min(width, 360), {
      height: Math.min(width, 360), aspectRatio: 1, grid: false, marginTop: 30, marginRight: 16,
      x: { label: 'dx [nm]', domain: [-reach, reach], ticks: 5 }, y: { label: `dy [nm], ${plane.name === 'core' ? 'core: ' : 'all: '}${share} %`, domain: [-reach, reach], ticks: 5 },
      color: { type: 'log', scheme: 'cividis', legend: width > 200, label: 'molecules', width: Math.min(220, width - 20), ticks: 3, tickFormat: '~s' },
      marks: [Plot.rect(cells, { x1: 'x1', x2: 'x2', y1: 'y1', y2: 'y2', fill: 'count', inset: 0 }), Plot.ruleX([0], { stroke: 'var(--quiet)' }), Plot.ruleY([0], { stroke: 'var(--quiet)' }), Plot.frame({ stroke: 'var(--line)' })],
    });
  });
}

function drawCurves(shown) {
  const names = content.curves.map((one) => one.name), chosen = new Set(shown.map((k) => content.programs[k].name));
  const lines = content.curves.flatMap((one) => one.lam.map((lam, at) => ({ name: one.name, lam, value: one.value[at] })));
  const first = content.curves[shown[0]];
  byId('curve-note').textContent = `Of ${first.breakpoints} breakpoints ${first.lam.length} are drawn, exact at each. The dotted line is lam = ${content.lam} nm.`;
  chart('curve-chart', (width) => constantWords(lines.map((line) => line.value), 'Flat Metric', ' nm') || figure(width, {
    x: { label: 'lam [nm]' }, y: { label: 'Flat Metric [nm]', zero: true },
    color: { domain: names, range: names.map((_, k) => seriesColor(k)), legend: names.length > 1 },
    marks: [Plot.ruleX([content.lam], { stroke: 'var(--quiet)', strokeDasharray: '2 3' }), Plot.ruleY([0]),
      Plot.line(lines, { x: 'lam', y: 'value', z: 'name', stroke: 'name', strokeWidth: (line) => (chosen.has(line.name) ? 2.4 : 1), strokeDasharray: (line) => DASHES[names.indexOf(line.name) % DASHES.length] }),
      Plot.tip(lines, Plot.pointer({ x: 'lam', y: 'value', title: (line) => `${names.length > 1 ? line.name + ', ' : ''}lam ${fixed(line.lam, 1)}: ${fixed(line.value, 2)} nm` }))],
  }));
}

function drawBins(shown) {
  for (const [quantity, title] of Object.entries(content.quantities)) {
    const steps = [], measures = [['flat_metric', 'Flat Metric [nm]'], ['jaccard', 'Jaccard [%]']];
    for (const k of shown) {
      const bins = content.programs[k].bins[quantity];
      if (!bins) continue;
      measures.forEach(([key, label]) => bins[key].forEach((value, at) => {
        for (const x of [bins.edges[at], bins.edges[at + 1]]) steps.push({ program: content.programs[k].name, measure: label, x, value });
      }));
    }
    if (!steps.length) continue;
    const names = Array.from(new Set(steps.map((step) => step.program)));
    chart(`bins-${quantity}`, (width) => {
      const parts = measures.map(([, label]) => {
        const lines = steps.filter((step) => step.measure === label);
        const half = width > 700 ? Math.floor(width / 2) - 12 : width;
        const lone = new Set(lines.map((line) => line.x)).size < 2;
        if (lone) return element('p', { class: 'constant' }, `${label}: ${fixed(lines[0].value, 2)}; ${title} is ${lines[0].x} everywhere`);
        return figure(half, {
          height: 230, x: { label: title, type: quantity === 'photons' && lines.every((line) => line.x > 0) ? 'log' : 'linear', tickFormat: '~s' }, y: { label, zero: true, domain: label.startsWith('Jaccard') ? [0, 100] : undefined },
          color: { domain: names, range: names.map((_, k) => seriesColor(k)), legend: names.length > 1 },
          marks: [Plot.ruleY([0]), Plot.line(lines, { x: 'x', y: 'value', z: 'program', stroke: 'program', strokeWidth: 2, strokeDasharray: (line) => DASHES[names.indexOf(line.program)] })],
        });
      });
      return element('div', { class: 'beside' }, ...parts);
    });
  }
}
