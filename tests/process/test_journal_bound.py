"""The setting `maxJournalMb` holds for every run, whoever holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.models import event as ev
from pi_subagents.store import JOURNAL_FILE, Journal, read_journal
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import writes
from tests.background.kit import KEEPER_MARK, make_yard
from tests.process.kit import make_stage

FLOOD = writes(b"x" * 999 + b"\n", times=4000)
DONE = prints(*answer("Done."))


def check(journal: Path) -> None:
    assert 1_000_000 < journal.stat().st_size < 1_500_000
    dropped = [event for event in read_journal(journal) if isinstance(event, ev.DetailsDropped)]
    assert [event.bound for event in dropped] == [1_000_000]


async def test_a_run_in_the_foreground_keeps_to_the_setting(tmp_path: Path) -> None:
    stage = make_stage(tmp_path, "guard", maxJournalMb=1)
    result = await stage.run(FLOOD, DONE)
    assert (result.status, result.output) == ("completed", "Done.")
    check(stage.run_dirs[0] / JOURNAL_FILE)


async def test_a_run_in_the_background_keeps_to_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yard = make_yard(tmp_path, maxJournalMb=1)
    monkeypatch.setenv(KEEPER_MARK, yard.keeper_mark)
    try:
        run_dir = await yard.launch(FLOOD, DONE)
        row = await yard.see_the_end(run_dir)
    finally:
        yard.kill_everybody()
    assert (row["status"], row["finalText"]) == ("completed", "Done.")
    check(run_dir / JOURNAL_FILE)


def test_who_goes_on_with_a_journal_counts_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL_FILE
    for _ in range(2):
        journal = Journal(path)
        journal.append([ev.Output(text="x" * 1000), ev.Exited(exit_code=0)])
        assert journal.size == path.stat().st_size
        journal.close()
