"""The report at the end fits its terminal: names are cut and columns left out, a session id never."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi_subagents.fold import RunState, fold
from pi_subagents.progress import cell_width
from pi_subagents.results import run_result
from pi_subagents.surfaces.cli.report import print_answers, print_summary
from tests.progress.windows_kit import COMPLETED, CREATED, STARTED

NAMES = ("map the project and everything in it", "日本語の名前はここでも切られる", "[red]short")


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_every_session_id_is_whole(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    results = [run_result(_state(name), Path("/p/.pi/subagents/runs/r")) for name in NAMES]
    print_summary(results, styled=False)
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if CREATED.session_id[:8] in line]
    assert len(rows) == len(NAMES)
    assert all(cell_width(line) <= columns for line in rows)
    assert ("cost" in lines[0]) is (columns >= 60)
    assert any("[red]short" in row or "[red]s" in row for row in rows)


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_heading_never_wraps(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_answers([run_result(_state("short"), Path("/p"))], styled=False)
    heading = capsys.readouterr().out.splitlines()[0]
    assert heading.startswith("── short ──")
    assert cell_width(heading) <= columns


def _state(name: str) -> RunState:
    created: Any = msgspec.structs.replace(CREATED, name=name)
    return fold(RunState(), [created, STARTED, COMPLETED])
