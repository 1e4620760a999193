"""`call` and `tools`: the tools as a program sees them. Standard output carries one JSON document and nothing else."""

from __future__ import annotations

import sys

import click

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.place import Place
from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
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
    context = ToolContext(place, answer_when_cancelled=True)
    try:
        return run_until_signalled(call_tool(tool, arguments, context))
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)


@click.command()
def tools() -> None:
    """Print the tools' names, descriptions and JSON Schemas as one JSON document."""
    print_json([tool.to_json() for tool in TOOLS.values()])
