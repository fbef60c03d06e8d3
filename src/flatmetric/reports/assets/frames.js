// The frame browser: every molecule and detection of a frame, over the camera image where there is one.
class Frames {
  constructor() {
    this.all = content.frames.shown;
    this.place = 0;
    this.images = new Map();
    this.view = new View(this.field());
  }

  // All frames are drawn over the same field, so that the eye has something to hold on to.
  field() {
    const camera = content.frames.camera, { x, y } = content.picture;
    if (!camera) return { x, y };
    const both = ([low, high], size) => [Math.min(low, 0), Math.max(high, size)];
    return { x: both(x, camera.width * camera.pixel), y: both(y, camera.height * camera.pixel) };
  }

  cost(frame) { return Math.max(...this.shown().map((k) => frame.programs[k].cost)); }

  sort() {
    const order = byId('order').value;
    this.list = this.all.slice();
    const each = (frame) => this.cost(frame) / Math.max(1, frame.truth.x.length);
    if (order === 'cost') this.list.sort((a, b) => this.cost(b) - this.cost(a));
    if (order === 'each') this.list.sort((a, b) => each(b) - each(a));
  }

  start(shown) {
    this.shown = shown;
    this.sort();
    this.planes = all('#frames .plane').map((holder, place) => new Plane(holder, this.view,
      (plane, pen) => this.paint(plane, pen, place), (plane, x, y) => this.words(plane, place, x, y)));
    byId('order').addEventListener('change', () => { this.sort(); this.go(0); });
    byId('slider').addEventListener('input', (event) => this.go(Number(event.target.value)));
    byId('previous').addEventListener('click', () => this.go(this.place - 1));
    byId('next').addEventListener('click', () => this.go(this.place + 1));
    byId('frame-number').addEventListener('change', (event) => this.open(Number(event.target.value)));
    byId('enlarge').addEventListener('change', () => this.view.tell());
    byId('contrast').addEventListener('input', () => this.view.tell());
    byId('contrast-label').hidden = !content.frames.camera;
    document.addEventListener('keydown', (event) => {
      // Controls and pictures have arrow keys of their own.
      if (event.target.closest('input, select, textarea, summary, canvas, dialog, [role=slider], .scroll') || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === 'ArrowLeft') this.go(this.place - 1);
      if (event.key === 'ArrowRight') this.go(this.place + 1);
    });
  }

  get frame() { return this.list[this.place]; }

  go(place) {
    this.place = clamp(place, 0, Math.max(0, this.list.length - 1));
    this.draw();
  }

  // Opens a frame by its number, or the nearest one that is here.
  open(number) {
    if (!this.list.length) return;
    let best = 0;
    this.list.forEach((frame, at) => { if (Math.abs(frame.frame - number) < Math.abs(this.list[best].frame - number)) best = at; });
    this.go(best);
  }

  async draw() {
    const slider = byId('slider'), total = content.frames.total;
    slider.max = Math.max(0, this.list.length - 1);
    slider.disabled = this.list.length < 2;
    slider.value = this.place;
    byId('frame-note').textContent = this.all.length === total ? `All ${total} frames are here.` :
      `Of ${total} frames the ${this.all.length} here are the worst and some spread evenly over the rest, to keep the file small.`;
    byId('frame-note').textContent += this.beyond();
    const frame = this.frame;
    if (!frame) {
      byId('frame-a-text').textContent = 'There is no frame to show.';
      return;
    }
    byId('frame-number').value = frame.frame;
    this.planes.forEach((plane, place) => {
      const one = frame.programs[this.shown()[place]];
      const name = content.programs.length > 1 ? content.programs[this.shown()[place]].name + ', frame ' : 'Frame ';
      const alone = one.partner.filter((i) => i < 0).length, moved = new Set(one.partner.filter((i) => i >= 0)).size;
      const each = frame.truth.x.length ? `, ${fixed(one.cost / frame.truth.x.length, 1)} nm per molecule` : '';
      const cost = content.unit === 'molecule' ? `costs ${fixed(one.cost, 1)} nm in all${each}` : `adds ${(one.cost / content.frames.molecules).toPrecision(3)} nm to the Flat Metric`;
      plane.holder.previousElementSibling.textContent = `${name}${frame.frame} (${this.place + 1} of ${this.list.length}): ${frame.truth.x.length} true, ${
        one.x.length} found; ${moved} displaced, ${frame.truth.x.length - moved} missed, ${alone} false by the transport plan; ${cost}.`;
    });
    slider.setAttribute('aria-valuetext', byId('frame-a-text').textContent);
    await this.loadImage(frame.frame);
    this.planes.forEach((plane) => plane.draw());
    this.fillTable(frame);
    this.onDraw && this.onDraw(frame.frame);
  }

  // Many molecules beside the camera image are a sign of a wrong pixel size.
  beyond() {
    const camera = content.frames.camera;
    if (!camera) return '';
    let [outside, rows] = [0, 0];
    for (const { truth } of this.all) truth.x.forEach((x, i) => {
      rows += 1;
      if (x < 0 || truth.y[i] < 0 || x > camera.width * camera.pixel || truth.y[i] > camera.height * camera.pixel) outside += 1;
    });
    return outside > 0.02 * rows ? ` ${outside} of ${rows} molecules lie outside the camera image: check its pixel size, ${camera.pixel} nm.` : '';
  }

