"""How soon the MCP server answers, beside a minimal server on the bare SDK: `./scripts/bench mcp`."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.startup import with_bytecode

BARE = """
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
SERVERS = {
    "bare SDK": (sys.executable, "-c", BARE),
    "pi-subagents": (sys.executable, "-m", "pi_subagents", "mcp"),
}
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Median milliseconds of both servers, which take turns."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in SERVERS}
    for _ in range(rounds + 1):
        for name, command in SERVERS.items():
            times[name].append(answer_times(command))
    # The first of each only warms the caches.
    both = {name: _medians(rows[1:]) for name, rows in times.items()}
    return {name: {"initialize_ms": greeted, "tools_ms": listed} for name, (greeted, listed) in both.items()}


def main() -> None:
    """Measure in turns and print a table of medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    medians = {name: tuple(found.values()) for name, found in measure(parser.parse_args().rounds).items()}
    lines = [f"{'from spawn to the answer of':32}{'initialize':>14}{'tools/list':>14}"]
    lines += [f"{name:32}{greeted:>11.0f} ms{listed:>11.0f} ms" for name, (greeted, listed) in medians.items()]
    ratios = [ours / bare for ours, bare in zip(medians["pi-subagents"], medians["bare SDK"], strict=True)]
    lines.append(f"{'ratio':32}{ratios[0]:>13.2f}×{ratios[1]:>13.2f}×")
    sys.stdout.write("\n".join(lines) + "\n")


def _medians(rows: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(row[0] for row in rows), statistics.median(row[1] for row in rows)


def answer_times(command: Sequence[str]) -> tuple[float, float]:
    """Milliseconds from the start of a server to its answers to `initialize` and then to `tools/list`."""
    start = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=with_bytecode(os.environ)
    ) as server:
        greeted = _ask(server, 1, "initialize", CLIENT) - start
        _say(server, {"method": "notifications/initialized"})
        listed = _ask(server, 2, "tools/list", {}) - start
        assert server.stdin is not None
        server.stdin.close()
    return greeted * 1000, listed * 1000


def _ask(server: subprocess.Popen[bytes], number: int, method: str, params: object) -> float:
    _say(server, {"id": number, "method": method, "params": params})
    assert server.stdout is not None
    answer = json.loads(server.stdout.readline())
    assert "result" in answer, answer
    return time.perf_counter()


def _say(server: subprocess.Popen[bytes], message: dict[str, object]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


if __name__ == "__main__":
    main()
