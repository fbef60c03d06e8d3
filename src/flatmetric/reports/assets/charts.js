// Charts: axes with units, drawn as wide as their place, and again when that changes.
const PARTS = ['displaced', 'missed', 'false'];
const PROGRAM_COLORS = 8;
const DASHES = [undefined, '7 4', '2 3', '9 3 2 3'];
const seriesColor = (k) => `var(--program-${k % PROGRAM_COLORS})`;
const PART_COLORS = { domain: PARTS, range: PARTS.map((part) => `var(--fill-${part})`), legend: true };
const builders = new Map();

function chart(name, build) {
  if (!byId(name)) return;
  builders.set(name, build);
  redraw(name);
}

function redraw(name) {
  const place = byId(name);
  const width = Math.floor(place.clientWidth);
  if (!width) return;
  place.dataset.width = width;
  const drawn = builders.get(name)(width);
  place.replaceChildren(typeof drawn === 'string' ? element('p', { class: 'constant' }, drawn) : drawn);
}

new ResizeObserver(() => {
  for (const name of builders.keys()) if (String(Math.floor(byId(name).clientWidth)) !== byId(name).dataset.width) redraw(name);
}).observe(document.body);

function figure(width, options) {
  const base = { width, height: Math.round(clamp(0.45 * width, 220, 340)), marginLeft: 56, marginBottom: 42, grid: true, style: { background: 'transparent', fontSize: '13px', overflow: 'visible' } };
  const made = Plot.plot(Object.assign(base, options));
  all('svg', made).concat(made.matches('svg') ? [made] : []).forEach((svg) => svg.setAttribute('aria-hidden', 'true'));
  return made;
}

// A line for each name, distinguished by colour and by dashes; a program has the same ones in every chart.
function seriesOptions(names, legend) {
  return { domain: names, range: names.map((name) => seriesColor(programNumber(name))), legend };
}
function seriesLines(data, names, name, options) {
  return names.map((one) => Plot.line(data.filter((row) => row[name] === one), Object.assign({ stroke: name, strokeDasharray: DASHES[programNumber(one) % DASHES.length] }, options(one))));
}
function programNumber(name) {
  return Math.max(0, (content.curves || []).findIndex((one) => one.name === name));
}

// An axis on which all values are the same says nothing; the value does.
function constantWords(values, name, unit) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (!known.length) return `${name}: no value`;
  if (known.length > 1 && known.every((value) => value === known[0])) return `${name}: ${fixed(known[0], 2)}${unit} everywhere`;
  return known.length === 1 ? `${name}: ${fixed(known[0], 2)}${unit}` : null;
}
