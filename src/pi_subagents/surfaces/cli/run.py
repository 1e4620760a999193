"""`run`: tasks for people."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import msgspec

from pi_subagents.default_models import with_default_models
from pi_subagents.errors import InvalidCall
from pi_subagents.missing import require_everything
from pi_subagents.models import DEFAULT_TIMEOUT_S, MAX_CONCURRENCY, Task, ThinkingLevel
from pi_subagents.planning import Place
from pi_subagents.runners import Interrupted, run_until_signalled
from pi_subagents.service import Delegation
from pi_subagents.surfaces.cli.background.starting import refuse_foreground_options, start_in_background
from pi_subagents.surfaces.cli.catalogs import complete_agent
from pi_subagents.surfaces.cli.notices import tell_endings
from pi_subagents.surfaces.cli.output import echo, remark
from pi_subagents.surfaces.cli.report import print_json, print_outputs, print_summary
from pi_subagents.surfaces.cli.task_files import read_tasks
from pi_subagents.surfaces.cli.trust import trust_option
from pi_subagents.surfaces.cli.views import View, choose_view, forbids_escapes

_NAME_CHARACTERS = 100
"""Each place that shows a name cuts it to the room it has; this keeps a prompt of a page out of records."""


@click.command()
@click.argument("prompts", nargs=-1, metavar="PROMPT...")
@click.option(
    "-p",
    "--profile",
    metavar="AGENT",
    shell_complete=complete_agent,
    help="Profile or preset for tasks that name none.",
)
@click.option("--model", metavar="PROVIDER/ID", help="Model for tasks that name none, instead of the agent's own.")
@click.option(
    "--thinking",
    type=click.Choice([level.value for level in ThinkingLevel]),
    help="How much the model thinks, likewise.",
)
@click.option(
    "--files", multiple=True, metavar="PATH", type=click.Path(), help="Put a file before every prompt; may be repeated."
)
@click.option("--timeout", type=click.FloatRange(min=1), help=f"Seconds per task (default {DEFAULT_TIMEOUT_S}).")
@click.option("--cwd", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Where agents work.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=MAX_CONCURRENCY,
    show_default=True,
    help="How many at once.",
)
@click.option(
    "--tasks",
    "task_file",
    type=click.Path(path_type=Path),
    help="Read tasks from a .json, .yaml or .jsonl file: objects with name, prompt and the fields of a tool call.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--plain", is_flag=True, help="One line per event, nothing redrawn.")
@click.option(
    "--tmux", is_flag=True, help="Every agent in a tmux pane that shows its window; closing it stops the agent."
)
@click.option("--background", is_flag=True, help="Start them, print their ids and return at once.")
@trust_option
@click.pass_context
def run(
    context: click.Context,
    prompts: tuple[str, ...],
    profile: str | None,
    model: str | None,
    thinking: str | None,
    files: tuple[str, ...],
    timeout: float | None,
    cwd: Path | None,
    jobs: int,
    task_file: Path | None,
    as_json: bool,
    plain: bool,
    tmux: bool,
    background: bool,
    trust: bool,
) -> None:
    """Run one sub-agent per PROMPT, side by side, and show what comes of it.

    A PROMPT of - is read from standard input. If something that tasks name is missing, nothing is started, and the
    exit code is 2. Exit code 0 only if every task was completed; with --background, if all were started.
    """
    if background:
        refuse_foreground_options(context)
    tasks = _tasks_from_prompts(prompts, files, timeout)
    if task_file is not None:
        tasks += read_tasks(task_file)
    if not tasks:
        raise click.UsageError("give at least one PROMPT, or --tasks FILE")
    place = Place.here(cwd, trusts_project=trust)
    tasks = with_default_models([_with_choice(task, model, thinking) for task in tasks], place, remark)
    if background:
        start_in_background(tasks, place, profile=profile, as_json=as_json)
        return
    sys.exit(run_and_report(tasks, place, profile=profile, jobs=jobs, as_json=as_json, plain=plain, tmux=tmux or None))


def _with_choice(task: Task, model: str | None, thinking: str | None) -> Task:
    """The task with what the command line chooses for all that do not choose themselves."""
    return msgspec.structs.replace(task, model=task.model or model, thinking_level=task.thinking_level or thinking)


def run_and_report(
    tasks: list[Task],
    place: Place,
    *,
    profile: str | None,
    jobs: int,
    as_json: bool,
    plain: bool,
    tmux: bool | None = None,
    records: bool = True,
) -> int:
    """Run tasks, show their progress on stderr and their results on stdout; the exit code for it.

    Without `records` nothing is said of where they are: in the demo's sample project they go with it.
    """
    view = choose_view(plain=plain)
    delegation = Delegation(
        tasks,
        profile=profile,
        place=place,
        concurrency=jobs,
        observer=view.observe,
        tmux=tmux,
        check=require_everything,
    )
    for warning in delegation.settings.warnings:
        echo(f"warning: {warning}", err=True)
    if delegation.panes is not None:
        delegation.panes.check()
        echo(f"hint: {delegation.panes.hint}", err=True)
    interrupted = None
    try:
        run_until_signalled(_see_through(delegation, view))
    except Interrupted as signal:
        interrupted = signal
    if as_json:
        print_json(delegation.results)
    else:
        styled = not plain and not forbids_escapes(os.environ)
        print_outputs(delegation.results, styled=styled)
        print_summary(delegation.results, styled=styled, records=records)
    for warning in delegation.warnings[len(delegation.settings.warnings) :]:
        echo(f"warning: {warning}", err=True)
    tell_endings(place)
    if interrupted is not None:
        echo("Stopped. Everything the agents said until then is kept in the records named above.", err=True)
        return interrupted.exit_code
    return 0 if all(result.ok for result in delegation.results) else 1


async def _see_through(delegation: Delegation, view: View) -> None:
    async with view.showing(delegation):
        await delegation


def _tasks_from_prompts(prompts: tuple[str, ...], files: tuple[str, ...], timeout: float | None) -> list[Task]:
    tasks = []
    for number, prompt in enumerate(prompts, 1):
        text = sys.stdin.read() if prompt == "-" else prompt
        if not text.strip():
            raise InvalidCall(f"prompt {number} is empty")
        tasks.append(Task(_name(text, number), text, timeout=timeout or DEFAULT_TIMEOUT_S, files=files))
    return tasks


def _name(prompt: str, number: int) -> str:
    words = " ".join(prompt.split())
    return f"{number}: {words if len(words) <= _NAME_CHARACTERS else words[: _NAME_CHARACTERS - 1] + '…'}"
