/* What things are called. */

const counted = new Intl.NumberFormat("en");

function count(number, one, many = one + "s") {
  return counted.format(number) + " " + (number === 1 ? one : many);
}

/* A time with three digits that matter. */
function duration(ns) {
  if (ns === 0) return "0";
  if (ns < 1000) return Math.round(ns) + " ns";
  const seconds = ns / 1e9;
  if (seconds >= 119.5) {
    const whole = Math.round(seconds);
    return Math.floor(whole / 60) + " min " + (whole % 60) + " s";
  }
  const [unit, size] = ns < 999.5e3 ? ["µs", 1e3] : ns < 999.5e6 ? ["ms", 1e6] : ["s", 1e9];
  return Number((ns / size).toPrecision(3)) + " " + unit;
}

/* What a call can wait for: in a sentence, and on the picture. */
const WAITS = {
  turn: ["its turn at the actor", "queued"],
  try: ["an earlier try", "tried"],
  agent: ["a place among its agent's calls", "agent full"],
  tool: ["a place among its tool's calls", "tool full"],
  thread: ["a free thread", "no thread"],
  engine: ["a place among all calls", "engine full"],
  rate: ["its rate limit", "rate"],
  row: ["its row of state", "row busy"],
  place: ["what its tool needs to begin", "no place"],
  actor: ["a new actor", "actor died"],
  retry: ["its next try", "pause"],
  approval: ["approval", "approval"],
};

/* What a stretch of a call was spent on, in a sentence or as a `label`. */
function waitedFor(call, kind, label) {
  if (kind !== "order") return WAITS[kind]?.[label ? 1 : 0] ?? kind;
  const after = calls.after[call];
  if (label) return "after " + after;
  const before = calls.batch[call - calls.index[call] + after];
  const several = batches.concurrent[before] && batches.calls[before] > 1;
  return (several ? "the calls up to " : "call ") + after;
}

/* All that a call waited for, in words. */
function waitStory(call) {
  const parts = stretchesOf(call).map((wait) => duration(wait.to - wait.from) + " for " + waitedFor(call, wait.kind));
  return parts.join(", ");
}

function listName(list) {
  const agent = text(lists.agent[list]);
  return "list " + lists.run[list] + (agent ? " · " + agent : "");
}

function batchName(batch) {
  const kind = batches.concurrent[batch] ? "concurrent" : "sequential";
  return "batch " + (batches.number[batch] + 1) + " · " + kind + " · " + count(batches.calls[batch], "call");
}

/* How often each outcome occurs. */
function tally() {
  const found = new Map();
  for (let call = 0; call < callCount; call++) {
    const outcome = outcomeOf(call);
    found.set(outcome, (found.get(outcome) ?? 0) + 1);
  }
  return new Map(Object.keys(LOOKS).filter((outcome) => found.has(outcome)).map((outcome) => [outcome, found.get(outcome)]));
}
const outcomeCounts = tally();

function summary() {
  const actors = new Set(calls.actor.filter((actor) => actor !== null)).size;
  const outcomes = [...outcomeCounts].map(([outcome, number]) => counted.format(number) + " " + outcome);
  const sizes = [count(lists.run.length, "list"), count(callCount, "call"), count(actors, "actor"), duration(data.span)];
  return sizes.join(" · ") + (outcomes.length ? " · " + outcomes.join(", ") : "");
}
