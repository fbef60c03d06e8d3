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
    const least = (series.last[series.last.length - 1] - series.frame[0]) / 400; // where frames are far apart, bars stay visible
    const bars = series.frame.flatMap((first, at) => {
      let sum = 0;
      const last = Math.max(series.last[at] + 1, Math.min(first + least, at + 1 < series.frame.length ? series.frame[at + 1] : Infinity));
      return PARTS.map((part) => ({ at, first, last, part, low: sum, high: (sum += series[part][at]) }));
    });
    const holder = byId(name);
    const title = (content.programs.length > 1 ? shortened(content.programs[k].name) + ': ' : '') + (series.together > 1 ? `nm, mean of ${series.together} frames` : 'nm in each frame');
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
    holder.setAttribute('aria-valuetext', frames.frame ? `frame ${frames.frame.frame}` : 'no frame');
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
  if (!inside.length) byId('frame-note').textContent += ` None of frames ${series.frame[at]} to ${series.last[at]} is here; this is the nearest.`;
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
      plane.holder.nextElementSibling.textContent = `${name}squares of ${fixed(one.field.step, 0)} nm${one.field.share.length === 1 ? '; there are too few molecules for a map' : ''}`;
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
    for (const plane of one.planes) {
      const most = Math.max(2, ...shown.flatMap((other) => content.programs[other].errors.planes.filter((p) => p.name === plane.name).flatMap((p) => p.cells.count)));
      drawErrorPlane(`errors-${PLACES[place]}-${plane.name}`, plane, one.matched, most);
    }
  });
  const chosen = Array.from(new Set(shown)), names = chosen.map((k) => content.programs[k].name), several = content.programs.length > 1;
  const axes = chosen.flatMap((k) => content.programs[k].errors.axes.map((axis) => Object.assign({ program: content.programs[k].name }, axis)));
  const same = axes.length && axes.every((axis) => axis.constant);
  const most = Math.max(1, ...axes.flatMap((axis) => axis.count));
  chart('errors-axes', (width) => {
    if (!axes.length) return 'Nothing was matched.';
    if (same) return axes.map((axis) => `${several ? axis.program + ', ' : ''}${axis.name}: ${fixed(axis.bias, 2)} nm for every molecule`).join('; ');
    const kinds = Array.from(new Set(axes.map((axis) => axis.name)));
    const each = width > 700 ? Math.floor(width / kinds.length) - 16 : width;
    return element('div', { class: 'beside' }, ...kinds.map((kind) => {
      const lines = axes.filter((axis) => axis.name === kind).flatMap((axis) => axis.count.flatMap((count, at) =>
        [axis.edges[at], axis.edges[at + 1]].map((x) => ({ program: axis.program, x, count }))));
      return figure(each, {
        height: 260, x: { label: `${kind} [nm]` }, y: { label: 'molecules', domain: [0, most] }, color: seriesOptions(names, several),
        marks: [Plot.ruleX([0], { stroke: 'var(--quiet)' }), Plot.ruleY([0]), ...seriesLines(lines, names, 'program', () => ({ x: 'x', y: 'count', strokeWidth: 1.8 }))],
      });
    }));
  });
  byId('errors-note').textContent = axes.length && !same ? 'All axes have the same bins; the outermost hold what lies beyond.' : '';
}

