"""`background start`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from pi_subagents.errors import InvalidCall
from pi_subagents.planning import Place
from pi_subagents.profiles import load_presets
from pi_subagents.surfaces.cli.catalogs import complete
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.notices import OWNER
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.trust import trust_option
from pi_subagents.tools import ToolContext, call_tool


@click.command()
@click.argument("preset", shell_complete=lambda _ctx, _param, start: complete(load_presets, start))
@click.argument("task")
@click.option("--model", help="Another model than the preset's.")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where the agent works; default: here.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run and how many there are as JSON.")
@trust_option
def start(preset: str, task: str, model: str | None, cwd: Path | None, as_json: bool, trust: bool) -> None:
    """Start an agent of PRESET on TASK, print the id of its run and return at once.

    A TASK of - is read from standard input. The agent goes on when this terminal is closed; if more than
    subagents.maxBackground work already, it waits for its turn. Exit code 0 if it was started, 1 if not.
    """
    asked = {"preset": preset, "task": sys.stdin.read() if task == "-" else task, "model": model}
    asked["cwd"] = str(cwd.absolute()) if cwd is not None else None
    context = ToolContext(Place.here(trusts_project=trust), owner=OWNER)
    result = asyncio.run(call_tool("background_agent", asked, context))
    if result.is_error:
        raise InvalidCall(result.text)
    if as_json:
        print_json(result.details)
        return
    run = result.details["run"]
    echo(run["runId"])
    echo(f'Started "{preset}" in the background, session {run["sessionId"]}.', err=True)
    echo(f"hint: 'pi-subagents background attach {run['sessionId'][:8]}' shows it at work", err=True)
