"""What people see when their tasks are done: the answers, on standard output or in files, then a table of how it went.

Standard output has the answers and nothing else, so that it can be piped into a file or another program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from shutil import get_terminal_size

import click
from msgspec import structs

from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.harness import DEFAULT_AGENT
from pi_subagents.models import short_id
from pi_subagents.runs.run import RunResult
from pi_subagents.surfaces.cli.output import (
    PIPE_CELLS,
    echo,
    echo_painted,
    markdown_printer,
    obeys_escapes,
    print_json,
    wrapped,
)
from pi_subagents.surfaces.cli.tables import Column, drawn, fitting
from pi_subagents.text import cell_width, clip, money, shorten_path, token_count
from pi_subagents.text.harmless import clean, painted
from pi_subagents.text.patterns import pattern
from pi_subagents.trees import folder_to_fill

_RULE_CELLS = 60
_NOTHING_SAID = "(no text output from sub-agent)"
_BETWEEN_WORDS = pattern(r"\W+")
_MAX_NAME_BYTES = 120
"""File systems take 255; a number and an ending have to fit, and people have to read it."""
_NAME_CELLS = 10
_MAX_FILES = 20
_COLUMNS: Sequence[Column[RunResult]] = (
    Column("task", lambda result: result.name, is_name=True),
    Column(
        "status",
        lambda result: f"{'✓' if result.ok else '✗'} {result.status}",
        colour=lambda result: "green" if result.ok else "red",
    ),
    Column("time", lambda result: f"{result.duration_s:.1f}s", right=True, gives_way=1),
    Column("tools", lambda result: str(result.tool_count), right=True, gives_way=4),
    Column(
        "tokens",
        lambda result: token_count(result.usage.total_tokens, is_all=result.knows_tokens),
        right=True,
        gives_way=3,
    ),
    Column("cost", lambda result: money(result.usage.cost, is_all=result.knows_cost), right=True, gives_way=2),
    Column("session", lambda result: short_id(result.session_id)),
)
"""None is cut but the names: half a session id is of no use."""
_AGENT: Column[RunResult] = Column("agent", lambda result: result.agent, gives_way=5)
_FILES: Column[RunResult] = Column("files", lambda result: str(len(result.changed_files)), right=True, gives_way=5)


@dataclass(frozen=True)
class Report:
    """How people hear of their tasks. `plain`: nothing redrawn or rendered; `quiet`: only answers and errors.

    With `compares`, several agents did the same tasks, so the report also lists the files that each of them changed.
    """

    as_json: bool = False
    plain: bool = False
    quiet: bool = False
    files: AnswerFiles | None = None
    compares: bool = False

    def say(self, line: str) -> None:
        """A remark on standard error, for whoever wants to hear any."""
        if not self.quiet:
            echo(line, err=True)

    def show(self, results: Sequence[RunResult]) -> None:
        """The results for programs, or the answers unless they are in files, and the table."""
        try:
            if self.as_json:
                from pi_subagents.runs.forms import result_row  # by now there is time

                print_json([result_row(result) for result in results])
            elif self.files is None:
                self.print_answers(results)
        finally:  # also where nobody reads the answers: it says where they are
            if not self.as_json and not self.quiet:
                self.print_summary(results)

    def print_answers(self, results: Sequence[RunResult]) -> None:
        """The answers on standard output, each of several under its name; whatever else there is on standard error."""
        show = markdown_printer(plain=self.plain)
        for number, result in enumerate(self._told_apart(results)):
            if len(results) > 1:
                echo_painted(("\n" if number else "") + click.style(_heading(result), bold=True), color=self._color)
            if text := result.output.strip():
                show(text)
            elif result.ok:
                echo(_NOTHING_SAID, err=True)
            # On a terminal it stands under its heading.
            self._tell_failure(result, named=len(results) > 1 and not sys.stdout.isatty())

    def write_answers(self, results: Sequence[RunResult]) -> bool:
        """The answers into files, if that is wanted; False if one could not be written. Either is said."""
        all_written = True
        if self.files is None:
            return all_written
        for result in self._told_apart(results):
            if result.output.strip():
                try:
                    self.say(f"Wrote {self.files.write(result)}")
                except StoreError as error:
                    all_written = False
                    echo(f"error: {error}", err=True)
            elif result.ok:
                self.say(f"{result.name}: {_NOTHING_SAID}, no file written")
            self._tell_failure(result, named=len(results) > 1)
        return all_written

    def print_summary(self, results: Sequence[RunResult]) -> None:
        """One row per task with time, tools, tokens and cost, and where the records are, all on standard error."""
        from rich.console import Console

        width = None if sys.stderr.isatty() or "COLUMNS" in os.environ else PIPE_CELLS
        console = Console(file=painted(sys.stderr), force_terminal=self._color, width=width)
        console.print()
        results = self._told_apart(results)
        columns = self._columns(results)
        console.print(drawn(fitting(columns, results, console.width, _NAME_CELLS, least=1), results))
        if self.compares:
            for line in _changes(results):
                console.print(line, highlight=False, soft_wrap=True, markup=False)
        if results:
            words = f"\nRecords: {clean(_short(results[0].run_dir.parent))}"
            console.print(words, style="dim", highlight=False, soft_wrap=True, markup=False)
        if denied := sum(result.denied for result in results):
            were = "permission request was" if denied == 1 else "permission requests were"
            echo(f"hint: {denied} {were} denied; 'approvals: allow' in a profile allows everything", err=True)

    def _told_apart(self, results: Sequence[RunResult]) -> Sequence[RunResult]:
        """The results as people tell them apart: those of one task that several agents did, by agent."""
        if not self.compares or len({result.agent for result in results}) < len(results):
            return results
        return [structs.replace(result, name=result.agent) for result in results]

    def _columns(self, results: Sequence[RunResult]) -> list[Column[RunResult]]:
        first, *figures, session = _COLUMNS
        agent = [_AGENT] if any(result.agent != DEFAULT_AGENT for result in results) else []
        if self.compares and _named_after_agents(results):
            return [replace(first, title="agent"), *figures, _FILES, session]
        if self.compares:
            return [first, *agent, *figures, _FILES, session]
        return [first, *agent, *figures, session]

    def _tell_failure(self, result: RunResult, *, named: bool) -> None:
        if result.error:
            from pi_subagents.export import error_words

            whose = f"{clip(result.name, _RULE_CELLS)}: " if named else ""
            line = clean(f"✗ {whose}{error_words(result.error, result.reason, result.duration_s)}")
            echo_painted(click.style(wrapped(line, sys.stderr), fg="red"), err=True, color=self._color)

    @property
    def _color(self) -> bool | None:
        """False: never; None: where there is a terminal."""
        return None if not self.plain and obeys_escapes() else False


def _heading(result: RunResult) -> str:
    columns = get_terminal_size().columns if sys.stdout.isatty() else PIPE_CELLS
    name = clip(clean(result.name), columns - len("──  ───"))
    rule_cells = min(_RULE_CELLS, get_terminal_size().columns - len("──  "))
    return f"── {name} " + "─" * max(3, rule_cells - cell_width(name))


def _named_after_agents(results: Sequence[RunResult]) -> bool:
    return all(result.name == result.agent for result in results)


def _changes(results: Sequence[RunResult]) -> Iterator[str]:
    """Which files each agent changed, and which files several agents changed: all work in the same directory."""
    by: dict[str, list[str]] = {}
    yield "\nFiles changed, as reported by the agents:"
    for result in results:
        for path in result.changed_files:
            by.setdefault(path, []).append(result.name)
        yield f"  {clean(result.name)}: {_listed(result.changed_files)}"
    if twice := [path for path, names in by.items() if len(names) > 1]:
        yield f"warning: several agents changed the same file and may have undone each other's work: {_listed(twice)}"


def _listed(paths: Sequence[str]) -> str:
    here = str(Path.cwd())
    shown = [clean(shorten_path(path, cwd=here)) for path in paths[:_MAX_FILES]]
    more = f" and {len(paths) - _MAX_FILES} more" if len(paths) > _MAX_FILES else ""
    return f"{', '.join(shown)}{more}" if shown else "none"


def _short(folder: Path) -> str:
    try:
        return f"{folder.relative_to(Path.cwd())}/"
    except ValueError:
        return f"{folder}/"


class AnswerFiles:
    """`run -o DIR`: every answer in a file of its own, named after its task. What is there already stays as it is.

    Opened before the tasks begin, so that a directory that cannot be written is known before they cost anything.
    """

    def __init__(self, folder: Path, project: Path) -> None:
        self._path = folder
        self._project = project
        self._folder: Directory | None = None

    def open(self) -> None:
        """Make the directory where there is none; raises StoreError."""
        try:
            self._folder = folder_to_fill(self._path, self._project)
            self._folder.unlink(self._folder.draft("answer", b""))
        except OSError as error:
            raise StoreError(
                f"cannot write into {self._path}: {error.strerror}; choose another directory with -o"
            ) from error

    def write(self, result: RunResult) -> Path:
        """Where the answer is now; raises StoreError."""
        assert self._folder is not None
        try:
            return self._path / _create(self._folder, result.name, f"{result.output.strip()}\n".encode())
        except OSError as error:
            raise StoreError(
                f"cannot write into {self._path}: {error.strerror}; "
                f"'pi-subagents sessions output {short_id(result.session_id)}' prints the answer"
            ) from error


def _create(folder: Directory, task: str, content: bytes) -> str:
    for name in _names(task):
        try:
            folder.create(name, content, mode=0o666)
        except FileExistsError:
            continue
        except OSError:
            folder.unlink(name)
            raise
        return name
    raise AssertionError("names never end")


def _names(task: str) -> Iterator[str]:
    """`review.md`, `review-2.md`, …: letters, digits and `_` with `-` between them."""
    words = _BETWEEN_WORDS.sub("-", clean(task)).encode()[:_MAX_NAME_BYTES].decode("utf-8", "ignore").strip("-")
    stem = words or "task"
    yield f"{stem}.md"
    yield from (f"{stem}-{number}.md" for number in count(2))
