/* Moving about: zoom, drag, keys, and which call is under the hand. */

const chart = document.getElementById("chart");
const LEAST = 50; // nanoseconds over the whole width

let showsWaits = false;
let drawing = 0;

/* Draws once before the next frame, however often something changed. */
function drawSoon() {
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    draw();
  });
}

/* Sees a stretch of time, as far as there is one. */
function see(from, to) {
  const wide = Math.min(Math.max(to - from, LEAST), span);
  const start = Math.min(Math.max((from + to - wide) / 2, 0), span - wide);
  [view.from, view.to] = [start, start + wide];
  drawSoon();
}

/* Zooms such that the moment at a place stays there. */
function zoom(factor, place = (view.gutter + view.width) / 2) {
  const fixed = momentAt(Math.max(place, view.gutter));
  const wide = Math.min(Math.max((view.to - view.from) * factor, LEAST), span);
  const share = (fixed - view.from) / (view.to - view.from);
  const start = Math.min(Math.max(fixed - share * wide, 0), span - wide);
  see(start, start + wide);
}

function move(share) {
  const step = (view.to - view.from) * share;
  const start = Math.min(Math.max(view.from + step, 0), span - (view.to - view.from));
  see(start, start + view.to - view.from);
}

/* Finds the places of all anew: the page, or what is shown, has another size. */
function layOut() {
  view.width = chart.clientWidth;
  view.gutter = view.width >= 720 ? 170 : 0;
  view.contentHeight = placeLanes(AXIS, view.gutter === 0);
  const room = Math.min(view.contentHeight, Math.max(240, window.innerHeight * 0.68));
  view.height = Math.round(room) - 2;
  canvas.style.height = view.height + "px";
  document.getElementById("height").style.height = Math.max(0, view.contentHeight - view.height) + "px";
  view.top = chart.scrollTop;
  drawSoon();
}

function showWaits(shown) {
  showsWaits = shown;
  makeLanes(shown);
  layOut();
}

/* The call at a place, or the nearest in its row within a few pixels; -1 when there is none. */
function callAt(left, top) {
  const height = top + view.top;
  const lane = lanes.find((lane) => lane.kind === "calls" && height >= lane.rowsTop && height < lane.rowsTop + lane.rows.length * lane.rowHeight);
  if (!lane || top < AXIS || left < view.gutter) return -1;
  const row = lane.rows[Math.floor((height - lane.rowsTop) / lane.rowHeight)];
  const near = 5 * ((view.to - view.from) / (view.width - view.gutter));
  const moment = momentAt(left);
  let [best, distance] = [-1, near];
  for (let at = firstAfter(row, moment - near, endOfCall); at < row.length; at++) {
    const call = row[at];
    const first = firstStretch[call];
    const begin = showsWaits && first < firstStretch[call + 1] ? stretches.from[first] : beginOf(call);
    if (begin > moment + near) break;
    const away = Math.max(begin - moment, moment - calls.to[call], 0);
    if (away <= distance) [best, distance] = [call, away];
  }
  return best;
}

/* Chooses a call; `reveal` moves the picture to it. */
function choose(call, reveal) {
  focus.call = call;
  if (call >= 0 && reveal) {
    const [from, to] = [beginOf(call), calls.to[call]];
    if (to < view.from || from > view.to) {
      const half = (view.to - view.from) / 2;
      see((from + to) / 2 - half, (from + to) / 2 + half);
    }
    const { top, height } = placeOf(call);
    if (top < AXIS || top + height > view.height) chart.scrollTop = top + view.top - view.height / 2;
  }
  tellDetail();
  markRow();
  drawSoon();
}

function zoomTo(call) {
  const [from, to] = [beginOf(call), calls.to[call]];
  const room = Math.max((to - from) * 1.5, LEAST);
  see(from - room, to + room);
  choose(call, true);
}

const pointers = new Map();
let dragged = 0;

chart.addEventListener("pointerdown", (event) => {
  if (event.pointerType === "mouse" && event.button !== 0) return;
  if (event.target !== canvas) return; // the scroll bar
  pointers.set(event.pointerId, event);
  dragged = 0;
});
chart.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const other = [...pointers.values()].find((pointer) => pointer.pointerId !== event.pointerId);
  pointers.set(event.pointerId, event);
  if (other) {
    const apart = (one) => Math.max(Math.abs(one.clientX - other.clientX), 10);
    zoom(apart(before) / apart(event), (event.clientX + other.clientX) / 2 - canvas.getBoundingClientRect().left);
    dragged = 100;
    return;
  }
  dragged += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
  if (dragged < 5) return;
  chart.setPointerCapture(event.pointerId);
  chart.classList.add("dragged");
  move((before.clientX - event.clientX) / (view.width - view.gutter));
  if (event.pointerType === "mouse") chart.scrollTop += before.clientY - event.clientY;
});
for (const end of ["pointerup", "pointercancel"]) {
  chart.addEventListener(end, (event) => {
    const known = pointers.delete(event.pointerId);
    chart.classList.remove("dragged");
    if (!known || end === "pointercancel" || dragged >= 5) return;
    const area = canvas.getBoundingClientRect();
    choose(callAt(event.clientX - area.left, event.clientY - area.top), false);
  });
}
chart.addEventListener("dblclick", () => focus.call >= 0 && zoomTo(focus.call));
chart.addEventListener("wheel", (event) => {
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (event.ctrlKey || event.metaKey) {
    const slow = event.deltaMode === 0 ? 0.004 : 0.1;
    zoom(Math.exp(event.deltaY * slow), event.clientX - canvas.getBoundingClientRect().left);
  } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
    move(sideways / (view.width - view.gutter));
  } else return;
  event.preventDefault();
}, { passive: false });
chart.addEventListener("scroll", () => {
  view.top = chart.scrollTop;
  drawSoon();
});
chart.addEventListener("keydown", (event) => {
  const acts = {
    "+": () => zoom(0.6),
    "=": () => zoom(0.6),
    "-": () => zoom(1 / 0.6),
    0: () => see(0, span),
    ArrowLeft: () => move(-0.2),
    ArrowRight: () => move(0.2),
    Enter: () => focus.call >= 0 && zoomTo(focus.call),
    Escape: () => choose(-1),
  };
  if (!Object.hasOwn(acts, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  acts[event.key]();
});
