"""The report at the end fits its terminal: names are cut and columns left out, a session id never."""

from __future__ import annotations

import errno
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi_subagents.files import Directory
from pi_subagents.fold import RunState, fold
from pi_subagents.runs.run import Run, RunResult
from pi_subagents.surfaces.cli.answer_files import AnswerFiles
from pi_subagents.surfaces.cli.report import print_answers, print_summary, write_answers
from pi_subagents.text import cell_width
from tests.progress.windows_kit import COMPLETED, CREATED, FAILED, STARTED

NAMES = ("map the project and everything in it", "日本語の名前はここでも切られる", "[red]short")


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_every_session_id_is_whole(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    results = [_result(name) for name in NAMES]
    print_summary(results, styled=False)
    printed = capsys.readouterr()
    lines = printed.err.splitlines()[1:]
    assert printed.out == ""
    rows = [line for line in lines if CREATED.session_id[:8] in line]
    assert len(rows) == len(NAMES)
    assert all(cell_width(line) <= columns for line in rows)
    assert ("cost" in lines[0]) is (columns >= 60)
    assert any("[red]short" in row or "[red]s" in row for row in rows)


def test_names_get_the_width_that_there_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    name = "1: Review every file of this project, and say for each of them what could be better in it"
    shown = {}
    for columns in (80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_summary([_result(name)], styled=False)
        row = capsys.readouterr().err.splitlines()[2]
        assert cell_width(row.rstrip()) <= columns
        shown[columns] = row.split("  ")[0]
    assert shown[200] == name
    assert len(shown[80]) < len(shown[120]) < len(name)
    monkeypatch.delenv("COLUMNS")
    print_summary([_result(name)], styled=False)
    assert name in capsys.readouterr().err  # no terminal, nothing cut


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_heading_never_wraps(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_answers([_result("short"), _result("long " * 40)], plain=True, styled=False)
    headings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("──")]
    assert headings[0].startswith("── short ──")
    assert all(cell_width(heading) <= columns for heading in headings)


def test_one_answer_has_no_heading_and_several_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    done = replace(_result("a"), output="Text.")
    print_answers([done])
    assert capsys.readouterr() == ("Text.\n", "")
    print_answers([done, replace(_result("b"), output="Other.")])
    rule = "─" * 59
    assert capsys.readouterr() == (f"── a {rule}\nText.\n\n── b {rule}\nOther.\n", "")


def test_a_failure_is_told_on_standard_error_with_the_time_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    failed = replace(_result("a", FAILED), started_at=0, completed_at=94_000)
    print_answers([failed])
    assert capsys.readouterr() == ("", "✗ Timed out after 7s. (ran for 1m 34s)\n")
    print_answers([failed, failed])
    assert capsys.readouterr().err == "✗ a: Timed out after 7s. (ran for 1m 34s)\n" * 2


def test_an_answer_that_cannot_be_written_is_told_and_the_others_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = AnswerFiles(tmp_path / "out", tmp_path)
    files.open()
    create = Directory.create

    def full(folder: Directory, name: str, *arguments: Any, **options: Any) -> None:
        if name.startswith("a"):
            raise OSError(errno.ENOSPC, "No space left on device")
        create(folder, name, *arguments, **options)

    monkeypatch.setattr(Directory, "create", full)
    results = [replace(_result(name), output="Text.") for name in ("a", "b")]
    said: list[str] = []
    assert not write_answers(results, files, say=said.append)
    assert said == [f"Wrote {tmp_path / 'out' / 'b.md'}"]
    told = capsys.readouterr().err
    assert "No space left on device" in told
    assert f"'pi-subagents sessions output {CREATED.session_id[:8]}' prints the answer" in told


def _result(name: str, end: Any = COMPLETED) -> RunResult:
    return Run(Path("/p/.pi/subagents/runs/r"), _state(name, end)).result


def _state(name: str, end: Any = COMPLETED) -> RunState:
    created: Any = msgspec.structs.replace(CREATED, name=name)
    return fold(RunState(), [created, STARTED, end])


def test_a_name_that_is_half_of_a_markup_breaks_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary([_result(r"drop \[/INST] tokens")], styled=False)
    assert r"drop \[/INST] tokens" in capsys.readouterr().err
