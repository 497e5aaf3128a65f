/* Points out the chosen call. */

function placeOf(call) {
  const lane = lanes[laneOf[call]];
  return { top: lane.rowsTop + rowOf[call] * lane.rowHeight - view.top, height: lane.rowHeight };
}

/* Draws a frame around it, with what it waited for and the call that it waited for last. */
function drawFocus() {
  const call = focus.call;
  if (call < 0) return;
  const { top, height } = placeOf(call);
  if (!showsWaits) drawWaits(call, top, height, 1);
  const [left, right] = [x(beginOf(call)), x(calls.to[call])];
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 2;
  pen.strokeRect(left - 1.5, top - 1.5, Math.max(right - left, 4) + 3, height + 1);
  pen.lineWidth = 1;
  const waited = lastBefore(call);
  if (waited < 0) return;
  const before = placeOf(waited);
  const [fromX, fromY, toX, toY] = [x(calls.to[waited]), before.top + before.height / 2, left, top + height / 2];
  pen.strokeStyle = pen.fillStyle = colours.accent;
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.bezierCurveTo(fromX + 24, fromY, toX - 24, toY, toX - 5, toY);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(toX - 1, toY);
  pen.lineTo(toX - 8, toY - 4);
  pen.lineTo(toX - 8, toY + 4);
  pen.fill();
}

/* The call whose end let another one begin: the one that ended last of those that it waited for. */
function lastBefore(call) {
  const after = calls.after[call];
  if (after === null) return -1;
  const first = call - calls.index[call];
  let last = -1;
  for (let before = first; before <= first + after; before++) {
    if (calls.batch[before] !== null && (last < 0 || calls.to[before] > calls.to[last])) last = before;
  }
  return last;
}
