// Tables: sorting, searching and saving.
function sortTable(button) {
  const head = button.closest('th');
  const table = head.closest('table');
  const column = Array.from(head.parentNode.children).indexOf(head);
  const up = head.getAttribute('aria-sort') !== 'ascending';
  all('th', table.tHead).forEach((cell) => cell.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const key = (row) => {
    const cell = row.children[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const body = table.tBodies[0];
  Array.from(body.rows).sort((a, b) => {
    const x = key(a), y = key(b);
    if (typeof x !== typeof y) return typeof x === 'number' ? -1 : 1;
    const order = typeof x === 'number' ? x - y : x.localeCompare(y, undefined, { numeric: true });
    return up ? order : -order;
  }).forEach((row) => body.appendChild(row));
}

function searchTable(field) {
  const holder = field.closest('.table');
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of holder.querySelector('tbody').rows) {
    row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    shown += row.hidden ? 0 : 1;
  }
  holder.dataset.shown = shown;
}

function csvOf(table) {
  // A spreadsheet would run text that begins like a formula; numbers, and spans of them, may have a sign.
  const isFormula = (text) => /^[=+\-@\t\r]./.test(text) && !/^[-+]?[\d.,]+([eE][-+]?\d+)?( (to|x) [-+]?[\d.,]+)*$/.test(text);
  const quote = (text) => (/[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
  return Array.from(table.rows).map((row) => Array.from(row.cells).map((cell) => (cell.querySelector('.small-bar') ? cell.dataset.value : cell.textContent)).map((text) => quote(isFormula(text) ? "'" + text : text)).join(',')).join('\n') + '\n';
}

function saveTable(holder) {
  const link = element('a', { download: holder.dataset.name + '.csv' });
  link.href = URL.createObjectURL(new Blob([csvOf(holder.querySelector('table'))], { type: 'text/csv' }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (!button) return;
  if (button.classList.contains('sort')) sortTable(button);
  if (button.classList.contains('csv')) saveTable(button.closest('.table'));
});
document.addEventListener('input', (event) => { if (event.target.matches('.search input')) searchTable(event.target); });

function tableElement(name, caption, header, rows) {
  const table = element('table');
  table.createCaption().append(element('span', {}, caption));
  const head = table.createTHead().insertRow();
  header.forEach((title) => head.append(element('th', { scope: 'col' }, title)));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((value, at) => {
      const text = value === null || value === undefined ? '-' : String(value);
      const cell = at === 0 ? element('th', { scope: 'row' }, text) : element('td', {}, text);
      if (typeof value === 'number') cell.className = 'number';
      line.append(cell);
    });
  }
  const scroll = element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption }, table);
  return element('div', { class: 'table', 'data-name': name }, scroll, element('button', { type: 'button', class: 'csv' }, 'Save as CSV'));
}
