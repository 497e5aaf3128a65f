#!/usr/bin/env bash
# Checks the whole project. `tests/run.sh` runs every step, `tests/run.sh lint docs` only those checks.
#
# To add a step: write a function `step_NAME` and put NAME into `setup` (installs something) or `checks` below.
# Each step runs in a shell of its own that stops at the first error. A failed setup step ends the run; a failed
# check does not keep the others from running, and the last lines name all that failed.
#
# Runs on Debian with a Rust toolchain, as root when something has to be installed. Settings, by environment:
#   CARGO_TARGET_DIR      as for cargo; default: target
#   TOOLYARD_TEST_VENVS   folder of the Python environments `venv-NAME`, where tests look for them; default: target
#   TOOLYARD_TEST_TOOLS   folder of the cargo tools that this script builds; default: target/tools
# shellcheck disable=SC2317 # steps are called by their names
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

setup=(packages tools venvs npm docker)
checks=(format lint features licences test chaos kills doctest docs manual examples readme costs package)

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
export TOOLYARD_TEST_VENVS=${TOOLYARD_TEST_VENVS:-$PWD/target}
export TOOLYARD_TEST_TOOLS=${TOOLYARD_TEST_TOOLS:-$PWD/target/tools}
export PATH=$TOOLYARD_TEST_TOOLS/bin:$PATH
# Every build takes the same features, so that dependencies are built once.
workspace=(--workspace --all-features --locked)

