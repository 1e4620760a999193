"""How soon command, MCP server and bridge answer: `./scripts/bench startup [--imports]`."""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure

PYTHON = (sys.executable, "-c", "pass")
OURS = (sys.executable, "-m", "pi_subagents")
BARE_SDK = """
import asyncio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[])

async def main():
    server = Server("bare", on_list_tools=list_tools)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

asyncio.run(main())
"""
GOAL_HELP_MS = 150.0
_HELLO = {"protocol": 1, "extension": "", "pi": "", "path": "", "mode": "print"}
_CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_GREET = [{"id": 1, "method": "hello", "params": _HELLO}]
_LIST_TOOLS: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": _CLIENT},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list", "params": {}},
]
_IMPORT = re.compile(r"^import time:\s+(\d+) \|\s+(\d+) \| (.*)$", re.MULTILINE)


def measure(rounds: int) -> dict[str, float]:
    """Median milliseconds from the start of each program to its answer; they take turns."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        ways: dict[str, Callable[[], float]] = {
            "python_ms": lambda: _wall_ms(PYTHON),
            "help_ms": lambda: _wall_ms((*OURS, "--help")),
            "bridge_ms": lambda: _answer_ms((*OURS, "bridge"), _GREET, Path(scratch)),
            "mcp_ms": lambda: _answer_ms((*OURS, "mcp"), _LIST_TOOLS, Path(scratch)),
            "mcp_sdk_ms": lambda: _answer_ms((sys.executable, "-c", BARE_SDK), _LIST_TOOLS, Path(scratch)),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds + 1):
            for name, measure_one in ways.items():
                times[name].append(measure_one())
    # The first of each only warms the caches.
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def figures(found: Mapping[str, float]) -> list[Figure]:
    """What was measured, for people."""
    python, sdk = found["python_ms"], found["mcp_sdk_ms"]
    return [
        Figure("start of Python alone", python, "ms"),
        Figure(
            "pi-subagents --help", found["help_ms"], "ms", GOAL_HELP_MS, note=f"{found['help_ms'] / python:.1f}× Python"
        ),
        Figure("bridge, until it has answered hello", found["bridge_ms"], "ms"),
        Figure(
            "MCP server, until it has listed its tools",
            found["mcp_ms"],
            "ms",
            note=f"{found['mcp_ms'] / sdk:.2f}× a server on the bare SDK",
        ),
    ]


def _answer_ms(command: Sequence[str], messages: Sequence[dict[str, Any]], folder: Path) -> float:
    """From the start of a program to its answer to the last of the messages, which are sent one after the other."""
    environ = {**with_bytecode(os.environ), "PI_AGENT_DIR": str(folder / "agent"), "HOME": str(folder)}
    start, pipe = time.perf_counter(), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd=folder, env=environ) as one:
        assert one.stdin is not None
        assert one.stdout is not None
        for message in messages:
            one.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            one.stdin.flush()
            answer = json.loads(one.stdout.readline() or b"{}") if "id" in message else {"result": None}
            if "result" not in answer:
                raise SystemExit(f"{command[-1]} did not answer {message['method']}, but: {answer}")
        took = time.perf_counter() - start
        one.stdin.close()
    return took * 1000


def slowest_imports(count: int = 20) -> str:
    """The modules that `--help` spends most time on, in microseconds: in themselves, and with what they import."""
    command = [OURS[0], "-X", "importtime", *OURS[1:], "--help"]
    done = subprocess.run(command, env=with_bytecode(os.environ), capture_output=True, text=True, check=True)
    found = [(int(own), int(total), name) for own, total, name in _IMPORT.findall(done.stderr)]
    rows = [f"{own:>8} {total:>8}  {name.strip()}" for own, total, name in sorted(found, reverse=True)[:count]]
    return "\n".join([f"{'self µs':>8} {'with all':>8}  module", *rows])


def _wall_ms(command: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=with_bytecode(os.environ), stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def with_bytecode(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which Python keeps what it compiled, as it does for users."""
    return {name: value for name, value in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How soon command, MCP server and bridge answer.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--imports", action="store_true", help="also list what --help imports")
    options = parser.parse_args()
    lines = [figure.line() for figure in figures(measure(options.rounds))]
    sys.stdout.write("\n".join([*lines, *([slowest_imports()] if options.imports else [])]) + "\n")


if __name__ == "__main__":
    main()
