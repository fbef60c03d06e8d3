// Writes the licences of everything in plot.js into LICENSES.txt.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { buildSync } from 'esbuild';

const { metafile } = buildSync({ entryPoints: ['marks.js'], bundle: true, write: false, metafile: true });
const names = new Set();
for (const file of Object.keys(metafile.inputs)) {
  const found = file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/);
  if (found) names.add(found[1]);
}
const texts = Array.from(names).sort().map((name) => {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version} (${license})\n\n${file && existsSync(`${folder}/${file}`) ? readFileSync(`${folder}/${file}`, 'utf8').trim() : ''}\n`;
});
writeFileSync('LICENSES.txt', texts.join(`\n${'-'.repeat(80)}\n\n`));
