// The page of a score or a comparison: which programs are shown, and everything that depends on it.
async function scorePage() {
  const selects = PLACES.map((place) => byId(`program-${place}`));
  const shown = () => (selects[0] ? selects.map((select) => Number(select.value)) : [0]);
  const pictures = new Pictures(), frames = new Frames();
  await pictures.load();
  pictures.start(shown);
  frames.start(shown);
  frames.onDraw = () => drawSeries(frames, shown());
  const drawField = startField(shown);
  const drawShared = content.shared ? await startShared(shown) : () => {};
  const draw = async () => {
    pictures.draw(shown());
    drawField();
    drawShared();
    drawErrors(shown());
    drawCurves(shown());
    drawBins(shown());
    await frames.draw();
  };
  selects.forEach((select) => select && select.addEventListener('change', () => { frames.sort(); frames.place = 0; draw(); }));
  return draw;
}

// Which molecules only one of two programs finds.
async function startShared(shown) {
  const shared = content.shared;
  const places = await Promise.all(shared.places.map((text) => unpacked(text, Uint16Array)));
  const found = await unpacked(shared.found, Uint8Array);
  const at = (steps, [low, high]) => low + ((high - low) * steps) / 65535;
  const view = new View(shared);
  const plane = new Plane(byId('shared-map'), view, (own, pen) => {
    pen.fillStyle = '#000';
    pen.fillRect(0, 0, own.width, own.height);
    const [a, b] = shown(), looks = { both: '#5a5a5a', a: color(`on-black-program-${a % PROGRAM_COLORS}`), b: color(`on-black-program-${b % PROGRAM_COLORS}`) };
    const dot = own.view.zoom > 4 ? 6 : 3;
    for (const kind of ['both', 'a', 'b']) {
      pen.fillStyle = looks[kind];
      found.forEach((bits, k) => {
        const [inA, inB] = [(bits >> a) & 1, (bits >> b) & 1];
        if ((kind === 'both' && inA && inB) || (kind === 'a' && inA && !inB) || (kind === 'b' && inB && !inA)) {
          const x = own.px(at(places[0][k], shared.x)), y = own.py(at(places[1][k], shared.y));
          if (kind === 'b') pen.fillRect(x - dot / 2, y - dot / 2, dot + 1, dot + 1);
          else { pen.beginPath(); pen.arc(x, y, kind === 'a' ? dot * 0.75 : dot / 2, 0, 7); pen.fill(); }
        }
      });
    }
  });
  return () => {
    const [a, b] = shown(), names = [a, b].map((k) => content.programs[k].name), total = shared.molecules;
    const onlyA = shared.only[a][b], onlyB = shared.only[b][a], both = shared.both[a][b];
    byId('shared-text').textContent = a === b ? 'Pick two different programs.' :
      `Of ${total} molecules ${names[0]} finds ${onlyA} that ${names[1]} misses (dots), ${names[1]} finds ${onlyB} that ${names[0]} misses (squares); both find ${both} (grey), neither ${total - onlyA - onlyB - both}.`;
    byId('shared-note').textContent = shared.shown < total ? `Every ${Math.ceil(total / shared.shown)}th molecule is drawn; all are counted.` : '';
    const rows = content.programs.map((one, k) => [one.name].concat(content.programs.map((_, other) => (k === other ? '' : shared.only[k][other]))));
    byId('shared-table').replaceChildren(tableElement('found-only', 'Molecules that the program of the row finds and that of the column misses', ['finds', ...content.programs.map((one) => one.name)], rows));
    plane.draw();
  };
}
