/* The bars of calls, and the lines of what they waited for. */

/* The fill of an outcome: its colour, and lines across it unless it is `ok`. */
function fillOf(outcome) {
  if (patterns[outcome]) return patterns[outcome];
  const { colour, pattern } = LOOKS[outcome];
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const ink = tile.getContext("2d");
  ink.fillStyle = colours[colour.slice(2)];
  ink.fillRect(0, 0, 8, 8);
  ink.strokeStyle = colours.panel;
  ink.globalAlpha = 0.55;
  ink.lineWidth = 1.5;
  const line = (...points) => {
    ink.beginPath();
    ink.moveTo(points[0], points[1]);
    ink.lineTo(points[2], points[3]);
    ink.stroke();
  };
  const rising = () => [line(-1, 9, 9, -1), line(-1, 1, 1, -1), line(7, 9, 9, 7)];
  const falling = () => [line(-1, -1, 9, 9), line(-1, 7, 1, 9), line(7, -1, 9, 1)];
  if (pattern === "/" || pattern === "x") rising();
  if (pattern === "\\" || pattern === "x") falling();
  if (pattern === "|") line(4, 0, 4, 8);
  if (pattern === "-") line(0, 4, 8, 4);
  if (pattern === ".") {
    ink.fillStyle = colours.panel;
    ink.fillRect(2, 2, 2.5, 2.5);
    ink.fillRect(6, 6, 2.5, 2.5);
  }
  return (patterns[outcome] = ink.createPattern(tile, "repeat"));
}

const endOfCall = (call) => calls.to[call];

/* Draws the bars of a row. Bars that share a pixel are drawn once, unless they mean different things. */
function drawCalls(row, top, height, matching) {
  let [lastPixel, seen] = [-1, 0];
  const gap = height > 8 ? 2 : height > 4 ? 1 : 0;
  pen.globalAlpha = matching ? 1 : 0.18;
  for (let at = firstAfter(row, view.from, endOfCall); at < row.length; at++) {
    const call = row[at];
    const from = beginOf(call);
    if (from > view.to) break;
    if (focus.matches && (focus.matches[call] === 1) !== matching) continue;
    const [left, right] = [x(from), x(calls.to[call])];
    const wide = right - left;
    const bit = 1 << ((calls.outcome[call] ?? 14) + 1);
    if (wide < 1) {
      const pixel = Math.floor(left);
      if (pixel !== lastPixel) [lastPixel, seen] = [pixel, 0];
      if (seen & bit) continue;
      seen |= bit;
    }
    drawBar(call, left, Math.max(wide, calls.from[call] === null ? 8 : 2), top, height - gap, matching);
  }
  pen.globalAlpha = 1;
}

function drawBar(call, left, wide, top, height, matching) {
  const outcome = outcomeOf(call);
  const look = LOOKS[outcome];
  const [start, end] = [Math.max(left, view.gutter - 4), Math.min(left + wide, view.width + 4)];
  pen.fillStyle = fillOf(outcome);
  pen.beginPath();
  pen.roundRect(start, top, Math.max(end - start, 1), height, Math.min(3, (end - start) / 3, height / 3));
  pen.fill();
  if (height < 10 || !matching) return;
  const room = end - start;
  if (outcome !== "ok" && room >= 12) drawGlyph(look, start + 2, top, height);
  else if (outcome !== "ok") drawFlag(look, start + room / 2, top, height);
  const indent = outcome === "ok" ? 5 : 19;
  if (height < TALL - 4 || room < indent + 16) return;
  const id = text(calls.id[call]);
  const words = fit(pen, calls.index[call] + (id ? " " + id : ""), room - indent - 4);
  if (!words) return;
  pen.fillStyle = outcome === "ok" ? colours["on-bar"] : colours.panel;
  if (outcome !== "ok") {
    pen.beginPath();
    pen.roundRect(start + indent - 3, top + 2, pen.measureText(words).width + 6, height - 4, 3);
    pen.fill();
    pen.fillStyle = colours.ink;
  }
  pen.fillText(words, start + indent, top + height / 2 + 1);
}

/* The sign of an outcome, on a field of its own so that the pattern does not disturb it. */
function drawGlyph(look, left, top, height) {
  pen.fillStyle = colours.panel;
  pen.beginPath();
  pen.roundRect(left, top + 2, 13, height - 4, 3);
  pen.fill();
  pen.fillStyle = colours[look.colour.slice(2)];
  pen.textAlign = "center";
  pen.fillText(look.glyph, left + 6.5, top + height / 2 + 1);
  pen.textAlign = "left";
}

/* What marks a bar that is too narrow for a sign. */
function drawFlag(look, middle, top, height) {
  pen.fillStyle = colours[look.colour.slice(2)];
  pen.beginPath();
  pen.moveTo(middle, top + height / 2);
  pen.lineTo(middle - 4, top - 1);
  pen.lineTo(middle + 4, top - 1);
  pen.fill();
}

function drawWaitsOfRow(row, top, height) {
  const begin = firstAfter(row, view.from, endOfCall);
  let lastPixel = -1;
  for (let at = begin; at < row.length; at++) {
    const call = row[at];
    const first = firstStretch[call];
    if (first === firstStretch[call + 1]) continue;
    if (stretches.from[first] > view.to) break;
    const pixel = Math.floor(x(stretches.from[first]));
    if (x(beginOf(call)) - pixel < 1 && pixel === lastPixel) continue;
    lastPixel = pixel;
    drawWaits(call, top, height, focus.matches && !focus.matches[call] ? 0.15 : 0.9);
  }
}

/* A line for each thing that a call waited for, with its name where there is room. */
function drawWaits(call, top, height, alpha) {
  const middle = top + height / 2 - 1;
  for (const wait of stretchesOf(call)) {
    const [left, right] = [Math.max(x(wait.from), view.gutter - 4), Math.min(x(wait.to), view.width + 4)];
    if (right - left < 1) continue;
    pen.globalAlpha = alpha;
    if (wait.kind === "try") {
      pen.strokeStyle = colours.faint;
      pen.strokeRect(left + 0.5, top + 2.5, right - left - 1, height - 7);
    } else {
      pen.strokeStyle = pen.fillStyle = wait.kind === "order" || wait.kind === "turn" ? colours.faint : colours.waits;
      pen.setLineDash(wait.kind === "order" ? [1, 3] : wait.kind === "turn" ? [] : [6, 2]);
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(left, middle);
      pen.lineTo(right, middle);
      pen.stroke();
      pen.setLineDash([]);
      if (height > 6) pen.fillRect(left, middle - 3, 1.5, 6);
    }
    if (height >= TALL - 2) {
      const words = fit(pen, waitedFor(call, wait.kind, true), right - left - 14);
      if (words) {
        const wide = pen.measureText(words).width;
        const start = Math.max(left, view.gutter) + 6;
        pen.fillStyle = colours.panel;
        pen.fillRect(start - 2, top + 1, wide + 4, height - 5);
        pen.fillStyle = colours.faint;
        pen.fillText(words, start, middle + 2);
      }
    }
  }
  pen.lineWidth = 1;
  pen.globalAlpha = 1;
}
