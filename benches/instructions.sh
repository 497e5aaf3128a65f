#!/usr/bin/env bash
# Counts instructions per call with callgrind: a plain loop, raw actix `send`, and the engine (driven in the calling
# task, or by message), for lists of 1 and of 1,000 from their text to their results. A count is the difference of two runs, so that starting up is not in it. Needs valgrind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v valgrind > /dev/null || { echo "valgrind is missing: apt-get install valgrind"; exit 1; }

program=$(cargo bench --bench instructions --no-run --message-format=json 2> /dev/null |
  grep '"name":"instructions"' | grep -o '"executable":"[^"]*"' | cut -d'"' -f4)

# count WHAT CALLS LISTS: instructions of one whole run.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

printf '%-8s %8s %14s\n' what calls instructions/call
for calls in 1 1000; do
  few=$((calls == 1 ? 100 : 2)) many=$((calls == 1 ? 1100 : 12))
  for what in loop actix task message; do
    per_call=$((($(count "$what" "$calls" "$many") - $(count "$what" "$calls" "$few")) / ((many - few) * calls)))
    printf '%-8s %8d %14d\n' "$what" "$calls" "$per_call"
  done
done
