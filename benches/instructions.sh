#!/usr/bin/env bash
# Counts instructions per call with callgrind: a plain loop, raw actix `send`, and the engine (driven in the calling
# task, or by message), for lists of 1 and of 1,000 from their text to their results; then calls to an MCP server by
# bare rmcp and through the engine, 1, 100 and 1,000 at once. A count is the difference of two runs, so that starting up
# is not in it. Needs valgrind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v valgrind > /dev/null || { echo "valgrind is missing: apt-get install valgrind"; exit 1; }

# program_of BENCH: builds it and gives its path.
program_of() {
  cargo bench --bench "$1" --no-run --message-format=json 2> /dev/null |
    grep "\"name\":\"$1\"" | grep -o '"executable":"[^"]*"' | cut -d'"' -f4
}

# count PROGRAM ARGUMENT…: instructions of one whole run.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

# per_call WHAT CALLS FEW MANY PROGRAM…: prints what a call takes, from FEW and MANY lists of CALLS.
per_call() {
  local what=$1 calls=$2 few=$3 many=$4
  shift 4
  local difference=$(($(count "$@" "$what" "$calls" "$many") - $(count "$@" "$what" "$calls" "$few")))
  printf '%-8s %8d %14d\n' "$what" "$calls" $((difference / ((many - few) * calls)))
}

program=$(program_of instructions)
mcp=$(program_of mcp)

printf '%-8s %8s %14s\n' what calls instructions/call
for calls in 1 1000; do
  few=$((calls == 1 ? 100 : 2)) many=$((calls == 1 ? 1100 : 12))
  for what in loop actix task message; do
    per_call "$what" "$calls" "$few" "$many" "$program"
  done
done
for calls in 1 100 1000; do
  few=$((calls == 1 ? 100 : 2)) many=$((calls == 1 ? 1100 : 12))
  for what in rmcp mcp; do
    per_call "$what" "$calls" "$few" "$many" "$mcp" count
  done
done
