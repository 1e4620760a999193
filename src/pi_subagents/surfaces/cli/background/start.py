"""`background start`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from pi_subagents.background.launch import launch_all
from pi_subagents.delegation.missing import require_everything
from pi_subagents.delegation.program_facts import with_default_models
from pi_subagents.delegation.prompts import task_name
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.profiles import PRESET, UnknownProfile, find_agent
from pi_subagents.runs.background import Registry, counts
from pi_subagents.runs.forms import run_row
from pi_subagents.surfaces.cli.background.starting import say_started
from pi_subagents.surfaces.cli.catalogs import complete_agent, complete_model
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.notices import OWNER
from pi_subagents.surfaces.cli.output import remarks
from pi_subagents.surfaces.cli.standard_input import read_asked
from pi_subagents.surfaces.cli.trust import trust_option


@click.command()
@click.argument("agent", shell_complete=complete_agent)
@click.argument("task")
@click.option(
    "--model", metavar="PROVIDER/ID", shell_complete=complete_model, help="Use this model instead of the agent's own."
)
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory to work in (default: this one).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run and the run counts as JSON.")
@trust_option
def start(agent: str, task: str, model: str | None, cwd: Path | None, as_json: bool, trust: bool) -> None:
    """Start AGENT, a preset or a profile, on TASK, print its run id and return immediately.

    A TASK of - is read from standard input. The agent keeps running when this terminal closes. If
    subagents.maxBackground agents are already running, it waits for a slot. An agent without a model uses pi's default.
    Exit code 0 if it started, 2 if something it names does not exist, 1 if it could not be started.
    """
    say, place = remarks(quiet=False), Place.here(trusts_project=trust)
    text = read_asked(say) if task == "-" else task
    directory = str(cwd.absolute()) if cwd is not None else None
    asked = Task(task_name(text), text, preset=agent, model=model, cwd=directory, timeout=None)
    (run,) = launch_all(with_default_models([asked], place, say), place, owner=OWNER, check=require_everything)
    if as_json:
        print_json({"run": run_row(run), "counts": counts(Registry(place, OWNER).runs())})
        return
    for warning in filter(None, [*place.settings().warnings, run.state.note]):
        say(f"warning: {warning}")
    with suppress(UnknownProfile):  # its file may be gone by now, the run is not
        found = find_agent(agent, PRESET, place.cwd, place.agent_dir)
        say(f'"{agent}" is a {found.kind.word} ({found.profile.scope}).')
    say_started([run.state.session_id], agent)
