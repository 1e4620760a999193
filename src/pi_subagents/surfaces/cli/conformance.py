"""`conformance`: checks an agent program against everything that an agent must do, with a scripted model and no key."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from pi_subagents.conformance import STORIES, TESTED, Result, Verdict, program_for, run_suite
from pi_subagents.harness import DEFAULT_AGENT, DEFAULT_HARNESS, Program
from pi_subagents.harness.pi.programs import command_words
from pi_subagents.place import Place
from pi_subagents.surfaces.cli.output import echo, echo_painted, print_json
from pi_subagents.text.harmless import clean

_MARKS = {
    Verdict.HOLDS: ("✓", "green"),
    Verdict.BROKEN: ("✗", "red"),
    Verdict.EXCEPTED: ("-", None),
    Verdict.UNEXPECTED: ("!", "yellow"),
}
_NAMES = (DEFAULT_AGENT, *(name for name in TESTED if name != DEFAULT_HARNESS))


@click.command()
@click.option("--agent", "name", type=click.Choice(_NAMES), required=True, help="The agent to test.")
@click.option("--program", metavar="COMMAND", help="Test this program instead of the one that runs would start.")
@click.option(
    "--story",
    "numbers",
    type=click.IntRange(1, len(STORIES)),
    multiple=True,
    metavar="N",
    help="Run only story N; can be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one document with all results.")
def conformance(name: str, program: str | None, numbers: tuple[int, ...], as_json: bool) -> None:
    """Check that an agent program does everything a sub-agent must do: thirty stories, one line for each.

    The program is the real one; only its model is scripted, so no key is needed and nothing is spent. Each story gets
    its own home directory and project. All of them take a minute or two.

    \b
    ✓  holds
    -  does not hold: a known exception of this agent
    !  holds despite a known exception: exit code 1
    ✗  does not hold: exit code 1
    """
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled

    agent = TESTED[DEFAULT_HARNESS if name == DEFAULT_AGENT else name]
    tested = _named(program) if program else program_for(agent, Place.here())
    stories = [story for story in STORIES if not numbers or story.number in numbers]
    results: list[Result] = []

    async def tell() -> None:
        async for result in run_suite(agent, tested, os.environ, stories):
            results.append(result)
            if not as_json:
                _print_result(result)

    if not as_json:
        echo(f"{name}: {shlex.join(tested.argv)}", err=True)
    try:
        run_until_signalled(tell())
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
    if as_json:
        print_json({"agent": name, "program": tested.argv, "stories": list(map(_as_json, results))})
    else:
        echo()
        echo(_summary(results))
    sys.exit(0 if all(result.verdict.is_fine for result in results) else 1)


def _named(command: str) -> Program:
    """The program of `--program`; a relative path is seen from here, not from the project of a story."""
    try:
        return Program(tuple(command_words(command, Path.cwd())), "--program")
    except ValueError as error:
        raise click.BadParameter(f"{command!r} is not a command ({error})", param_hint="--program") from None


def _print_result(result: Result) -> None:
    mark, colour = _MARKS[result.verdict]
    between = " – except: " if result.verdict is Verdict.EXCEPTED else ": "
    reason = f"{between}{result.reason}" if result.reason else ""
    echo_painted(click.style(mark, fg=colour) + clean(f" {result.story.number:2}  {result.story.title}{reason}"))


def _as_json(result: Result) -> dict[str, Any]:
    return {
        "number": result.story.number,
        "title": result.story.title,
        "verdict": result.verdict.value,
        "reason": result.reason or None,
        "seconds": round(result.seconds, 1),
    }


def _summary(results: Iterable[Result]) -> str:
    verdicts = [result.verdict for result in results]
    told = [f"{verdicts.count(Verdict.HOLDS)} of {len(verdicts)} stories hold"]
    if known := verdicts.count(Verdict.EXCEPTED):
        told.append(f"known exceptions: {known}")
    if wrong := sum(not verdict.is_fine for verdict in verdicts):
        told.append(f"not as expected: {wrong}")
    return "; ".join(told)
