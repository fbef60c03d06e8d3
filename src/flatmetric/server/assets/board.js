// Uploads: the file itself is the body, with a bar of its progress.
function upload(form, address, done) {
  const bar = form.querySelector('progress'), said = form.querySelector('[role=status]'), button = form.querySelector('button');
  const file = form.elements.file.files[0];
  const given = new URLSearchParams({ name: file.name });
  for (const [name, value] of new FormData(form)) if (!['file', 'dataset'].includes(name) && value) given.set(name, value);
  const request = new XMLHttpRequest();
  request.open('PUT', `${address}?${given}`);
  request.setRequestHeader('X-CSRF', document.body.dataset.csrf || '');
  request.upload.addEventListener('progress', (event) => {
    if (!event.lengthComputable) return;
    bar.value = event.loaded / event.total;
    said.textContent = event.loaded < event.total ? `${Math.round(100 * bar.value)} %` : 'Reading the file';
  });
  const failed = (sentence) => { said.textContent = sentence; bar.hidden = true; button.disabled = false; };
  request.addEventListener('error', () => failed('The upload was cut off; nothing was stored. Try again.'));
  request.addEventListener('load', () => {
    let answer = {};
    try { answer = JSON.parse(request.responseText); } catch { /* a proxy may have answered */ }
    if (request.status === 201) done(answer);
    else failed(answer.error ? `${answer.error[0].toUpperCase()}${answer.error.slice(1)}.` : `That did not work (${request.status}).`);
  });
  bar.hidden = false;
  button.disabled = true;
  request.send(file);
}

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) { event.preventDefault(); return; }
  if (!['upload', 'truth'].includes(form.id)) return;
  event.preventDefault();
  const dataset = encodeURIComponent(form.elements.dataset.value);
  if (form.id === 'upload') upload(form, `/api/datasets/${dataset}/uploads`, (answer) => { location.href = answer.url; });
  else upload(form, `/api/datasets/${dataset}/truth`, () => { location.reload(); });
});
document.documentElement.dataset.ready = 'yes';
