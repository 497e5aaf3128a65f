/* The same in words: a table, page by page, and the story of the chosen call. Texts of models and tools
   only ever become text nodes. */

const ROWS = 100; // on a page
const COLUMNS = [
  { name: "Call", kind: "number", cell: (call) => "#" + calls.index[call] },
  { name: "List", kind: "list", cell: (call) => listName(calls.list[call]).replace(/^list /, "") },
  { name: "Id", cell: (call) => text(calls.id[call]) },
  { name: "Tool", cell: (call) => text(calls.tool[call]) },
  { name: "Outcome", kind: "outcome", cell: outcomeOf },
  { name: "Began", kind: "number", cell: (call) => (calls.from[call] === null ? "" : duration(calls.from[call])), value: (call) => calls.from[call] },
  { name: "Ran", kind: "number", cell: (call) => (calls.from[call] === null ? "" : duration(calls.elapsed[call])), value: (call) => Math.floor(calls.elapsed[call] / 1000) },
  { name: "Waited", cell: waitStory },
  { name: "Error", cell: (call) => text(calls.error[call]) },
];

function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  const { data: marks, aria, role, ...rest } = options;
  Object.assign(made, rest);
  Object.assign(made.dataset, marks);
  if (role) made.setAttribute("role", role);
  for (const [key, value] of Object.entries(aria ?? {})) made.setAttribute("aria-" + key, value);
  made.append(...children);
  return made;
}

let page = 0;
const table = document.getElementById("table");
const body = element("tbody", { role: "rowgroup" });
const caption = element("caption");
const back = element("button", { type: "button", textContent: "←", ariaLabel: "Previous page" });
const on = element("button", { type: "button", textContent: "→", ariaLabel: "Next page" });

function makeTable() {
  const heads = COLUMNS.map(({ name, kind }) => element("th", { scope: "col", role: "columnheader", className: kind ?? "", textContent: name }));
  const head = element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads));
  back.addEventListener("click", () => showPage(page - 1));
  on.addEventListener("click", () => showPage(page + 1));
  table.append(
    element("div", { className: "head" }, element("h2", { textContent: "All calls in words" }), element("span", { className: "group" }, back, on)),
    element("div", { className: "wide" }, element("table", { role: "table" }, caption, head, body)),
  );
}

function showPage(number) {
  const pages = Math.max(1, Math.ceil(shownCount() / ROWS));
  page = Math.min(Math.max(number, 0), pages - 1);
  const [first, last] = [page * ROWS, Math.min((page + 1) * ROWS, shownCount())];
  const rows = [];
  for (let place = first; place < last; place++) rows.push(rowOfCall(shownCall(place), place));
  body.replaceChildren(...rows);
  body.parentElement.setAttribute("aria-rowcount", shownCount() + 1);
  const which = shownCalls ? "matching calls" : "calls";
  caption.textContent = last > 0 ? `${which} ${counted.format(first + 1)} to ${counted.format(last)} of ${counted.format(shownCount())}` : "no " + which;
  [back.disabled, on.disabled] = [page === 0, page === pages - 1];
  markRow();
}

function showPageOf(place) {
  if (Math.floor(place / ROWS) !== page) showPage(Math.floor(place / ROWS));
}

function rowOfCall(call, place) {
  const cells = COLUMNS.map((column) => {
    const words = column.cell(call);
    const marks = { label: column.name };
    if (column.value) marks.value = column.value(call) ?? "";
    if (column.kind === "outcome") {
      return element("td", { role: "cell", className: "outcome " + words, data: { ...marks, glyph: LOOKS[words].glyph }, textContent: words });
    }
    if (column.name !== "Call") return element("td", { role: "cell", className: column.kind ?? "", data: marks, textContent: words });
    const button = element("button", { type: "button", textContent: words, title: "Show in the picture" });
    button.addEventListener("click", () => {
      choose(call, true);
      chart.scrollIntoView({ block: "nearest" });
    });
    return element("td", { role: "cell", className: "number", data: marks }, button);
  });
  return element("tr", { role: "row", data: { call }, aria: { rowindex: place + 2 } }, ...cells);
}

/* Marks the row of the chosen call, if it is on this page. */
function markRow() {
  for (const row of body.children) {
    if (Number(row.dataset.call) === focus.call) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}

/* The story of the chosen call. */
function tellDetail() {
  const detail = document.getElementById("detail");
  const call = focus.call;
  detail.hidden = call < 0;
  if (call < 0) return;
  const began = calls.from[call];
  const parent = lists.parent[calls.list[call]];
  const facts = [
    ["outcome", LOOKS[outcomeOf(call)].glyph + " " + outcomeOf(call)],
    ["error", text(calls.error[call])],
    ["id", text(calls.id[call])],
    ["list", listName(calls.list[call])],
    ["called by", parent === null ? "" : "call " + calls.index[parent] + " of " + listName(calls.list[parent])],
    ["actor", text(calls.actor[call])],
    ["batch", calls.batch[call] === null ? "" : batchName(calls.batch[call])],
    ["why", text(calls.reason[call])],
    ["began", began === null ? "never" : duration(began)],
    ["ran", began === null ? "" : duration(calls.elapsed[call])],
    ["waited", waitStory(call)],
  ];
  const items = facts.filter(([, words]) => words !== "").flatMap(([name, words]) => [element("dt", { textContent: name }), element("dd", { textContent: words })]);
  const close = element("button", { type: "button", textContent: "×", ariaLabel: "Close" });
  close.addEventListener("click", () => choose(-1));
  const closer = element("button", { type: "button", textContent: "Zoom to it" });
  closer.addEventListener("click", () => zoomTo(call));
  const title = element("h2", { textContent: "#" + calls.index[call] + " " + text(calls.tool[call]) });
  detail.replaceChildren(element("header", {}, title, element("span", { className: "group" }, closer, close)), element("dl", {}, ...items));
}
