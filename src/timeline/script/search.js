/* Search, and which outcomes are shown. */

const searchField = document.getElementById("search");
const hidden = new Set();
let shownCalls = null; // the calls that match, in their order; null: all

/* All that can be searched for of a call, in small letters; made when it is first needed. */
const haystacks = [];
function haystack(call) {
  return (haystacks[call] ??= [
    text(calls.tool[call]), text(calls.id[call]), text(calls.actor[call]), agentOf(call), outcomeOf(call),
    text(calls.error[call]), "#" + calls.index[call],
  ].join("\n").toLowerCase());
}

function search() {
  const words = searchField.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0 && hidden.size === 0) {
    [focus.matches, shownCalls] = [null, null];
  } else {
    focus.matches = new Uint8Array(callCount);
    shownCalls = [];
    for (let call = 0; call < callCount; call++) {
      if (hidden.has(outcomeOf(call)) || !words.every((word) => haystack(call).includes(word))) continue;
      focus.matches[call] = 1;
      shownCalls.push(call);
    }
  }
  document.getElementById("found").textContent = shownCalls ? count(shownCalls.length, "match", "matches") : "";
  for (const id of ["previous", "next"]) document.getElementById(id).disabled = shownCount() === 0;
  strip.places = 0;
  showPage(0);
  drawSoon();
}

function shownCount() {
  return shownCalls ? shownCalls.length : callCount;
}

function shownCall(place) {
  return shownCalls ? shownCalls[place] : place;
}

/* Where a call is among those that are shown, or would be. */
function placeAmongShown(call) {
  return shownCalls ? firstAfter(shownCalls, call, (other) => other) : call;
}

/* Goes to the match after the chosen call, or before it; after the last comes the first. */
function step(by) {
  const many = shownCount();
  if (many === 0) return;
  let place = by > 0 ? 0 : many - 1;
  if (focus.call >= 0) {
    const here = placeAmongShown(focus.call);
    const on = shownCall(here) === focus.call;
    place = (here + (by > 0 ? (on ? 1 : 0) : -1) + many) % many;
  }
  choose(shownCall(place), true);
  showPageOf(place);
}

searchField.addEventListener("input", search);
searchField.addEventListener("keydown", (event) => {
  if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
});

/* A button for each outcome that occurs, which shows or hides its calls. */
function makeLegend() {
  const legend = document.getElementById("legend");
  for (const [outcome, number] of outcomeCounts) {
    const button = document.createElement("button");
    const sample = document.createElement("canvas");
    const name = document.createElement("span");
    const many = document.createElement("b");
    button.type = "button";
    button.ariaPressed = "true";
    button.title = "Show or hide these calls";
    name.textContent = LOOKS[outcome].glyph + " " + outcome;
    many.textContent = counted.format(number);
    button.append(sample, name, many);
    button.addEventListener("click", () => {
      if (!hidden.delete(outcome)) hidden.add(outcome);
      button.ariaPressed = String(!hidden.has(outcome));
      search();
    });
    sample.dataset.outcome = outcome;
    legend.append(button);
  }
}

function drawLegend() {
  for (const sample of document.querySelectorAll("#legend canvas")) {
    const ink = sample.getContext("2d");
    sizeCanvas(sample, ink, 26, 14);
    ink.fillStyle = fillOf(sample.dataset.outcome);
    ink.fillRect(0, 0, 26, 14);
  }
}
