#!/usr/bin/env bash
# Fails when calls take more instructions, or an agent's row more memory, than they did, by more than a margin.
# Instructions are held against bare actix `send` in the same run, so that a new compiler moves both. Needs valgrind.
#
# To move a limit: say in the commit what got dearer and why it must.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source benches/count.sh

# Hundredths of what actix takes, from a list's text to its results; measured 2026-12-01: 206, 246, 93. The first was
# 205 while each tool carried its way to its actor: now the way is looked up, so that the catalogue knows no actors.
of_one_in_task=210
of_one_by_message=250
of_a_thousand=100
# Bytes of a row beside its state of 4 bytes, at 100,000 agents; measured 2026-11-30: 44.
of_a_row=60

failed=0
# check WHAT MEASURED LIMIT
check() {
  printf '%-55s %6d, at most %d\n' "$@"
  if (($2 > $3)); then failed=1; fi
}

program=$(program_of instructions --no-default-features)
actix=([1]=$(per_call actix 1 "$program") [1000]=$(per_call actix 1000 "$program"))
# check_list CALLS WHAT LIMIT
check_list() {
  check "list of $1, by $2: % of actix" $((100 * $(per_call "$2" "$1" "$program") / actix[$1])) "$3"
}
check_list 1 task $of_one_in_task
check_list 1 message $of_one_by_message
check_list 1000 task $of_a_thousand

million=$(program_of million --no-default-features)
row=$("$million" engine 100000 0 | sed -n 's/^set up .* \([0-9]*\) bytes more for each agent.*/\1/p')
check "an agent's row: bytes" "$row" $of_a_row
exit $failed
