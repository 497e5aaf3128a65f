/* The bars of lists with their batches, and the borders of batches across all lanes. */

/* The batches of a list by number; they lie list by list. */
const firstBatch = new Map();
batches.list.forEach((list, batch) => firstBatch.has(list) || firstBatch.set(list, batch));

function drawLists(row, top, height) {
  let lastPixel = -1;
  for (let at = firstAfter(row, view.from, (list) => lists.to[list]); at < row.length; at++) {
    const list = row[at];
    if (lists.from[list] > view.to) break;
    const [left, right] = [x(lists.from[list]), x(lists.to[list])];
    if (right - left < 1 && Math.floor(left) === lastPixel) continue;
    lastPixel = Math.floor(left);
    drawList(list, left, Math.max(right, left + 2), top, height - (height > 8 ? 2 : 0));
  }
}

function drawList(list, left, right, top, height) {
  const [start, end] = [Math.max(left, view.gutter - 4), Math.min(right, view.width + 4)];
  const chosen = focus.call >= 0 && calls.list[focus.call] === list;
  pen.fillStyle = chosen ? colours.mark : colours.list;
  pen.fillRect(start, top, end - start, height);
  let said = false;
  for (let batch = firstBatch.get(list) ?? batches.list.length; batches.list[batch] === list; batch++) {
    const next = batches.list[batch + 1] === list ? batches.from[batch + 1] : lists.to[list];
    const [from, to] = [Math.max(batch === firstBatch.get(list) ? left : x(batches.from[batch]), start), Math.min(x(next), end)];
    if (to - from < 1) continue;
    pen.fillStyle = colours.ink;
    if (batches.concurrent[batch]) {
      pen.globalAlpha = 0.07;
      pen.fillRect(from, top, to - from, height);
      pen.globalAlpha = 1;
    }
    if (batch > firstBatch.get(list) && to - from > 3) pen.fillRect(from, top, 1, height);
    if (height < TALL - 4) continue;
    const words = (said ? "" : listName(list) + " · ") + batchName(batch);
    const fitting = fit(pen, words, to - from - 10);
    said ||= fitting !== "";
    pen.fillStyle = chosen ? "#10151a" : colours.ink;
    pen.fillText(fitting, from + 5, top + height / 2 + 1);
  }
}

/* The lists whose batches are shown across all lanes: the one pointed at, or all when there are few. */
function borderedLists() {
  if (focus.call >= 0) return [calls.list[focus.call]];
  return lists.run.length <= 4 ? lists.run.map((_, list) => list) : [];
}

function drawBorders() {
  const shown = new Set(borderedLists());
  if (shown.size === 0) return;
  pen.save();
  pen.strokeStyle = colours.faint;
  pen.globalAlpha = 0.55;
  pen.setLineDash([4, 4]);
  for (let batch = 0; batch < batches.list.length; batch++) {
    const place = Math.round(x(batches.from[batch])) + 0.5;
    if (!shown.has(batches.list[batch]) || batches.number[batch] === 0 || place < view.gutter || place > view.width) continue;
    pen.beginPath();
    pen.moveTo(place, AXIS);
    pen.lineTo(place, view.height);
    pen.stroke();
  }
  pen.restore();
}
