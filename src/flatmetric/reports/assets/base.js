// Helpers that everything uses: the content, elements, colours, and numbers as text.
const content = JSON.parse(document.getElementById('content').textContent);
const byId = (name) => document.getElementById(name);
const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const fixed = (value, digits) => (value === null || value === undefined ? '-' : value.toFixed(digits));
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

const shortened = (name) => (name.length > 28 ? name.slice(0, 27) + '\u2026' : name);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Arrays are compressed, in base64.
async function unpacked(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Kind(await new Response(stream).arrayBuffer());
}

async function places(layer, field) {
  const [x, y] = await Promise.all([unpacked(layer.x, Uint16Array), unpacked(layer.y, Uint16Array)]);
  const between = (steps, [low, high]) => Float32Array.from(steps, (step) => low + ((high - low) * step) / 65535);
  return { x: between(x, field.x), y: between(y, field.y) };
}

// One box with words for whatever is pointed at or focused.
const tip = byId('tip');
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = clamp(x + 14, 4, innerWidth - tip.offsetWidth - 4) + 'px';
  tip.style.top = (y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 12 : y + 18) + 'px';
}
const hideTip = () => { tip.hidden = true; };

function explain(event) {
  const term = event.target.closest && event.target.closest('.term');
  if (!term) return;
  const box = term.getBoundingClientRect();
  const key = term.getAttribute('aria-describedby');
  const part = (name) => byId(key.replace('def-', name)).textContent;
  showTip(`${part('name-')}: ${part('def-')}\n${part('formula-')}`, box.left, box.bottom - 12);
}
document.addEventListener('mouseover', explain);
document.addEventListener('focusin', explain);
for (const kind of ['mouseout', 'focusout']) document.addEventListener(kind, (event) => { if (event.target.closest('.term')) hideTip(); });
document.addEventListener('keydown', (event) => { if (event.key === 'Escape') hideTip(); });

// The drawer with definitions.
const drawer = byId('drawer');
if (drawer) {
  byId('open-drawer').addEventListener('click', () => drawer.showModal());
  byId('close-drawer').addEventListener('click', () => drawer.close());
  drawer.addEventListener('click', (event) => { if (event.target === drawer) drawer.close(); });
}