  async loadImage(number) {
    const camera = content.frames.camera;
    if (camera && camera.images[number] && !this.images.has(number)) this.images.set(number, await unpacked(camera.images[number], Uint8Array));
  }

  paint(plane, pen, place) {
    pen.fillStyle = '#000';
    pen.fillRect(0, 0, plane.width, plane.height);
    const frame = this.frame;
    if (!frame) return;
    this.paintImage(plane, pen, frame.frame);
    const one = frame.programs[this.shown()[place]], truth = frame.truth, times = Number(byId('enlarge').value);
    const found = new Set(one.partner.filter((i) => i >= 0));
    pen.lineWidth = 2;
    one.partner.forEach((i, j) => {
      if (i < 0) return;
      const [x, y] = [plane.px(truth.x[i]), plane.py(truth.y[i])];
      pen.strokeStyle = pen.fillStyle = ON_BLACK.displaced;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(x + (times * (one.x[j] - truth.x[i])) / plane.scale, y + (times * (one.y[j] - truth.y[i])) / plane.scale);
      pen.stroke();
      pen.beginPath();
      pen.arc(plane.px(one.x[j]), plane.py(one.y[j]), 3.5, 0, 7);
      pen.fill();
      pen.strokeStyle = '#000';
      pen.lineWidth = 1;
      pen.stroke();
      pen.lineWidth = 2;
    });
    truth.x.forEach((_, i) => {
      const [x, y] = [plane.px(truth.x[i]), plane.py(truth.y[i])];
      pen.strokeStyle = ON_BLACK.truth;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(x, y, 6, 0, 7);
      pen.stroke();
      pen.strokeStyle = ON_BLACK.missed;
      pen.lineWidth = 2.5;
      if (!found.has(i)) drawMark(pen, 'missed', x, y, 9);
    });
    pen.strokeStyle = ON_BLACK.false;
    pen.lineWidth = 2.5;
    one.partner.forEach((i, j) => { if (i < 0) drawMark(pen, 'false', plane.px(one.x[j]), plane.py(one.y[j]), 6); });
  }

  paintImage(plane, pen, number) {
    const camera = content.frames.camera, steps = this.images.get(number);
    plane.holder.dataset.image = steps ? 'yes' : 'no';
    if (!steps) {
      if (camera) { pen.fillStyle = '#bbb'; pen.font = '13px system-ui, sans-serif'; pen.textAlign = 'center'; pen.fillText('no camera image of this frame here', plane.width / 2, 20); }
      return;
    }
    const white = 1.02 - Number(byId('contrast').value) / 100; // share of the brightest count that is drawn white
    drawCamera(plane, pen, camera, steps, white);
  }

  words(plane, place, x, y) {
    const frame = this.frame;
    if (!frame) return '';
    const one = frame.programs[this.shown()[place]];
    let nearest = 14 * plane.scale, words = '';
    const look = (columns, describe) => columns.x.forEach((_, k) => {
      const far = Math.hypot(columns.x[k] - x, columns.y[k] - y);
      if (far < nearest) { nearest = far; words = describe(k); }
    });
    const common = (columns, k) => [`x ${columns.x[k]}, y ${columns.y[k]}${columns.z ? `, z ${columns.z[k]}` : ''} nm`].concat(columns.photons ? [`${columns.photons[k]} photons`] : []);
    look(frame.truth, (i) => {
      const partner = one.partner.indexOf(i);
      return [`molecule, row ${frame.truth.row[i]}`, ...common(frame.truth, i),
        `${partner < 0 ? 'missed' : 'displaced'}: costs ${fixed(one.truth_cost[i], 1)} nm`,
        partner < 0 ? 'no partner' : `partner: detection, row ${one.row[partner]}`].join('\n');
    });
    look(one, (j) => [`detection, row ${one.row[j]}`, ...common(one, j),
      one.partner[j] < 0 ? `false: costs ${fixed(one.pred_cost[j], 1)} nm` : 'found',
      one.partner[j] < 0 ? 'no partner' : `partner: molecule, row ${frame.truth.row[one.partner[j]]}`].join('\n'));
    return words;
  }

  fillTable(frame) {
    const tables = this.shown().map((k) => {
      const one = frame.programs[k], truth = frame.truth, name = content.programs[k].name;
      const rows = truth.x.map((_, i) => {
        const j = one.partner.indexOf(i);
        return ['truth', truth.row[i], truth.x[i], truth.y[i], one.truth_cost[i], j < 0 ? 'missed' : 'displaced', j < 0 ? '-' : one.row[j]];
      }).concat(one.x.map((_, j) => ['found', one.row[j], one.x[j], one.y[j], one.pred_cost[j], one.partner[j] < 0 ? 'false' : 'moved', one.partner[j] < 0 ? '-' : truth.row[one.partner[j]]]));
      return tableElement(`frame-${frame.frame}`, `${name}, frame ${frame.frame}`, ['side', 'row', 'x [nm]', 'y [nm]', 'cost [nm]', 'part', 'partner row'], rows);
    });
    byId('frame-table').replaceChildren(...tables);
  }
}
