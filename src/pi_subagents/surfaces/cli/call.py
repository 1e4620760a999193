"""`call` and `tools`: the tools as a program sees them. Standard output carries one JSON document and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from typing import Any

import click

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.place import Place
from pi_subagents.surfaces.cli.options import trust_option
from pi_subagents.surfaces.cli.output import echo, print_json
from pi_subagents.tools import TOOLS, ToolContext, ToolResult, call_tool


@click.command()
@click.argument("tool")
@click.argument("arguments", required=False, default="{}")
@trust_option
def call(tool: str, arguments: str, trust: bool) -> None:
    """Call TOOL with ARGUMENTS, a JSON object, or - to read it from standard input.

    Prints one JSON object {"content": [...], "details": {...}, "isError": false}; exit code 1 when isError.
    """
    result = _result(tool, sys.stdin.read() if arguments == "-" else arguments, Place.here(trusts_project=trust))
    for warning in result.details.get("warnings", ()):
        echo(f"warning: {warning}", err=True)
    print_json(result.to_json())
    sys.exit(1 if result.is_error else 0)


def _result(tool: str, text: str, place: Place) -> ToolResult:
    try:
        arguments = decode_json(text or "{}", object)
    except JsonError as error:
        return ToolResult(f"The arguments are not valid JSON: {error}", is_error=True)
    work = call_tool(tool, arguments, ToolContext(place, answer_when_cancelled=True))
    if tool not in TOOLS or not TOOLS[tool].waits:
        return _at_once(work)
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled  # what brings an event loop with it

    try:
        return run_until_signalled(work)
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)


def _at_once(work: Coroutine[Any, Any, ToolResult]) -> ToolResult:
    """The result of a call that does not wait for anything."""
    try:
        work.send(None)
    except StopIteration as done:
        result: ToolResult = done.value
        return result
    raise AssertionError("a tool that says it never waits has waited")


@click.command()
def tools() -> None:
    """Print the tools' names, descriptions and JSON Schemas as one JSON document."""
    print_json([tool.to_json() for tool in TOOLS.values()])
