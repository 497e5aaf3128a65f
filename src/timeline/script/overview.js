/* The strip above: how many calls ran when, where something did not end `ok`, and which part is seen. */

const overview = document.getElementById("overview");
const overviewPen = overview.getContext("2d");
const STRIP = 44;

/* How many calls ran at each place of the strip on average, and what ended there other than `ok`. */
let strip = { places: 0, running: [], ended: [] };

function countStrip(places) {
  const [whole, parts] = [new Float64Array(places + 1), new Float64Array(places)];
  const ended = new Array(places).fill(null);
  for (let call = 0; call < callCount; call++) {
    if (focus.matches && !focus.matches[call]) continue;
    const to = (calls.to[call] / span) * places;
    const last = Math.min(places - 1, Math.floor(to));
    const outcome = outcomeOf(call);
    if (outcome !== "ok" && outcome !== "running") ended[last] ??= outcome;
    if (calls.from[call] === null) continue;
    const from = (calls.from[call] / span) * places;
    const first = Math.min(places - 1, Math.floor(from));
    if (first === last) {
      parts[first] += to - from;
      continue;
    }
    parts[first] += first + 1 - from;
    parts[last] += to - last;
    whole[first + 1]++;
    whole[last]--;
  }
  let throughout = 0;
  const running = parts.map((part, place) => part + (throughout += whole[place]));
  strip = { places, running, ended };
}

function drawOverview() {
  const width = view.width - view.gutter;
  const places = Math.max(1, Math.floor(width / 2));
  if (strip.places !== places) countStrip(places);
  sizeCanvas(overview, overviewPen, view.width, STRIP);
  overviewPen.clearRect(0, 0, view.width, STRIP);
  overviewPen.translate(view.gutter, 0);
  const most = strip.running.reduce((most, running) => Math.max(most, running), 1e-9);
  const wide = width / places;
  for (let place = 0; place < places; place++) {
    const running = strip.running[place];
    if (running > 0) {
      const high = Math.max(1.5, (running / most) * (STRIP - 12));
      overviewPen.fillStyle = colours.ok;
      overviewPen.fillRect(place * wide, STRIP - high, wide + 0.5, high);
    }
    const outcome = strip.ended[place];
    if (outcome) {
      overviewPen.fillStyle = colours[LOOKS[outcome].colour.slice(2)];
      overviewPen.fillRect(place * wide, 2, Math.max(wide, 2), 6);
    }
  }
  const [left, right] = [(view.from / span) * width, (view.to / span) * width];
  overviewPen.fillStyle = colours.ink;
  overviewPen.globalAlpha = 0.12;
  overviewPen.fillRect(0, 0, left, STRIP);
  overviewPen.fillRect(right, 0, width - right, STRIP);
  overviewPen.globalAlpha = 1;
  overviewPen.strokeStyle = colours.accent;
  overviewPen.lineWidth = 2;
  overviewPen.strokeRect(left + 1, 1, Math.max(right - left - 2, 2), STRIP - 2);
}

/* Moves what is seen to where the strip is pressed. */
function moveByStrip(event) {
  if (event.buttons === 0) return;
  const area = overview.getBoundingClientRect();
  const middle = ((event.clientX - area.left - view.gutter) / (area.width - view.gutter)) * span;
  const half = (view.to - view.from) / 2;
  see(middle - half, middle + half);
}
overview.addEventListener("pointerdown", (event) => {
  overview.setPointerCapture(event.pointerId);
  moveByStrip(event);
});
overview.addEventListener("pointermove", moveByStrip);
