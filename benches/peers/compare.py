#!/usr/bin/env python3
"""What a tool call costs here and elsewhere: the same lists of trivial calls by toolyard, by bare actor crates, by rig
and by Python packages.

    benches/peers/compare.py [ROUNDS]

Installs the Python packages in venvs under target/peers and builds `rust/` there (a few minutes and 2 GB the first
time), then runs every program once in each round (5 unless told otherwise), in shuffled order and one at a time, and
prints one table of medians. A program prints its CPU time per call, so that other work of the machine counts little.
"""
import datetime
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE.parents[1] / "target" / "peers"
LISTS = [1, 10, 100, 1_000]
TOOLS = 8

# What to install; the name is also that of the venv.
PYTHON = {
    "evofabric": ["evofabric==0.1.4", "mcp<2"],  # does not import with a later mcp
    "langgraph": ["langgraph==1.2.24"],
    "openai-agents": ["openai-agents==0.24.0"],
    "autogen-core": ["autogen-core==0.7.5"],
}

# Modes of the Rust program, and modes or venvs with the names that the table shows.
RUST = ["toolyard", "toolyard-message", "toolyard-text", "actix", "actix-text", "ractor", "kameo", "rig"]
TITLES = {
    "toolyard": "toolyard, in the calling task",
    "toolyard-message": "toolyard, by message",
    "toolyard-text": "toolyard, from the list's text",
    "actix": "actix {actix}, bare `send`",
    "actix-text": "actix {actix}, bare `send`, from the list's text",
    "ractor": "ractor {ractor}, bare call",
    "kameo": "kameo {kameo}, bare `ask`",
    "rig": "rig {rig-core}, `ErasedTool`, one after another",
    "openai-agents": "openai-agents {openai-agents}, `FunctionTool`",
    "evofabric": "EvoFabric {evofabric}, `call_tools`",
    "autogen-core": "autogen-core {autogen-core}, `StaticWorkbench`",
    "langgraph": "LangGraph {langgraph}, graph of one `ToolNode`",
}


def write_lists():
    """Writes the lists as a provider sends them: arguments are a text within the text."""
    folder = WORK / "lists"
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for count in LISTS:
        calls = []
        for i in range(count):
            function = {"name": f"tool_{i % TOOLS}", "arguments": json.dumps({"a": i + 0.5, "b": 2})}
            calls.append({"id": f"call_{i}", "type": "function", "function": function})
        paths.append(folder / f"{count}.json")
        paths[-1].write_text(json.dumps(calls))
    return paths


def install(name):
    """Makes the venv of a package once, and again when what it should hold has changed."""
    venv, wanted = WORK / name, "\n".join(PYTHON[name])
    done = venv / "installed.txt"
    if not done.exists() or done.read_text() != wanted:
        print(f"installing {name}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        pip = [venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PYTHON[name]], check=True)
        done.write_text(wanted)
    return [venv / "bin" / "python", HERE / "python_peers.py", name]


def build():
    """Builds the Rust program."""
    manifest, target = HERE / "rust" / "Cargo.toml", WORK / "rust"
    command = ["cargo", "build", "--release", "--manifest-path", manifest, "--target-dir", target]
    subprocess.run(command, check=True)
    return target / "release" / "peers"


def measure(command, lists):
    """Runs a program and gives its nanoseconds per call, one number for each list."""
    run = subprocess.run([*command, *lists], check=True, stdout=subprocess.PIPE, text=True)
    figures = [float(line) for line in run.stdout.split()]
    if len(figures) != len(lists):
        sys.exit(f"{command[0]} printed {run.stdout!r}, not {len(lists)} numbers")
    return figures


def versions():
    """The exact versions that both sides ask for."""
    pins = re.findall(r'^([\w-]+) = .*?"=([\d.]+)"', (HERE / "rust" / "Cargo.toml").read_text(), re.MULTILINE)
    return dict(pins) | {name: wanted[0].split("==")[1] for name, wanted in PYTHON.items()}


def machine():
    """The processor as Linux names it."""
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.*)", info.read_text()) if info.exists() else None
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} processors, {platform.system()}"


def show(figures, rounds, load):
    """Prints the table, cheapest long lists first, and how it was made."""
    medians = {name: [statistics.median(column) for column in zip(*runs)] for name, runs in figures.items()}
    print("| CPU time per call, µs | " + " | ".join(f"list of {count:,}" for count in LISTS) + " |")
    print("|---|" + "---:|" * len(LISTS))
    for name in sorted(medians, key=lambda name: medians[name][-1]):
        cells = [f"{ns / 1000:.2f}" if ns < 10_000 else f"{ns / 1000:.0f}" for ns in medians[name]]
        print(f"| {TITLES[name].format(**versions())} | {' | '.join(cells)} |")
    spread = max(max(column) / min(column) for runs in figures.values() for column in zip(*runs))
    rustc = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    print(f"""
{datetime.date.today()}, {machine()}, rustc {rustc} (release, thin LTO, the system's allocator), \
Python {platform.python_version()}.
From calls in memory (arguments are JSON text), or from the text of a provider's list where a row says so, to a text \
for each call. {TOOLS} tools that add two numbers; starting up is not counted.
Medians of {rounds} processes each, interleaved; the largest of a cell's processes was at most {spread:.2f} times its \
smallest; load average {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after.""")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    lists = write_lists()
    commands = {name: install(name) for name in PYTHON}
    program = build()
    commands |= {mode: [program, mode] for mode in RUST}
    figures = {name: [] for name in commands}
    load = os.getloadavg()
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", file=sys.stderr)
        for name in random.sample(list(commands), len(commands)):
            figures[name].append(measure(commands[name], lists))
    show(figures, rounds, load)


main()
