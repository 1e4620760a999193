"""Tasks of people as background runs: started together, and told by the ids that every command takes."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.core import ParameterSource

from pi_subagents.background.launch import launch_all
from pi_subagents.delegation.missing import require_everything
from pi_subagents.models import Task, short_id
from pi_subagents.place import Place
from pi_subagents.runs.forms import background_row
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.notices import OWNER
from pi_subagents.surfaces.cli.output import echo

_FOREGROUND_ONLY = {
    "plain": "background agents show no progress",
    "tmux": "background agents have no pane",
    "quiet": "no answer is printed",
    "output": "there are no answers to write yet",
    "jobs": "the setting subagents.maxBackground limits how many run at once",
}


def refuse_foreground_options(context: click.Context) -> None:
    """Raise UsageError for what was asked for and only makes sense where somebody waits."""
    for name, why in _FOREGROUND_ONLY.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} cannot be used with --background: {why}")


def start_in_background(tasks: Sequence[Task], place: Place, *, profile: str | None, as_json: bool) -> None:
    """Start a run for every task, or none, and say which; raises PiSubagentsError."""
    runs = launch_all(tasks, place, owner=OWNER, default_profile=profile, check=require_everything)
    notes = [run.state.note for run in runs if run.state.note]
    for warning in dict.fromkeys([*place.settings().warnings, *notes]):
        echo(f"warning: {warning}", err=True)
    if as_json:
        print_json([background_row(run) for run in runs])
        return
    agents = {run.state.agent for run in runs}
    agent = agents.pop() if len(agents) == 1 else None
    elsewhere = place.project != Place.here().project
    say_started([run.state.session_id for run in runs], agent, elsewhere=elsewhere)


def say_started(session_ids: Sequence[str], agent: str | None, *, elsewhere: bool = False) -> None:
    """Print the ids of runs that were started, and what to do next; `elsewhere`: in another project than this."""
    for session_id in session_ids:
        echo(short_id(session_id))
    named = f' "{agent}"' if agent else ""
    if len(session_ids) == 1:
        echo(f"Started{named or ' an agent'} in the background.", err=True)
        echo(f"hint: watch it with 'pi-subagents background attach {short_id(session_ids[0])}'", err=True)
    else:
        everywhere = " --all" if elsewhere else ""
        echo(f"Started {len(session_ids)}{named} agents in the background.", err=True)
        echo(f"hint: check on them with 'pi-subagents background list{everywhere}'", err=True)