step_packages() {
  local missing=()
  command -v cc > /dev/null || missing+=(build-essential)
  python3 -c 'import ensurepip, venv' 2> /dev/null || missing+=(python3 python3-venv python3-pip)
  command -v npm > /dev/null || missing+=(nodejs npm)
  command -v git > /dev/null || missing+=(git)
  command -v valgrind > /dev/null || missing+=(valgrind)
  command -v chromium > /dev/null || missing+=(chromium fonts-dejavu-core)
  if ((${#missing[@]} == 0)); then return; fi
  apt_install "${missing[@]}"
}

step_tools() {
  cargo_tool nextest 0.9.143 --no-default-features --features default-no-update
  cargo_tool deny 0.20.2
}

step_venvs() {
  # bfcl-eval without its dependencies: only its data files and API classes are used, and those need mpmath alone.
  venv bfcl --no-deps bfcl-eval==2026.3.23 mpmath==1.3.0
  # The judge of schemas from Python signatures.
  venv pydantic pydantic==2.14.4 jsonschema==4.26.0 typing_extensions==4.16.0 numpy==2.4.6
  # Agent frameworks whose tools are tools here.
  venv frameworks langchain-core==1.8.3 openai-agents==0.24.0 pydantic-ai-slim==2.68.0
  # What the manual is built with.
  venv docs mkdocs-material==9.8.2
  # MCP servers on both generations of the SDK.
  venv mcp1 mcp==1.30.0
  venv mcp2 mcp==2.3.0 mcp-server-time==2026.10.19 mcp-server-git==2026.10.19
  # MCP servers on what most are made with in Python.
  venv fastmcp fastmcp==4.2.3
}

step_npm() {
  # MCP servers that people use, and the SDK that they and a server of our own are made with.
  npm_folder mcp @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server-everything@2026.8.31 \
    @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31
  # The conformance suite of MCP, and the Node that it needs, which is newer than Debian's.
  npm_folder conformance @modelcontextprotocol/conformance@0.2.0-alpha.12 \
    "node-linux-$(node -p process.arch)@22.23.5"
}

# A daemon, and the image of sandboxes, which our own program makes.
step_docker() {
  if ! command -v docker > /dev/null || ! docker info > /dev/null 2>&1; then
    command -v dockerd > /dev/null || apt_install docker.io
    setsid nohup dockerd < /dev/null > "${TMPDIR:-/tmp}/dockerd.log" 2>&1 &
    timeout 60 bash -c 'until docker info > /dev/null 2>&1; do sleep 0.5; done' || {
      tail "${TMPDIR:-/tmp}/dockerd.log"
      return 1
    }
  fi
  [[ -n "$(apt-cache madison python3-minimal)" ]] || apt-get update -qq
  cargo run --quiet --all-features --locked -- sandbox build
}

step_format() {
  cargo fmt --all --check
}

step_lint() {
  cargo clippy "${workspace[@]}" --all-targets -- -D warnings
  # Those who embed the engine build it so.
  cargo clippy --workspace --no-default-features --locked -- -D warnings
}

# Each feature alone: one that leans on another without saying so is found here.
step_features() {
  local package feature
  while read -r package feature; do
    echo "$package with $feature alone"
    # Not by RUSTFLAGS, which would build every dependency anew. What one feature leaves unused another one uses.
    cargo clippy --package "$package" --no-default-features --features "$feature" --locked -- -D warnings \
      -A clippy::unused_self -A clippy::unused_async -A clippy::unnecessary_wraps -A clippy::unit_arg
  done < <(cargo metadata --format-version 1 --no-deps --locked | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    for feature in package["features"]:
        print(package["name"], feature)
')
}

step_licences() {
  cargo deny check bans licenses sources
}

step_test() {
  cargo nextest run "${workspace[@]}" --profile ci
}

# Takes a minute by itself, so that it is no part of the tests that people run all day.
step_chaos() {
  cargo nextest run --all-features --locked --run-ignored only --no-capture -E 'test(mcp::chaos)'
}

# Less than half a minute. The long form takes three: TOOLYARD_TEST_KILLS=20000 tests/run.sh kills
step_kills() {
  cargo nextest run --all-features --locked --run-ignored only --no-capture -E 'test(mcp::kills)'
}

step_doctest() {
  cargo test "${workspace[@]}" --doc
}

step_docs() {
  RUSTDOCFLAGS="-D warnings" cargo doc "${workspace[@]}" --no-deps
}

# The manual builds, and each of its links leads somewhere.
step_manual() {
  NO_MKDOCS_2_WARNING=1 "$TOOLYARD_TEST_VENVS/venv-docs/bin/mkdocs" build --strict --quiet --site-dir "$CARGO_TARGET_DIR/manual"
}

# Every example ends by itself, without input.
step_examples() {
  local path name
  for path in examples/*.rs examples/*/main.rs; do
    [[ -e $path ]] || continue
    name=${path#examples/} name=${name%/main.rs} name=${name%.rs}
    echo "example $name"
    cargo build --all-features --locked --example "$name"
    timeout 120 cargo run --quiet --all-features --locked --example "$name"
  done
}

# What the README tells a newcomer to type works.
step_readme() {
  local commands command
  mapfile -t commands < <(grep -E '^cargo run ' README.md)
  ((${#commands[@]} > 0)) || { echo "README.md has no line that begins with \`cargo run\`"; return 1; }
  for command in "${commands[@]}"; do
    echo "$command"
    bash -c "$command"
  done
}

# Calls take no more instructions and rows no more memory than they did.
step_costs() {
  bash benches/guard.sh
}

# Packs every crate, and checks that the packages build from what is in them. Not by cargo's own verification: for a
# version that it has seen it takes the package that an earlier run unpacked and built.
step_package() {
  local unpacked=$CARGO_TARGET_DIR/package/unpacked package
  rm -rf "$CARGO_TARGET_DIR/package"
  cargo package --workspace --locked --allow-dirty --no-verify
  mkdir "$unpacked"
  for package in "$CARGO_TARGET_DIR"/package/*.crate; do
    tar --extract --touch --file "$package" --directory "$unpacked"
  done
  cp Cargo.lock "$unpacked"
  (
    printf '[workspace]\nresolver = "3"\nmembers = ["*-[0-9]*"]\n[patch.crates-io]\n'
    for package in "$unpacked"/*/; do
      package=$(basename "$package")
      echo "${package%%-[0-9]*} = { path = \"$package\" }"
    done
  ) > "$unpacked/Cargo.toml"
  CARGO_PROFILE_DEV_DEBUG=false cargo check --workspace --manifest-path "$unpacked/Cargo.toml"
}

# apt_install PACKAGE…
apt_install() {
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# cargo_tool NAME VERSION [OPTION…]: builds cargo-NAME unless some version of it is there. Unoptimised, as that is the
# quickest way to a program that runs for a second.
cargo_tool() {
  if cargo "$1" --version 2> /dev/null; then return; fi
  CARGO_TARGET_DIR=$TOOLYARD_TEST_TOOLS/build CARGO_PROFILE_DEV_DEBUG=false \
    cargo install --debug --locked --root "$TOOLYARD_TEST_TOOLS" "cargo-$1@$2" "${@:3}"
  rm -rf "$TOOLYARD_TEST_TOOLS/build"
}

# venv NAME PIP-ARGUMENT…: makes the Python environment venv-NAME, anew when its arguments or Python changed.
venv() {
  local folder=$TOOLYARD_TEST_VENVS/venv-$1 wanted
  wanted="$(python3 --version) ${*:2}"
  if [[ "$(cat "$folder/made-with" 2> /dev/null)" == "$wanted" ]] && "$folder/bin/python" --version; then return; fi
  echo "making $folder with ${*:2}"
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
  echo "$wanted" > "$folder/made-with"
}

# npm_folder NAME PACKAGE…: installs packages into npm-NAME, anew when they changed.
npm_folder() {
  local folder=$TOOLYARD_TEST_VENVS/npm-$1 wanted=${*:2}
  if [[ "$(cat "$folder/made-with" 2> /dev/null)" == "$wanted" ]]; then return; fi
  mkdir -p "$folder"
  npm install --silent --no-audit --no-fund --prefix "$folder" "${@:2}"
  echo "$wanted" > "$folder/made-with"
}

failed=()
passed=0

# run STEP: runs it, says how long it took, and counts it.
run() {
  local begun=$SECONDS status
  printf '\n== %s\n' "$1"
  (set -e; "step_$1") < /dev/null # not under an `if`, which would switch -e off
  status=$?
  if ((status == 0)); then
    passed=$((passed + 1))
    echo "-- $1: ok, $((SECONDS - begun)) s"
  else
    failed+=("$1")
    echo "-- $1: FAILED with status $status, $((SECONDS - begun)) s"
  fi
}

# Ends the run with what came of it.
finish() {
  printf '\n%s s in all, failed: %s\nsteps: %s passed, %s failed\n' \
    "$SECONDS" "${failed[*]:-none}" "$passed" "${#failed[@]}"
  exit $((${#failed[@]} > 0))
}

(($# == 0)) || checks=("$@")
for step in "${checks[@]}"; do
  declare -F "step_$step" > /dev/null || { echo "no step is named $step" >&2; exit 2; }
done
for step in "${setup[@]}"; do
  run "$step"
  ((${#failed[@]} == 0)) || finish
done
for step in "${checks[@]}"; do
  run "$step"
done
finish
