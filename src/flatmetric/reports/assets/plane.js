// A picture that can be moved and zoomed by mouse, finger and keyboard. Planes that share a view move together.
class View {
  // `most` is how far one can zoom in: beyond the precision there is nothing to see.
  constructor(field, most = 4000) {
    this.field = field;
    this.most = most;
    this.watchers = new Set();
    this.fit();
  }

  fit() {
    const { x, y } = this.field;
    this.x = (x[0] + x[1]) / 2;
    this.y = (y[0] + y[1]) / 2;
    this.zoom = 1;
    this.tell();
  }

  move(x, y, zoom) {
    const { x: across, y: down } = this.field;
    this.zoom = clamp(zoom, 1, this.most);
    this.x = clamp(x, across[0], across[1]);
    this.y = clamp(y, down[0], down[1]);
    this.tell();
  }

  tell() { this.watchers.forEach((watcher) => watcher()); }
}

class Plane {
  // `paint(plane, pen)` draws; `point(plane, x, y)` says what is at a place, in nm, or nothing.
  constructor(holder, view, paint, point) {
    Object.assign(this, { holder, view, paint, point });
    this.canvas = holder.querySelector('canvas');
    this.pointers = new Map();
    view.watchers.add(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(holder);
    const listen = (kind, react) => this.canvas.addEventListener(kind, react);
    listen('pointerdown', (event) => this.grab(event));
    listen('pointermove', (event) => this.drag(event));
    for (const kind of ['pointerup', 'pointercancel', 'pointerleave']) listen(kind, (event) => { this.pointers.delete(event.pointerId); hideTip(); });
    listen('dblclick', (event) => this.zoomAt(2, event.offsetX, event.offsetY));
    listen('keydown', (event) => this.key(event));
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    all('button[data-zoom]', holder).forEach((button) => button.addEventListener('click', () => this.press(button.dataset.zoom)));
  }

  get width() { return this.canvas.clientWidth; }
  get height() { return this.canvas.clientHeight; }
  get scale() { // nm for each pixel
    const { x, y } = this.view.field;
    return Math.max((x[1] - x[0]) / this.width, (y[1] - y[0]) / this.height) / this.view.zoom;
  }
  px(x) { return this.width / 2 + (x - this.view.x) / this.scale; }
  py(y) { return this.height / 2 + (y - this.view.y) / this.scale; }
  x(px) { return this.view.x + (px - this.width / 2) * this.scale; }
  y(py) { return this.view.y + (py - this.height / 2) * this.scale; }
  sees(x, y) {
    const across = this.px(x), down = this.py(y);
    return across > -20 && down > -20 && across < this.width + 20 && down < this.height + 20;
  }

  draw() {
    if (!this.width || !this.height) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    const pen = this.canvas.getContext('2d');
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    this.paint(this, pen);
    this.drawScaleBar(pen);
    const lengths = [this.x(0), this.x(this.width), this.y(0), this.y(this.height)].map((nm) => nm.toFixed(0));
    this.holder.dataset.seen = lengths.join(' ');
  }

  drawScaleBar(pen) {
    const longest = 0.25 * this.width * this.scale;
    const power = 10 ** Math.floor(Math.log10(longest));
    const length = [5, 2, 1].map((k) => k * power).find((nm) => nm <= longest);
    const shown = length >= 1e6 ? length / 1e6 + ' mm' : length >= 1000 ? length / 1000 + ' \u00b5m' : +length.toPrecision(1) + ' nm';
    const wide = length / this.scale;
    pen.font = '600 12px system-ui, sans-serif';
    pen.textAlign = 'left';
    pen.strokeStyle = '#000';
    pen.lineWidth = 3;
    pen.strokeText(shown, 16, this.height - 19);
    pen.fillStyle = '#000';
    pen.fillRect(15, this.height - 15, wide + 2, 5);
    pen.fillStyle = '#fff';
    pen.fillRect(16, this.height - 14, wide, 3);
    pen.fillText(shown, 16, this.height - 19);
    this.holder.dataset.scaleBar = shown;
  }

  zoomAt(times, px, py) {
    const [x, y, zoom] = [this.x(px), this.y(py), clamp(this.view.zoom * times, 1, this.view.most)];
    const real = zoom / this.view.zoom;
    this.view.move(x + (this.view.x - x) / real, y + (this.view.y - y) / real, zoom);
  }

  press(what) {
    if (what === 'all') this.view.fit();
    else this.zoomAt(what === 'in' ? 2 : 0.5, this.width / 2, this.height / 2);
  }

  grab(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
  }

  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      const words = this.point && this.point(this, this.x(event.offsetX), this.y(event.offsetY));
      if (words) showTip(words, event.clientX, event.clientY);
      else hideTip();
      return;
    }
    const now = [event.offsetX, event.offsetY];
    const others = Array.from(this.pointers.entries()).filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.pointers.set(event.pointerId, now);
    if (others.length) {
      const apart = (a, b) => Math.max(1, Math.hypot(a[0] - b[0], a[1] - b[1]));
      this.zoomAt(apart(now, others[0]) / apart(before, others[0]), (now[0] + others[0][0]) / 2, (now[1] + others[0][1]) / 2);
    } else {
      this.view.move(this.view.x - (now[0] - before[0]) * this.scale, this.view.y - (now[1] - before[1]) * this.scale, this.view.zoom);
    }
  }

  wheel(event) { // the page scrolls unless the picture was clicked
    if (document.activeElement !== this.canvas && !event.ctrlKey) return;
    event.preventDefault();
    this.zoomAt(event.deltaY < 0 ? 1.25 : 0.8, event.offsetX, event.offsetY);
  }

  key(event) {
    const step = 0.15 * Math.min(this.width, this.height) * this.scale;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (event.key in moves) this.view.move(this.view.x + moves[event.key][0], this.view.y + moves[event.key][1], this.view.zoom);
    else if (event.key === '+' || event.key === '=') this.press('in');
    else if (event.key === '-') this.press('out');
    else if (event.key === '0') this.press('all');
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

// A camera image, whose steps grow with the noise of light; `white` is the share of the brightest count drawn white.
function drawCamera(plane, pen, camera, steps, white) {
  const image = new ImageData(camera.width, camera.height);
  steps.forEach((step, k) => {
    const level = 255 * Math.min(1, (step / 255) ** 2 / white);
    image.data.set([level, level, level, 255], 4 * k);
  });
  const drawn = new OffscreenCanvas(camera.width, camera.height);
  drawn.getContext('2d').putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(drawn, plane.px(0), plane.py(0), (camera.width * camera.pixel) / plane.scale, (camera.height * camera.pixel) / plane.scale);
}

// Marks are the same in every picture: a plus is missed, a cross is false.
function drawMark(pen, kind, x, y, size) {
  pen.beginPath();
  if (kind === 'missed') { pen.moveTo(x - size, y); pen.lineTo(x + size, y); pen.moveTo(x, y - size); pen.lineTo(x, y + size); }
  else { pen.moveTo(x - size, y - size); pen.lineTo(x + size, y + size); pen.moveTo(x - size, y + size); pen.lineTo(x + size, y - size); }
  pen.stroke();
}
