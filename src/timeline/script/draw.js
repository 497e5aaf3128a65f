/* Draws what can be seen, and nothing else. */

const AXIS = 26;
const canvas = document.getElementById("canvas");
const pen = canvas.getContext("2d", { alpha: false });
const FONT = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

/* What is seen: a stretch of time, and from which height on. */
const view = { from: 0, to: span, top: 0, width: 0, height: 0, gutter: 0 };
/* What is pointed out. */
const focus = { call: -1, matches: null };

let colours = {};
let patterns = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = new Proxy({}, { get: (known, name) => (known[name] ??= style.getPropertyValue("--" + name).trim()) });
  patterns = {};
}

function x(moment) {
  return view.gutter + ((moment - view.from) / (view.to - view.from)) * (view.width - view.gutter);
}

function momentAt(place) {
  return view.from + ((place - view.gutter) / (view.width - view.gutter)) * (view.to - view.from);
}

function sizeCanvas(element, ink, width, height) {
  const dense = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * dense), Math.round(height * dense)];
  if (element.width !== wide || element.height !== high) {
    element.width = wide;
    element.height = high;
    element.style.width = width + "px";
    element.style.height = height + "px";
  }
  ink.setTransform(dense, 0, 0, dense, 0, 0);
}

/* Words inside a width, cut where they do not fit. */
function fit(ink, words, room) {
  if (room < 14) return "";
  if (ink.measureText(words).width <= room) return words;
  let length = Math.floor(words.length * (room / ink.measureText(words).width)) - 1;
  while (length > 0 && ink.measureText(words.slice(0, length) + "…").width > room) length--;
  return length > 0 ? words.slice(0, length) + "…" : "";
}

function draw() {
  sizeCanvas(canvas, pen, view.width, view.height);
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, view.width, view.height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  lanes.forEach((lane, number) => {
    const [top, bottom] = [lane.top - view.top, laneBottom(number) - view.top];
    if (bottom < AXIS || top > view.height) return;
    if (number % 2 === 0) {
      pen.fillStyle = colours.stripe;
      pen.fillRect(0, top, view.width, bottom - top);
    }
  });
  drawGrid();
  drawBorders();
  for (const lane of lanes) drawLane(lane);
  drawFocus();
  lanes.forEach(drawName);
  drawAxis();
  drawOverview();
}

function laneBottom(number) {
  return number + 1 < lanes.length ? lanes[number + 1].top : view.contentHeight;
}

function drawLane(lane) {
  const height = lane.rowHeight;
  const first = Math.max(0, Math.floor((view.top + AXIS - lane.rowsTop) / height));
  const last = Math.min(lane.rows.length, Math.ceil((view.top + view.height - lane.rowsTop) / height));
  for (let number = first; number < last; number++) {
    const top = lane.rowsTop + number * height - view.top;
    if (lane.kind === "lists") drawLists(lane.rows[number], top, height);
    else {
      if (showsWaits) drawWaitsOfRow(lane.rows[number], top, height);
      // What is not searched for is drawn first, so that it hides nothing.
      if (focus.matches) drawCalls(lane.rows[number], top, height, false);
      drawCalls(lane.rows[number], top, height, true);
    }
  }
}

function drawName(lane, number) {
  const [top, bottom] = [lane.top - view.top, laneBottom(number) - view.top];
  if (bottom < AXIS || top > view.height) return;
  if (view.gutter > 0) {
    pen.fillStyle = number % 2 === 0 ? colours.stripe : colours.panel;
    pen.fillRect(0, top, view.gutter - 6, bottom - top);
    const place = Math.min(Math.max(top, AXIS - 2) + 15, bottom - 24);
    pen.fillStyle = colours.ink;
    pen.font = "600 " + FONT;
    pen.fillText(fit(pen, lane.name, view.gutter - 22), 12, place);
    pen.font = FONT;
    pen.fillStyle = colours.faint;
    pen.fillText(fit(pen, lane.note, view.gutter - 22), 12, place + 15);
  } else {
    pen.font = "600 " + FONT;
    pen.fillStyle = colours.ink;
    pen.fillText(fit(pen, lane.name, view.width - 90), 8, top + 12);
    pen.font = FONT;
    pen.fillStyle = colours.faint;
    pen.textAlign = "right";
    pen.fillText(lane.note, view.width - 8, top + 12);
    pen.textAlign = "left";
  }
}

/* A round step of time such that there are not more than so many. */
function tickStep(time, most) {
  const size = 10 ** Math.floor(Math.log10(time / most));
  return [1, 2, 5, 10].map((factor) => factor * size).find((step) => time / step <= most);
}

/* The moments with a line, such that their names do not meet. */
function ticks() {
  const step = Math.max(tickStep(view.to - view.from, Math.max(2, (view.width - view.gutter) / 110)), 1);
  const found = [];
  for (let moment = Math.ceil(view.from / step) * step; moment <= view.to; moment += step) {
    const place = Math.round(x(moment));
    if (place >= view.gutter) found.push({ moment, place });
  }
  return found;
}

function drawGrid() {
  pen.fillStyle = colours.line;
  pen.globalAlpha = 0.6;
  for (const { place } of ticks()) pen.fillRect(place, AXIS, 1, view.height);
  pen.globalAlpha = 1;
}

function drawAxis() {
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, view.width, AXIS);
  pen.textAlign = "center";
  for (const { moment, place } of ticks()) {
    pen.fillStyle = colours.faint;
    pen.fillRect(place, AXIS - 6, 1, 6);
    const half = pen.measureText(duration(moment)).width / 2 + 3;
    pen.fillText(duration(moment), Math.min(Math.max(place, view.gutter + half), view.width - half), 11);
  }
  pen.textAlign = "left";
  pen.fillStyle = colours.line;
  pen.fillRect(0, AXIS - 1, view.width, 1);
  if (view.gutter > 0) pen.fillRect(view.gutter - 6, 0, 1, view.height);
}
