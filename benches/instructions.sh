#!/usr/bin/env bash
# Counts instructions per call with callgrind: a plain loop, raw actix `send`, and the engine (driven in the calling
# task, or by message), for lists of 1 and of 1,000 from their text to their results; then calls to an MCP server by
# bare rmcp and through the engine, 1, 100 and 1,000 at once. Needs valgrind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source benches/count.sh

program=$(program_of instructions)
mcp=$(program_of mcp)

# row WHAT CALLS PROGRAM…
row() {
  printf '%-8s %8d %14d\n' "$1" "$2" "$(per_call "$@")"
}

printf '%-8s %8s %14s\n' what calls instructions/call
for calls in 1 1000; do
  for what in loop actix task message; do
    row "$what" "$calls" "$program"
  done
done
for calls in 1 100 1000; do
  for what in rmcp mcp; do
    row "$what" "$calls" "$mcp" count
  done
done
