/* Puts everything into place. */

const FEW = 200; // so many calls have room for their waits

document.getElementById("summary").textContent = summary();
canvas.setAttribute("aria-label", "Timeline: " + summary() + ". The table below has every call.");
if (data.dropped > 0 || data.left_out > 0) {
  const missing = document.getElementById("missing");
  const reasons = [];
  if (data.dropped > 0) reasons.push(count(data.dropped, "event") + " came too fast and were dropped");
  if (data.left_out > 0) reasons.push(count(data.left_out, "call") + " are left out, because there are too many to draw");
  missing.textContent = "Not everything is here: " + reasons.join("; ") + ".";
  missing.hidden = false;
}

function act(id, act) {
  document.getElementById(id).addEventListener("click", act);
}
act("closer", () => zoom(0.6));
act("farther", () => zoom(1 / 0.6));
act("all", () => see(0, span));
act("next", () => step(1));
act("previous", () => step(-1));
const waitsBox = document.getElementById("waits");
waitsBox.checked = callCount <= FEW;
waitsBox.addEventListener("change", () => showWaits(waitsBox.checked));

readColours();
makeTable();
makeLegend();
drawLegend();
search();
showWaits(waitsBox.checked);
draw();

new ResizeObserver(layOut).observe(chart);
window.addEventListener("resize", layOut);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  drawLegend();
  drawSoon();
});
