# For scripts that count instructions with callgrind: to be read by bash in the project's folder.
# shellcheck shell=bash

command -v valgrind > /dev/null || { echo "valgrind is missing: apt-get install valgrind"; exit 1; }

# program_of BENCH [OPTION…]: builds it and gives its path.
program_of() {
  cargo bench --locked --bench "$@" --no-run --message-format=json-render-diagnostics |
    grep "\"name\":\"$1\"" | grep -o '"executable":"[^"]*"' | cut -d'"' -f4
}

# count PROGRAM ARGUMENT…: instructions of one whole run.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

# per_call WHAT CALLS PROGRAM…: instructions of a call in a list of CALLS. The difference of two runs, so that starting
# up is not in it.
per_call() {
  local what=$1 calls=$2 few=2 many=12
  shift 2
  if ((calls == 1)); then few=100 many=1100; fi
  local difference=$(($(count "$@" "$what" "$calls" "$many") - $(count "$@" "$what" "$calls" "$few")))
  echo $((difference / ((many - few) * calls)))
}
