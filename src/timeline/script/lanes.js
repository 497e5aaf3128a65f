/* Where things are drawn: a lane for the lists, one for each actor, one for what no actor ran; in each
   lane, rows in which nothing overlaps. */

const TALL = 20; // a row with room for words

/* A heap of numbers with a number each, the smallest first. */
class Heap {
  items = [];
  get size() {
    return this.items.length;
  }
  get least() {
    return this.items[0];
  }
  push(key, value) {
    const items = this.items;
    let at = items.push({ key, value }) - 1;
    while (at > 0 && items[(at - 1) >> 1].key > items[at].key) {
      const up = (at - 1) >> 1;
      [items[at], items[up]] = [items[up], items[at]];
      at = up;
    }
  }
  pop() {
    const items = this.items;
    const [least, last] = [items[0], items.pop()];
    if (items.length > 0) {
      items[0] = last;
      for (let at = 0; ;) {
        let down = 2 * at + 1;
        if (down + 1 < items.length && items[down + 1].key < items[down].key) down++;
        if (down >= items.length || items[down].key >= items[at].key) break;
        [items[at], items[down]] = [items[down], items[at]];
        at = down;
      }
    }
    return least;
  }
}

/* Puts things into rows: each into the first row that is free when it begins. */
function pack(things, begin, end) {
  things.sort((one, other) => begin(one) - begin(other) || one - other);
  const rows = [];
  const [busy, free] = [new Heap(), new Heap()];
  for (const thing of things) {
    const from = begin(thing);
    while (busy.size > 0 && busy.least.key <= from) {
      const { value } = busy.pop();
      free.push(value, value);
    }
    const row = free.size > 0 ? free.pop().value : rows.push([]) - 1;
    rows[row].push(thing);
    busy.push(Math.max(end(thing), from), row);
  }
  return rows;
}

function rowHeight(rows) {
  if (rows <= 24) return TALL;
  return rows <= 100 ? 11 : rows <= 1000 ? 6 : 3;
}

/* The row of each call, over all lanes' calls. */
const laneOf = new Int32Array(callCount);
const rowOf = new Int32Array(callCount);
let lanes = [];

/* Makes the lanes; `withWaits` keeps a call's waits and its work in one row. */
function makeLanes(withWaits) {
  const actors = new Map();
  for (let call = 0; call < callCount; call++) {
    const actor = calls.actor[call];
    if (!actors.has(actor)) actors.set(actor, []);
    actors.get(actor).push(call);
  }
  const begin = (call) => {
    const first = firstStretch[call];
    return withWaits && first < firstStretch[call + 1] ? stretches.from[first] : beginOf(call);
  };
  // Where few calls never began, those of one moment stand below each other.
  const apart = span / 150;
  const end = (members) => (call) => calls.to[call] + (calls.from[call] === null && members.length <= 50 ? apart : 0);
  const ofActors = [...actors].map(([actor, members]) => ({
    kind: "calls",
    name: actor === null ? "no actor" : text(actor),
    note: count(members.length, "call"),
    last: actor === null,
    rows: pack(members, begin, end(members)),
  }));
  ofActors.sort((one, other) => one.last - other.last || begin(one.rows[0][0]) - begin(other.rows[0][0]));
  const all = lists.run.map((_, list) => list);
  const ofLists = { kind: "lists", name: "lists", note: count(all.length, "list"), rows: [] };
  ofLists.rows = pack(all, (list) => lists.from[list], (list) => lists.to[list]);
  lanes = [ofLists, ...ofActors];
  lanes.forEach((lane, number) => {
    lane.rowHeight = rowHeight(lane.rows.length);
    if (lane.kind !== "calls") return;
    lane.rows.forEach((row, place) => row.forEach((call) => {
      laneOf[call] = number;
      rowOf[call] = place;
    }));
  });
}

/* Gives each lane its place from top to bottom; gives the height of all. `heads`: names stand above. */
function placeLanes(top, heads) {
  for (const lane of lanes) {
    lane.top = top;
    lane.rowsTop = top + (heads ? 22 : 7);
    top = Math.max(lane.rowsTop + lane.rows.length * lane.rowHeight + 7, heads ? 0 : lane.top + 42);
  }
  return top;
}

/* The place in a row of the first thing that ends after a moment. */
function firstAfter(row, moment, ends) {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends(row[middle]) < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}
