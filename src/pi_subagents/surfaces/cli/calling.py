"""`call TOOL [ARGUMENTS]`: one tool for one program. It needs no parser, and so its agent is started sooner."""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from typing import Any

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.lazy import without
from pi_subagents.place import Place
from pi_subagents.surfaces.cli.output import echo, print_json
from pi_subagents.surfaces.cli.process import run_to_exit_code
from pi_subagents.tools import AT_ONCE, TOOLS, ToolContext, ToolResult, call_tool


def main() -> None:
    """Do what the words after `call` say."""
    tool, arguments = [*sys.argv[2:], "{}"][:2]
    if not _is_quick(tool):
        with without("ssl"):  # an event loop looks for it, but agents are not spoken to over TLS
            import asyncio  # noqa: F401
        from pi_subagents.surfaces.cli.logs import set_up_logging

        set_up_logging(0, None)
    sys.exit(run_to_exit_code(lambda: call_and_print(tool, arguments)))


def call_and_print(tool: str, arguments: str, *, trust: bool = False) -> int:
    """Call a tool and print its result; returns the exit code."""
    result = _result(tool, sys.stdin.read() if arguments == "-" else arguments, Place.here(trusts_project=trust))
    for warning in result.details.get("warnings", ()):
        echo(f"warning: {warning}", err=True)
    print_json(result.to_json())
    return 1 if result.is_error else 0


def _result(tool: str, text: str, place: Place) -> ToolResult:
    try:
        arguments = decode_json(text or "{}", object)
    except JsonError as error:
        return ToolResult(f"The arguments are not valid JSON: {error}", is_error=True)
    work = call_tool(tool, arguments, ToolContext(place, answer_when_cancelled=True))
    if _is_quick(tool):
        return _at_once(work)
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled

    try:
        return run_until_signalled(work)
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)


def _is_quick(tool: str) -> bool:
    """Whether there is nothing to wait for in a call, not even where there is no such tool."""
    return tool in AT_ONCE or tool not in TOOLS


def _at_once(work: Coroutine[Any, Any, ToolResult]) -> ToolResult:
    """The result of a call that does not wait for anything."""
    try:
        work.send(None)
    except StopIteration as done:
        result: ToolResult = done.value
        return result
    raise AssertionError("a tool that says it never waits has waited")
