"""`sessions` and `steer`: what was run, listed, read, exported, steered and stopped."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from errno import ELOOP
from pathlib import Path

import click

from pi_subagents.errors import InvalidCall, StoreError
from pi_subagents.export import (
    Entry,
    Given,
    RunPage,
    code_span,
    entry_markdown,
    error_words,
    run_ending,
    run_heading,
    seconds,
    session_heading,
)
from pi_subagents.export.transcripts import NO_OUTPUT
from pi_subagents.fold import RunState, fold
from pi_subagents.models import Status, short_id, short_ids
from pi_subagents.models.event import AnyEvent
from pi_subagents.paths import project_root
from pi_subagents.place import Place
from pi_subagents.runs.forms import output_row, session_row
from pi_subagents.runs.listing import NOTHING_USED, SessionSummary, Wanted, list_sessions, rebuild_index, used_by
from pi_subagents.runs.run import PageKind, Run, entries, facts_of
from pi_subagents.runs.sessions import Session
from pi_subagents.surfaces.cli.ends import ending_words, stop_runs
from pi_subagents.surfaces.cli.options import (
    DIRECTORY,
    all_option,
    complete_profile_or_agent,
    find_run,
    find_session,
    list_options,
    moment,
    session_argument,
)
from pi_subagents.surfaces.cli.output import echo, echo_text, markdown_printer, print_block, print_json, print_json_line
from pi_subagents.surfaces.cli.tables import (
    Column,
    money_spent,
    project_column,
    run_columns,
    show_list,
    tokens_used,
    totals,
)
from pi_subagents.text import clean, clip, counted, data_size
from pi_subagents.trees import explain, writing_to

_STATUSES = [Status.RUNNING, Status.COMPLETED, Status.FAILED, Status.ABORTED]
_MODEL_CELLS = 30
_PROMPT_FILE = "prompt.md"
_FORMATS: dict[str, PageKind] = {".md": "md", ".markdown": "md", ".txt": "md", ".html": "html", ".htm": "html"}
_STILL_RUNNING = 3
_INTERRUPTED = 130


@click.command("list")
@click.option(
    "--status", type=click.Choice([status.value for status in _STATUSES]), help="Only sessions with this status."
)
@click.option(
    "--profile",
    "--agent",
    "agent",
    metavar="NAME",
    shell_complete=complete_profile_or_agent,
    help="Only sessions with this profile or preset, or with this agent: pi, claude, codex, …",
)
@click.option("--project", type=DIRECTORY, help="List the sessions of another project.")
@all_option
@click.option("--since", type=moment, metavar="TIME", help="Only sessions started since: 2h, 3d or 2026-11-01.")
@list_options
def list_command(
    status: str | None,
    agent: str | None,
    project: Path | None,
    everywhere: bool,
    since: int | None,
    limit: int,
    as_json: bool,
    pager: bool,
) -> None:
    """List the latest sessions of this project, one per line, newest last.

    A line describes the session's latest run; tools, tokens and cost add up all its runs, and the last line totals what
    is shown. Exit code 0, even if the list is empty.
    """
    place = Place.here()
    if everywhere and project is not None:
        raise click.UsageError("--all and --project cannot be used together")
    root = None if everywhere else project_root((project or place.cwd).absolute(), place.agent_dir)
    wanted = Wanted(root, Status(status) if status else None, agent, since, limit)
    found = list_sessions(place, wanted)
    if as_json:
        print_json(list(map(session_row, found, used_by(place, found))))
    elif found:
        _show_list(place, found[::-1], with_project=everywhere, pager=pager)
    else:
        echo(_nothing(wanted), err=True)


def _nothing(wanted: Wanted) -> str:
    if wanted.status or wanted.agent or wanted.since:
        return "No session matches."
    where = "" if wanted.project is None else f" in {wanted.project}"
    other = "" if wanted.project is None else ", or look in all projects with --all"
    return f"No sessions{where} yet; start one with 'pi-subagents run PROMPT'{other}."


def _show_list(place: Place, found: Sequence[SessionSummary], *, with_project: bool, pager: bool) -> None:
    """One row per session in the order given, and what all of them have used."""
    short = short_ids(session.latest.session_id for session in found)
    used = {one.run_dir: total for one, total in zip(found, used_by(place, found), strict=True)}
    columns: list[Column[SessionSummary]] = [
        *run_columns("session", lambda session: short[session.latest.session_id], lambda session: session.state),
        Column("runs", lambda session: str(session.run_count), right=True, gives_way=3),
        Column("tools", lambda session: str(used[session.run_dir].tool_count), right=True, gives_way=5),
        Column("tokens", lambda session: tokens_used(used[session.run_dir]), right=True, gives_way=4),
        Column("cost", lambda session: money_spent(used[session.run_dir]), right=True, gives_way=1),
        Column("model", _model, gives_way=6),
    ]
    if with_project:
        columns.append(project_column(lambda session: session.latest.project))
    total = sum(used.values(), NOTHING_USED)
    show_list(columns, found, totals(len(found), "session", total), pager=pager)


def _model(session: SessionSummary) -> str:
    return clip("/".join(clean(part) for part in (session.state.provider, session.state.model) if part), _MODEL_CELLS)


@click.command()
@session_argument
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the run ends.")
@click.option("--run", "number", type=click.IntRange(min=1), metavar="N", help="Show only run N.")
@click.option("--json", "as_json", is_flag=True, help="Print every event, one JSON object per line.")
def show(session: str, follow: bool, number: int | None, as_json: bool) -> None:
    """Show the full transcript of SESSION, with all its runs, as Markdown.

    On a terminal, the Markdown is rendered. Exit code 0 if the session exists, however it ended.
    """
    folders = _folders(find_session(Place.here(), session), number)
    write = _write_events if as_json else _write_markdown
    try:
        state = write(folders, follow)
    except KeyboardInterrupt:
        echo("Stopped following.", err=True)
        sys.exit(_INTERRUPTED)
    if not state.status.is_terminal and not follow:
        echo(f"Still {state.status}; use --follow to see the rest.", err=True)


def _folders(session: Session, number: int | None) -> Sequence[Path]:
    if number is None:
        return session.run_dirs
    if number > session.run_count:
        raise InvalidCall(
            f"Session {short_id(session.id)} has {counted(session.run_count, 'run')}; there is no run {number}."
        )
    return session.run_dirs[number - 1 : number]


def _write_events(folders: Sequence[Path], follow: bool) -> RunState:
    state = RunState()
    for folder in folders:
        state = RunState.of_run(folder.name)
        for event in _told(state, _events(folder, follow)):
            print_json_line(event)
    return state


def _write_markdown(folders: Sequence[Path], follow: bool) -> RunState:
    pages = [RunPage(facts_of(folder), ()) for folder in folders]
    for block in session_heading(pages):
        print_block(block)
    for position, folder in enumerate(folders, 1):
        state = RunState.of_run(folder.name)
        for block in run_heading(pages[position - 1].state, position, len(folders)):
            print_block(block)
        for entry in entries(_told(state, _events(folder, follow))):
            print_block(_block(entry, folder))
        print_block(run_ending(state))
        pages[position - 1] = RunPage(state, ())
    return pages[-1].state


def _events(folder: Path, follow: bool) -> Iterable[AnyEvent]:
    run = Run.load(folder)  # a lost run is closed by this, so that its end is shown too
    return run.follow() if follow else run.events()


def _told(state: RunState, events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    for event in events:
        fold(state, [event])
        yield event


def _block(entry: Entry, folder: Path) -> str:
    if isinstance(entry, Given):
        # Files and earlier runs can be long, and the runs have been shown already.
        where = code_span(str(folder / _PROMPT_FILE))
        return f"The agent got {len(entry.text):,} characters, with files or earlier runs before the task: {where}"
    return entry_markdown(entry)


@click.command()
@session_argument
@click.option("--json", "as_json", is_flag=True, help="Print the text, status, error and usage as JSON.")
def output(session: str, as_json: bool) -> None:
    """Print the final text of SESSION's latest run, or the text so far while it runs.

    On a terminal, Markdown is rendered; in a pipe or a file it stays as the agent wrote it.

    Exit code 0 if the run completed, 1 if it failed or was aborted (standard error says why) or the session does not
    exist, 3 if it is still running.
    """
    found = find_session(Place.here(), session)
    state = found.latest.state
    if as_json:
        print_json(output_row(found))
    elif state.text.strip():
        markdown_printer()(state.text.strip())
    else:
        echo(NO_OUTPUT, err=True)
    if not state.status.is_terminal:
        echo(f"Still {state.status}: this is the text so far.", err=True)
        sys.exit(_STILL_RUNNING)
    if state.status is not Status.COMPLETED:
        why = error_words(state.error, state.reason, seconds(state)) if state.error else state.reason
        echo(f"✗ {state.status}: {why}", err=True)
        sys.exit(1)


@click.command()
@session_argument
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["md", "html"]),
    help="Output format (default: by the extension of FILE, else md).",
)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write to FILE, or to a file named after the session if it is a directory (default: standard output).",
)
def export(session: str, wanted: PageKind | None, file: Path | None) -> None:
    """Export SESSION with all its runs as Markdown, or as one self-contained HTML page.

    Exit code 0 if it was written.
    """
    target = None if file is None or str(file) == "-" else file
    kind: PageKind = wanted or _format_of(target)
    place = Place.here()
    found = find_session(place, session)
    text = found.export(kind)
    if target is None:
        for piece in text:
            echo_text(piece, nl=False)
        return
    if target.is_dir():
        target = target / f"{found.id}.{kind}"
    try:
        with writing_to(place.cwd / target, place.project) as stream:
            stream.writelines(piece.encode() for piece in text)
    except OSError as error:
        reason = explain(error, target) if error.errno == ELOOP else f"cannot write {target}: {error.strerror}"
        raise StoreError(f"{reason}; choose another file with -o") from error
    echo(f"Wrote {target} ({data_size(target.stat().st_size)}).", err=True)


def _format_of(target: Path | None) -> PageKind:
    """What a name ends in; one that is not written here would be Markdown under a false name."""
    if target is None or not target.suffix or target.is_dir():
        return "md"
    kind = _FORMATS.get(target.suffix.lower())
    if kind is None:
        raise click.UsageError(
            f"-o {target}: cannot write {target.suffix} files; use a name that ends in .md or .html, "
            "or choose with --format"
        )
    return kind


@click.command()
@session_argument
def stop(session: str) -> None:
    """Stop SESSION if it is running, wait until all its processes are gone, and report how it ended.

    Exit code 0 if the session has ended, now or earlier; 1 if it did not end in time or does not exist.
    """
    found = find_session(Place.here(), session)
    sys.exit(stop_runs(f"Session {short_id(found.id)}", [Run.load(folder) for folder in found.run_dirs]))


@click.command()
def reindex() -> None:
    """Rebuild the session index from the run directories of every known project.

    The index only speeds up lookups: losing it loses nothing, and runs continue meanwhile. Lost runs are closed along
    the way. Exit code 0 if it was rebuilt.
    """
    projects: list[Path] = []

    def report(project: Path, count: int) -> None:
        projects.append(project)
        echo(f"{project}: {counted(count, 'run')}", err=True)

    total = rebuild_index(Place.here(), report)
    echo(f"Indexed {counted(total, 'run')} in {counted(len(projects), 'project')}.")


@click.command()
@session_argument
@click.argument("text")
def steer(session: str, text: str) -> None:
    """Send TEXT to the running agent of SESSION, which reads it before its next turn.

    A TEXT of - is read from standard input. SESSION may also be a run id. Exit code 0 if the agent got it, 1 if not:
    it has ended or not started, or its harness cannot be steered (standard error says which).
    """
    words = sys.stdin.read() if text == "-" else text
    if not words.strip():
        raise InvalidCall("TEXT is empty")
    run = find_run(Place.here(), session)
    told = short_id(run.session_id)
    if run.is_over:
        raise InvalidCall(
            f"Session {told} has ended: {ending_words(run.state)}",
            advice=f"continue it with 'pi-subagents sessions resume {told} PROMPT'",
        )
    run.steer(words)
    echo(f"Sent to session {told}; the agent reads it before its next turn, if there is one.")
