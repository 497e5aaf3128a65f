"use strict";

/* What happened. Times are nanoseconds since the first event. */
const data = JSON.parse(document.getElementById("data").textContent);
const { lists, batches, calls, stretches } = data;
const callCount = calls.index.length;
const span = Math.max(data.span, 1);

/* How each outcome looks. No two of one colour have the same glyph, and only `ok` has no pattern. */
const LOOKS = {
  ok: { colour: "--ok", glyph: "✓", pattern: "" },
  failed: { colour: "--failed", glyph: "✕", pattern: "/" },
  unknown_tool: { colour: "--refused", glyph: "?", pattern: "x" },
  inactive: { colour: "--refused", glyph: "○", pattern: "x" },
  denied: { colour: "--refused", glyph: "⊘", pattern: "x" },
  bad_arguments: { colour: "--refused", glyph: "≠", pattern: "x" },
  not_started: { colour: "--skipped", glyph: "…", pattern: "-" },
  suspended: { colour: "--waits", glyph: "‖", pattern: "." },
  skipped: { colour: "--skipped", glyph: "»", pattern: "-" },
  timed_out: { colour: "--stopped", glyph: "◷", pattern: "|" },
  cancelled: { colour: "--stopped", glyph: "■", pattern: "|" },
  panicked: { colour: "--broken", glyph: "!", pattern: "\\" },
  lost: { colour: "--broken", glyph: "¿", pattern: "\\" },
  running: { colour: "--running", glyph: "▸", pattern: "." },
};

function text(number) {
  return number === null ? "" : data.texts[number];
}

/* The name of a call's outcome; a call without an answer was running when the recording ended. */
function outcomeOf(call) {
  const outcome = calls.outcome[call];
  return outcome === null ? "running" : data.outcomes[outcome];
}

function agentOf(call) {
  return text(lists.agent[calls.list[call]]);
}

/* Where a call's bar begins: at its work, or at the answer to a call that never began. */
function beginOf(call) {
  return calls.from[call] ?? calls.to[call];
}

/* Of each call, where its stretches begin; they lie call by call. */
const firstStretch = new Int32Array(callCount + 1);
{
  let at = 0;
  for (let call = 0; call <= callCount; call++) {
    while (at < stretches.call.length && stretches.call[at] < call) at++;
    firstStretch[call] = at;
  }
}

function stretchesOf(call) {
  const found = [];
  for (let at = firstStretch[call]; at < firstStretch[call + 1]; at++) {
    const kind = data.kinds[stretches.kind[at]];
    found.push({ kind, from: stretches.from[at], to: stretches.to[at] });
  }
  return found;
}