function drawErrorPlane(name, plane, matched, most) {
  const cells = plane.cells.x.map((i, at) => ({ x1: plane.x[i], x2: plane.x[i + 1], y1: plane.y[plane.cells.y[at]], y2: plane.y[plane.cells.y[at] + 1], count: plane.cells.count[at] }));
  const domain = (edges) => [edges[0], edges[edges.length - 1]];
  const inside = (edges) => (edges[0] < 0 && edges[edges.length - 1] > 0 ? [0] : []);
  const share = matched ? fixed((100 * plane.inside) / matched, 0) : '0';
  chart(name, (width) => {
    if (!cells.length) return 'Nothing was matched.';
    if (cells.length === 1) return `all ${cells[0].count} errors lie in one place: dx ${fixed(plane.middle[0], 1)}, dy ${fixed(plane.middle[1], 1)} nm`;
    return figure(Math.min(width, 360), {
      height: Math.min(width, 360), aspectRatio: 1, grid: false, marginTop: 30, marginRight: 16,
      x: { label: 'dx [nm]', domain: domain(plane.x), ticks: 5 }, y: { label: `dy [nm], ${plane.name === 'core' ? 'core: ' : 'all: '}${share} %`, domain: domain(plane.y), ticks: 5 },
      color: { type: 'log', scheme: 'cividis', domain: [1, most], legend: width > 200, label: 'molecules', width: Math.min(220, width - 20), ticks: 3, tickFormat: '~s' },
      marks: [Plot.rect(cells, { x1: 'x1', x2: 'x2', y1: 'y1', y2: 'y2', fill: 'count', inset: 0 }), Plot.ruleX(inside(plane.x), { stroke: 'var(--quiet)' }), Plot.ruleY(inside(plane.y), { stroke: 'var(--quiet)' }), Plot.frame({ stroke: 'var(--line)' })],
    });
  });
}

function drawCurves(shown) {
  const names = content.curves.map((one) => one.name), chosen = new Set(shown.map((k) => content.programs[k].name));
  const lines = content.curves.flatMap((one) => one.lam.map((lam, at) => ({ name: one.name, lam, value: one.value[at] })));
  const first = content.curves[shown[0]];
  const drawn = first.lam.length < first.breakpoints ? `Of ${first.breakpoints} breakpoints ${first.lam.length} are drawn` : `All ${first.breakpoints} breakpoints are drawn`;
  byId('curve-note').textContent = `${drawn}, exact at each. The dotted line is lam = ${content.lam} nm.`;
  chart('curve-chart', (width) => constantWords(lines.map((line) => line.value), 'Flat Metric', ' nm') || figure(width, {
    x: { label: 'lam [nm]' }, y: { label: 'Flat Metric [nm]', zero: true },
    color: seriesOptions(names, names.length > 1),
    marks: [Plot.ruleX([content.lam], { stroke: 'var(--quiet)', strokeDasharray: '2 3' }), Plot.ruleY([0]),
      ...seriesLines(lines, names, 'name', (name) => ({ x: 'lam', y: 'value', strokeWidth: chosen.has(name) ? 2.6 : 1.2 })),
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
        // On a logarithmic axis the first bin would fill most of it.
        const low = quantity === 'photons' ? Math.max(bins.edges[at], bins.edges[1] / 4) : bins.edges[at];
        for (const x of [low, bins.edges[at + 1]]) steps.push({ program: content.programs[k].name, measure: label, x, value });
      }));
    }
    if (!steps.length) continue;
    const names = Array.from(new Set(steps.map((step) => step.program)));
    chart(`bins-${quantity}`, (width) => {
      const parts = measures.map(([, label]) => {
        const lines = steps.filter((step) => step.measure === label);
        const half = width > 700 ? Math.floor(width / 2) - 12 : width;
        const lone = new Set(lines.map((line) => line.x)).size < 2;
        if (lone) {
          const values = names.map((name) => `${content.programs.length > 1 ? name + ' ' : ''}${fixed(lines.find((line) => line.program === name).value, 2)}`);
          return element('p', { class: 'constant' }, `${label}: ${values.join(', ')}; ${title} is ${lines[0].x} everywhere`);
        }
        return figure(half, {
          height: 230, x: { label: title, type: quantity === 'photons' && lines.every((line) => line.x > 0) ? 'log' : 'linear', tickFormat: '~s' }, y: { label, zero: true, domain: label.startsWith('Jaccard') ? [0, 100] : undefined },
          marginTop: 30, color: seriesOptions(names, names.length > 1),
          marks: [Plot.ruleY([0]), ...seriesLines(lines, names, 'program', () => ({ x: 'x', y: 'value', strokeWidth: 2 }))],
        });
      });
      return element('div', { class: 'beside' }, ...parts);
    });
  }
}
