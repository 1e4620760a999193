"""`run` and `sessions resume`: tasks for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource
from msgspec.structs import replace

from pi_subagents.delegation.delegation import DelegatedRun, Delegation
from pi_subagents.delegation.missing import require_everything
from pi_subagents.delegation.planning import Plan
from pi_subagents.errors import SessionNotFound
from pi_subagents.models import DEFAULT_TIMEOUT_S, MAX_CONCURRENCY, Task, ThinkingLevel
from pi_subagents.place import Place
from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
from pi_subagents.runs.run import Run
from pi_subagents.settings import RunnerName
from pi_subagents.surfaces.cli.options import (
    Duration,
    agent_option,
    complete_agent,
    cwd_option,
    find_session,
    model_option,
    plain_option,
    session_argument,
    trust_option,
)
from pi_subagents.surfaces.cli.report import AnswerFiles, Report
from pi_subagents.surfaces.cli.tasks import STDIN, read_prompts, tasks_of
from pi_subagents.surfaces.cli.views import Detaching, View, begin_detachable, choose_view, see_through


@click.command()
@click.argument("prompts", nargs=-1, metavar="PROMPT...")
@click.option(
    "-p",
    "--profile",
    metavar="PROFILE",
    shell_complete=complete_agent,
    help="Profile or preset for tasks that do not set one.",
)
@model_option("Model for tasks that do not set one, instead of the agent's own.")
@agent_option(
    "Agent for tasks that do not set one: pi, claude, codex, … With several names, each agent does every task, side by "
    "side, for comparison.",
    several=True,
)
@click.option(
    "--thinking",
    type=click.Choice([level.value for level in ThinkingLevel]),
    help="Thinking level for tasks that do not set one.",
)
@click.option(
    "--files",
    multiple=True,
    metavar="PATH",
    type=click.Path(allow_dash=True),
    help="Prepend a file to every prompt; - is standard input.",
)
@click.option(
    "--timeout",
    type=Duration(min_s=1),
    help=f"Timeout of each task: 90, 90s, 5m, 1h30m (default {DEFAULT_TIMEOUT_S}s).",
)
@cwd_option("this one")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=MAX_CONCURRENCY,
    show_default=True,
    help="How many agents run at once.",
)
@click.option(
    "--tasks",
    "task_file",
    type=click.Path(path_type=Path),
    help="Read tasks from a .json, .yaml or .jsonl file: objects with name, prompt and the fields of a tool call.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the answers: no progress, no table.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write each answer to its own file in DIR; never overwrite one.",
)
@click.option("--plain", is_flag=True, help="Print one line per event; never redraw or render.")
@click.option(
    "--tmux",
    is_flag=True,
    help="Run each agent in a tmux pane that shows its window; closing the pane stops the agent.",
)
@click.option("--background", is_flag=True, help="Start the agents, print their ids and return immediately.")
@trust_option
@click.pass_context
def run(
    context: click.Context,
    prompts: tuple[str, ...],
    profile: str | None,
    model: str | None,
    programs: tuple[str, ...],
    thinking: str | None,
    files: tuple[str, ...],
    timeout: float | None,
    cwd: Path | None,
    jobs: int,
    task_file: Path | None,
    as_json: bool,
    quiet: bool,
    output: Path | None,
    plain: bool,
    tmux: bool,
    background: bool,
    trust: bool,
) -> None:
    """Run one sub-agent per PROMPT, in parallel, and print the answers.

    Piped input is appended to every prompt; a PROMPT of - is read from standard input instead. Answers go to standard
    output, everything else to standard error. Exit code 0 only if every task completed or, with --background, all of
    them started; 2 if a task names something that does not exist, and then nothing is started.
    """
    if background:
        from pi_subagents.surfaces.cli.start import refuse_foreground_options

        refuse_foreground_options(context)
    if output == Path():
        raise click.UsageError("-o needs a directory; use '.' for this one")
    from_file = _tasks_in(task_file) if task_file is not None else []
    if not prompts and not from_file:
        raise click.UsageError("give at least one PROMPT, or --tasks FILE")
    place = Place.here(cwd, trusts_project=trust)
    answers = AnswerFiles(output, place.project) if output is not None else None
    report = Report(as_json, plain, quiet, answers, compares=len(programs) > 1)
    told = read_prompts(prompts, files if cwd is None else _seen_from_here(files), report.say)
    tasks = [*tasks_of(told, timeout), *(told.around(task, timeout) for task in from_file)]
    tasks = _by_each(tasks, programs) if report.compares else tasks
    chosen = [_with_choice(task, model, thinking, next(iter(programs), None)) for task in tasks]
    tasks = _with_models(chosen, place, report)
    if context.get_parameter_source("jobs") is ParameterSource.DEFAULT:
        jobs = max(jobs, len(programs))  # side by side
    if background:
        from pi_subagents.surfaces.cli.start import start_in_background

        start_in_background(tasks, place, profile=profile, as_json=as_json)
        return
    runner: RunnerName | None = "tmux" if tmux else None
    sys.exit(run_and_report(tasks, place, report, profile=profile, jobs=jobs, runner=runner, detachable=True))


def _tasks_in(file: Path) -> list[Task]:
    from pi_subagents.surfaces.cli.task_files import read_tasks

    return read_tasks(file)


def _with_models(tasks: list[Task], place: Place, report: Report) -> list[Task]:
    if not any(task.preset for task in tasks):
        return tasks
    from pi_subagents.delegation.offered_models import with_default_models

    return with_default_models(tasks, place, report.say)


def _seen_from_here(files: Sequence[str]) -> list[str]:
    """Paths that mean the same where agents work elsewhere than where they were typed."""
    return [file if file == STDIN else str(Path(file).absolute()) for file in files]


def _with_choice(task: Task, model: str | None, thinking: str | None, agent: str | None) -> Task:
    """The task with what the command line chooses for all that do not choose themselves."""
    level = task.thinking_level or thinking
    return replace(task, model=task.model or model, thinking_level=level, agent=task.agent or agent)


def _by_each(tasks: Sequence[Task], agents: Sequence[str]) -> list[Task]:
    """Each task once per agent, named after both; the only task needs no number."""
    if chosen := [task.name for task in tasks if task.agent]:
        raise click.UsageError(
            f'task "{chosen[0]}" sets its own agent, so --agent can name only one agent for the others'
        )
    number = "1: " if len(tasks) == 1 else ""
    return [
        replace(task, name=f"{agent}: {task.name.removeprefix(number)}", agent=agent)
        for task in tasks
        for agent in agents
    ]


@click.command()
@session_argument
@click.argument("prompt", nargs=-1, required=True, metavar="PROMPT...")
@click.option(
    "-p",
    "--profile",
    metavar="PROFILE",
    help="Use another profile or preset than before.",
    shell_complete=complete_agent,
)
@agent_option("Continue with another agent, which is told what happened so far: pi, claude, codex, …")
@click.option("--files", multiple=True, metavar="PATH", help="Prepend a file to the prompt; - is standard input.")
@click.option("--timeout", type=Duration(min_s=1), help=f"Timeout: 90, 90s, 5m, 1h30m (default {DEFAULT_TIMEOUT_S}s).")
@cwd_option("the same as before")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@plain_option
@trust_option
def resume(
    session: str,
    prompt: tuple[str, ...],
    profile: str | None,
    programs: tuple[str, ...],
    files: tuple[str, ...],
    timeout: float | None,
    cwd: Path | None,
    as_json: bool,
    plain: bool,
    trust: bool,
) -> None:
    """Continue SESSION with PROMPT, in a new run that knows what the earlier ones did.

    Piped input is appended to the prompt; a PROMPT of - is read from standard input instead. The same agent works in
    the same directory and with the same profile as before, unless told otherwise. Exit code 0 only if it completed.
    """
    report = Report(as_json, plain)
    latest = _latest(Place.here(), session)
    told = read_prompts((" ".join(prompt),), files, report.say)
    paths = tuple(str(Path(file).absolute()) for file in told.files)
    agent = next(iter(programs), None)
    task = latest.resumed_task(
        told.whole(told.texts[0]), cwd=cwd, profile=profile, timeout_s=timeout, files=paths, agent=agent
    )
    # Profiles and settings are those of the project that the session belongs to.
    place = Place.here(latest.project, trusts_project=trust)
    sys.exit(run_and_report([task], place, report, detachable=True))


def _latest(place: Place, text: str) -> Run:
    try:
        return find_session(place, text).latest
    except SessionNotFound as error:
        sentence = str(error)
        raise SessionNotFound(f"Cannot resume: {sentence[:1].lower()}{sentence[1:]}", advice=error.advice) from None


def run_and_report(
    tasks: list[Task],
    place: Place,
    report: Report,
    *,
    profile: str | None = None,
    jobs: int = MAX_CONCURRENCY,
    runner: RunnerName | None = None,
    detachable: bool = False,
) -> int:
    """Run tasks, show their progress on stderr and their answers as the report has it; the exit code for it.

    What is `detachable` returns in a child of this process; see `begin_detachable`.
    """
    no_windows = report.plain or report.quiet or report.as_json
    detaching = begin_detachable(place, plain=no_windows, runner=runner) if detachable else None
    view = choose_view(plain=report.plain, quiet=report.quiet, detach=detaching.ask if detaching else None)
    delegation = Delegation(
        tasks,
        profile=profile,
        place=place,
        concurrency=jobs,
        observer=view.observe,
        runner=runner,
        check=lambda plans, place: _check(plans, place, report),
    )
    interrupted = _run(delegation, view, detaching, report)
    all_written = report.write_answers(delegation.results)
    if detaching is not None and detaching.is_done:
        return 0  # nobody is left to be told
    report.show(delegation.results)
    for note in dict.fromkeys(map(_later_note, delegation.runs)):
        if note:
            report.say(f"warning: {note}")
    if not report.quiet:
        from pi_subagents.surfaces.cli.ends import tell_endings  # by now there is time

        tell_endings(place)
    if interrupted is not None:
        report.say("Stopped. Everything the agents said so far is kept in the records listed above.")
        return interrupted.exit_code
    return 0 if all_written and all(result.ok for result in delegation.results) else 1


def _check(plans: Sequence[Plan], place: Place, report: Report) -> None:
    """Say what the plans note; raises InvalidCall for all that is missing, StoreError if no answer can be written."""
    require_everything(plans, place)
    if report.files is not None:
        report.files.open()
    for note in dict.fromkeys(plan.note for plan in plans):
        if note:
            report.say(f"warning: {note}")


def _later_note(run: DelegatedRun) -> str:
    """What was noted of a run since its plan was made."""
    return (run.state.note or "").removeprefix(run.plan.note or "").strip()


def _run(delegation: Delegation, view: View, detaching: Detaching | None, report: Report) -> Interrupted | None:
    """What has to be said first, then the work; the signal that ended it, if one did."""
    for warning in delegation.settings.warnings:
        report.say(f"warning: {warning}")
    delegation.check_runner()
    if delegation.hint is not None:
        report.say(f"hint: {delegation.hint}")
    try:
        run_until_signalled(see_through(delegation, view, detaching))
    except Interrupted as signal:
        return signal
    return None
