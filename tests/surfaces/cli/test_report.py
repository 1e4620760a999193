"""The report at the end fits its terminal: names are cut and columns left out, a session id never.

`run -o DIR`: where answers go, and where they cannot be led.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.fold import RunState, fold
from pi_subagents.runs.run import Run, RunResult
from pi_subagents.surfaces.cli.report import AnswerFiles, Report
from pi_subagents.text import cell_width
from tests.progress.windows_kit import COMPLETED, CREATED, FAILED, STARTED

NAMES = ("map the project and everything in it", "日本語の名前はここでも切られる", "[red]short")


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_every_session_id_is_whole(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    results = [_result(name) for name in NAMES]
    Report(plain=True).print_summary(results)
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
        Report(plain=True).print_summary([_result(name)])
        row = capsys.readouterr().err.splitlines()[2]
        assert cell_width(row.rstrip()) <= columns
        shown[columns] = row.split("  ")[0]
    assert shown[200] == name
    assert len(shown[80]) < len(shown[120]) < len(name)
    monkeypatch.delenv("COLUMNS")
    Report(plain=True).print_summary([_result(name)])
    assert name in capsys.readouterr().err  # no terminal, nothing cut


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_heading_never_wraps(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Report(plain=True).print_answers([_result("short"), _result("long " * 40)])
    headings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("──")]
    assert headings[0].startswith("── short ──")
    assert all(cell_width(heading) <= columns for heading in headings)


def test_one_answer_has_no_heading_and_several_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    done = replace(_result("a"), output="Text.")
    Report().print_answers([done])
    assert capsys.readouterr() == ("Text.\n", "")
    Report().print_answers([done, replace(_result("b"), output="Other.")])
    rule = "─" * 59
    assert capsys.readouterr() == (f"── a {rule}\nText.\n\n── b {rule}\nOther.\n", "")


def test_a_failure_is_told_on_standard_error_with_the_time_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    failed = replace(_result("a", FAILED), started_at=0, completed_at=94_000)
    Report().print_answers([failed])
    assert capsys.readouterr() == ("", "✗ Timed out after 7s. (ran for 1m 34s)\n")
    Report().print_answers([failed, failed])
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
    assert not Report(files=files).write_answers(results)
    told = capsys.readouterr().err
    assert told.endswith(f"Wrote {tmp_path / 'out' / 'b.md'}\n")
    assert "No space left on device" in told
    assert f"'pi-subagents sessions output {CREATED.session_id[:8]}' prints the answer" in told


def _result(name: str, end: Any = COMPLETED) -> RunResult:
    return Run(Path("/p/.pi/subagents/runs/r"), _state(name, end)).result


def _state(name: str, end: Any = COMPLETED) -> RunState:
    created: Any = msgspec.structs.replace(CREATED, name=name)
    return fold(RunState(), [created, STARTED, end])


def test_a_name_that_is_half_of_a_markup_breaks_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    Report(plain=True).print_summary([_result(r"drop \[/INST] tokens")])
    assert r"drop \[/INST] tokens" in capsys.readouterr().err


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return tmp_path / "project"


def write(project: Path, name: str, text: str = "Done.", folder: str = "out") -> Path:
    result = replace(Run(project, RunState(name=name)).result, output=text)
    files = AnswerFiles(project / folder, project)
    files.open()
    return files.write(result)


@pytest.mark.parametrize(
    ("task", "file"),
    [
        ("1: Review this diff", "1-Review-this-diff.md"),
        ("../../../etc/passwd", "etc-passwd.md"),
        ("/abs\0olute\n\x1b[31m", "absolute.md"),
        (".hidden", "hidden.md"),
        ("...", "task.md"),
        ("日本語の名前", "日本語の名前.md"),
        ("x" * 400, "x" * 120 + ".md"),
        ("語" * 400, "語" * 40 + ".md"),
    ],
)
def test_a_file_is_named_after_its_task_and_stays_in_its_directory(project: Path, task: str, file: str) -> None:
    assert write(project, task) == project / "out" / file
    assert (project / "out" / file).read_text() == "Done.\n"


def test_nothing_is_replaced(project: Path) -> None:
    assert [write(project, "same", text).name for text in ("one", "two", "three")] == [
        "same.md",
        "same-2.md",
        "same-3.md",
    ]
    assert (project / "out" / "same.md").read_text() == "one\n"


def test_a_link_that_a_project_brings_is_not_followed(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link, and links are not followed here"):
        write(project, "task")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_cannot_be_written_is_known_before_the_tasks_begin(project: Path) -> None:
    (project / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write into .*: Not a directory; choose another directory with -o"):
        AnswerFiles(project / "file" / "out", project).open()


def test_a_directory_that_is_there_and_takes_no_files_is_known_before_the_tasks_begin(project: Path) -> None:
    with pytest.raises(StoreError, match="cannot write into /proc: "):  # nobody, not even root, can make a file there
        AnswerFiles(Path("/proc"), project).open()
