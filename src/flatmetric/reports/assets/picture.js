// The super-resolved picture: truth in magenta and result in green, blurred by the precision, so that what agrees is white.
const ON_BLACK = { truth: color('on-black-truth'), displaced: color('on-black-displaced'), missed: color('on-black-missed'), false: color('on-black-false') };
const MOST_MARKS = 1500;

const scatter = (at) => { const value = Math.sin(at * 12.9898 + 4.1414) * 43758.5453; return value - Math.floor(value); };

async function layerOf(layer, field) {
  if (field.kind === 'places') return Object.assign({ count: layer.count }, await places(layer, field));
  const counts = await unpacked(layer.squares, Uint8Array);
  const x = [], y = [], weight = [];
  counts.forEach((n, at) => {
    if (!n) return;
    // Somewhere in the square, the same each time: middles would make a grid that the eye takes for structure.
    x.push(field.x[0] + ((at % layer.width) + scatter(at)) * field.step);
    y.push(field.y[0] + (Math.floor(at / layer.width) + scatter(at + 0.5)) * field.step);
    weight.push(n);
  });
  return { count: layer.count, x: Float32Array.from(x), y: Float32Array.from(y), weight: Float32Array.from(weight) };
}

// How much light falls on each pixel: counted, then blurred by three running means, which come close to a Gaussian.
function light(plane, layer, blur) {
  const scale = plane.scale, sigma = Math.max(blur / scale, 0.9);
  const margin = Math.ceil(3 * sigma); // what lies just outside shines in
  const [width, height] = [Math.round(plane.width) + 2 * margin, Math.round(plane.height) + 2 * margin];
  const sum = new Float32Array(width * height);
  const [left, top] = [plane.x(0) - margin * scale, plane.y(0) - margin * scale];
  for (let k = 0; k < layer.x.length; k++) {
    const i = Math.floor((layer.x[k] - left) / scale), j = Math.floor((layer.y[k] - top) / scale);
    if (i >= 0 && j >= 0 && i < width && j < height) sum[j * width + i] += layer.weight ? layer.weight[k] : 1;
  }
  const radius = Math.max(0, Math.round((Math.sqrt(4 * sigma * sigma + 1) - 1) / 2));
  let from = sum, to = new Float32Array(sum.length);
  for (let turn = 0; turn < 3 && radius; turn++) {
    smear(from, to, height, width, width, 1, radius);
    smear(to, from, width, height, 1, width, radius);
  }
  const inner = new Float32Array(Math.round(plane.width) * Math.round(plane.height)), across = Math.round(plane.width);
  for (let j = 0; j < Math.round(plane.height); j++) inner.set(from.subarray((j + margin) * width + margin, (j + margin) * width + margin + across), j * across);
  return inner;
}

function smear(from, to, lines, length, nextLine, next, radius) {
  const share = 1 / (2 * radius + 1);
  for (let line = 0; line < lines; line++) {
    const start = line * nextLine;
    let sum = 0;
    for (let k = 0; k <= radius && k < length; k++) sum += from[start + k * next];
    for (let k = 0; k < length; k++) {
      to[start + k * next] = sum * share;
      if (k + radius + 1 < length) sum += from[start + (k + radius + 1) * next];
      if (k - radius >= 0) sum -= from[start + (k - radius) * next];
    }
  }
}

function brightest(values) {
  const some = [];
  for (let k = 0; k < values.length; k += 7) if (values[k] > 1e-6) some.push(values[k]);
  if (!some.length) return Math.max(1e-6, values.reduce((a, b) => Math.max(a, b), 0));
  some.sort((a, b) => a - b);
  return some[Math.floor(0.97 * (some.length - 1))];
}

function drawPicture(plane, pen, layers, on) {
  const [width, height] = [Math.round(plane.width), Math.round(plane.height)];
  const image = new ImageData(width, height);
  for (let k = 3; k < image.data.length; k += 4) image.data[k] = 255;
  const paint = (values, channels) => {
    const most = brightest(values);
    for (let k = 0; k < values.length; k++) {
      const level = 255 * Math.min(1, Math.sqrt(values[k] / most));
      for (const channel of channels) image.data[4 * k + channel] = level;
    }
  };
  if (on.has('truth')) paint(light(plane, layers.truth, layers.blur), [0, 2]);
  if (on.has('found')) paint(light(plane, layers.found, layers.blur), [1]);
  const drawn = new OffscreenCanvas(width, height);
  drawn.getContext('2d').putImageData(image, 0, 0);
  pen.drawImage(drawn, 0, 0);
  for (const kind of ['missed', 'false']) {
    if (!on.has(kind)) continue;
    const { x, y } = layers[kind];
    const seen = [];
    for (let k = 0; k < x.length; k++) if (plane.sees(x[k], y[k])) seen.push(k);
    pen.strokeStyle = pen.fillStyle = ON_BLACK[kind];
    pen.lineWidth = 1.6;
    if (seen.length <= MOST_MARKS) seen.forEach((k) => drawMark(pen, kind, plane.px(x[k]), plane.py(y[k]), 4.5));
    else seen.forEach((k) => pen.fillRect(plane.px(x[k]) - 0.75, plane.py(y[k]) - 0.75, 1.5, 1.5));
  }
}

class Pictures {
  async load() {
    const field = content.picture;
    const blurs = field.programs.map((one) => Math.max(one.blur, field.kind === 'squares' ? field.step / 2 : 0));
    this.view = new View(field, Math.max(8, (field.x[1] - field.x[0]) / (10 * Math.min(...blurs))));
    const truth = await layerOf(field.truth, field);
    this.programs = await Promise.all(field.programs.map(async (one, k) => ({
      blur: blurs[k],
      truth,
      outside: one.found.outside,
      found: await layerOf(one.found, field),
      missed: await layerOf(one.missed, field),
      false: await layerOf(one.false, field),
    })));
  }

  start(shown) {
    this.on = () => new Set(all('input[name=layer]:checked').map((box) => box.value));
    this.planes = all('#picture .plane').map((holder, place) =>
      new Plane(holder, this.view, (plane, pen) => drawPicture(plane, pen, this.programs[shown()[place]], this.on())));
    all('input[name=layer]').forEach((box) => box.addEventListener('change', () => this.draw(shown())));
  }

  draw(shown) {
    this.planes.forEach((plane, place) => {
      const one = this.programs[shown[place]];
      plane.draw();
      const name = content.programs.length > 1 ? content.programs[shown[place]].name + ': ' : '';
      plane.holder.nextElementSibling.textContent = `${name}${one.truth.count} true, ${one.found.count} found, ${one.missed.count} missed, ${one.false.count} false by the transport plan; blurred by ${fixed(one.blur, 1)} nm${
        one.outside ? `; ${one.outside} detections lie outside` : ''}`;
    });
    const field = content.picture;
    const coarse = field.kind === 'squares' ? ` Counted in squares of ${fixed(field.step, 0)} nm, since the places are many.` : '';
    byId('picture-note').textContent = `Truth magenta, result green, both white; blurred by the precision of the result along one axis.${
      coarse} Drag to move; click, then scroll, to zoom.`;
  }
}
