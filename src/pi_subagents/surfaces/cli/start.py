"""`background start`, and `run --background`: tasks started together, and told by the ids that every command takes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from pi_subagents.background.launch import launch_all
from pi_subagents.delegation.missing import require_everything
from pi_subagents.delegation.offered_models import with_default_models
from pi_subagents.delegation.prompts import task_name
from pi_subagents.models import Task, short_id
from pi_subagents.place import Place
from pi_subagents.profiles import PRESET, UnknownProfile, find_agent
from pi_subagents.runs.background import TERMINAL, Registry, counts
from pi_subagents.runs.forms import background_row, run_row
from pi_subagents.surfaces.cli.options import agent_option, complete_agent, cwd_option, model_option, trust_option
from pi_subagents.surfaces.cli.output import echo, print_json
from pi_subagents.surfaces.cli.tasks import read_asked

_FOREGROUND_ONLY = {
    "plain": "background agents show no progress",
    "tmux": "background agents have no pane",
    "quiet": "no answer is printed",
    "output": "there are no answers to write yet",
    "jobs": "the setting subagents.maxBackground limits how many run at once",
}


@click.command()
@click.argument("profile", shell_complete=complete_agent)
@click.argument("task")
@model_option("Use this model instead of the one that PROFILE sets.")
@agent_option("Use this agent instead of the one that PROFILE sets: pi, claude, codex, …")
@cwd_option("this one")
@click.option("--json", "as_json", is_flag=True, help="Print the run and the run counts as JSON.")
@trust_option
def start(
    profile: str,
    task: str,
    model: str | None,
    programs: tuple[str, ...],
    cwd: Path | None,
    as_json: bool,
    trust: bool,
) -> None:
    """Start TASK with PROFILE, a preset or a profile, print its run id and return immediately.

    A TASK of - is read from standard input. The agent keeps running when this terminal closes. If
    subagents.maxBackground agents are already running, it waits for a slot. A preset without a model uses pi's default.
    Exit code 0 if it started, 2 if something it names does not exist, 1 if it could not be started.
    """
    say, place = partial(echo, err=True), Place.here(trusts_project=trust)
    text = read_asked(say) if task == "-" else task
    directory = str(cwd.absolute()) if cwd is not None else None
    agent = next(iter(programs), None)
    asked = Task(task_name(text), text, preset=profile, model=model, cwd=directory, timeout=None, agent=agent)
    (run,) = launch_all(with_default_models([asked], place, say), place, owner=TERMINAL, check=require_everything)
    if as_json:
        print_json({"run": run_row(run), "counts": counts(Registry(place, TERMINAL).runs())})
        return
    for warning in filter(None, [*place.settings().warnings, run.state.note]):
        say(f"warning: {warning}")
    with suppress(UnknownProfile):  # its file may be gone by now, the run is not
        found = find_agent(profile, PRESET, place.cwd, place.agent_dir)
        say(f'"{profile}" is a {found.kind.word} ({found.profile.scope}).')
    say_started([run.state.session_id], profile)


def refuse_foreground_options(context: click.Context) -> None:
    """Raise UsageError for what was asked for and only makes sense where somebody waits."""
    for name, why in _FOREGROUND_ONLY.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} cannot be used with --background: {why}")


def start_in_background(tasks: Sequence[Task], place: Place, *, profile: str | None, as_json: bool) -> None:
    """Start a run for every task, or none, and say which; raises PiSubagentsError."""
    runs = launch_all(tasks, place, owner=TERMINAL, default_profile=profile, check=require_everything)
    notes = [run.state.note for run in runs if run.state.note]
    for warning in dict.fromkeys([*place.settings().warnings, *notes]):
        echo(f"warning: {warning}", err=True)
    if as_json:
        print_json([background_row(run) for run in runs])
        return
    agents = {run.state.asked_as or run.state.other_agent for run in runs}
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
