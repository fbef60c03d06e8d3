const pages = { score: scorePage, board: boardPage, program: programPage };
const drawAll = content.kind in pages ? await pages[content.kind]() : async () => {};
await drawAll();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
document.documentElement.dataset.ready = 'yes';
