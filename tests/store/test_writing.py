"""A run directory appears complete or not at all; its files change as a whole, and its logs are bounded."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pi_subagents.errors import StoreError
from pi_subagents.harness import RunFile
from pi_subagents.models import event as ev
from pi_subagents.store import JOURNAL_FILE, META_FILE, RESULT_FILE, RunRecord, is_held, publish, read_journal
from pi_subagents.store.writing import BoundedLog

CREATED = ev.Created(run_id="r", session_id="s", name="n", prompt="p", cwd="/", harness="pi-json")


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return publish(tmp_path / "runs" / "r", {"runId": "r"}, CREATED)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_published_run_is_complete_and_held(record: RunRecord) -> None:
    assert is_held(record.path)
    assert json.loads((record.path / META_FILE).read_bytes()) == {"runId": "r"}
    assert list(read_journal(record.path / JOURNAL_FILE)) == [CREATED]
    record.close()
    assert not is_held(record.path)


def test_the_files_an_agent_needs_are_there_before_it_is(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text("{}")
    files = [
        RunFile("child-session.jsonl"),
        RunFile("system-prompt.md", b"Be brief."),
        RunFile("agent-dir/auth.json", b"{}"),
        RunFile("agent-dir/models.json", link_to=tmp_path / "models.json"),
    ]
    record = publish(tmp_path / "runs" / "r", {}, CREATED, files)
    assert (record.path / "system-prompt.md").read_text() == "Be brief."
    assert (record.path / "agent-dir").stat().st_mode & 0o777 == 0o700
    assert (record.path / "agent-dir" / "models.json").resolve() == tmp_path / "models.json"
    record.remove("agent-dir")
    assert (tmp_path / "models.json").exists()
    assert not (record.path / "agent-dir").exists()
    record.close()


@pytest.mark.parametrize("obstacle", ["runs is a file", "the run is there already", "a file that cannot be made"])
def test_a_record_that_cannot_be_made_leaves_nothing_behind(obstacle: str, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    files = [RunFile("x"), RunFile("x")] if obstacle == "a file that cannot be made" else []
    if obstacle == "runs is a file":
        runs.write_text("")
    if obstacle == "the run is there already":
        (runs / "r").mkdir(parents=True)
        (runs / "r" / "precious").touch()
    before = open_descriptors()
    with pytest.raises(StoreError, match=f"cannot keep a record of the run in {runs}: "):
        publish(runs / "r", {}, CREATED, files)
    assert open_descriptors() == before
    if runs.is_dir():
        assert list(runs.glob(".*.new")) == []
        assert [path.name for path in runs.glob("r/*")] in ([], ["precious"])


def test_a_project_whose_git_was_not_told_is_told_the_next_time(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    publish(tmp_path / "runs" / "r", {}, CREATED).close()
    assert (tmp_path / "runs" / ".gitignore").read_text() == "*\n"


def test_a_result_is_not_seen_before_it_is_published(record: RunRecord) -> None:
    record.draft_result({"status": "completed"})
    assert not (record.path / RESULT_FILE).exists()
    record.publish_result()
    assert json.loads((record.path / RESULT_FILE).read_bytes()) == {"status": "completed"}
    record.publish_result()
    record.close()


def test_what_an_agent_wrote_is_rewritten_as_a_whole_and_only_if_it_changes(record: RunRecord) -> None:
    path = record.path / "notes"
    path.write_bytes(b"key and key")
    inode = path.stat().st_ino
    record.leave_clean((), ["notes"], lambda content: content.replace(b"nothing", b"x"))
    assert path.stat().st_ino == inode
    record.leave_clean((), ["notes", "not there"], lambda content: content.replace(b"key", b"[redacted]"))
    assert path.read_bytes() == b"[redacted] and [redacted]"
    assert path.stat().st_mode & 0o777 == 0o600
    assert not (record.path / "not there").exists()
    record.close()


def test_a_log_appears_with_its_first_word(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log")
    log.write(b"")
    assert not (tmp_path / "log").exists()
    log.write(b"one\n")
    log.write(b"two\n")
    log.close()
    log.close()
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_a_log_stops_at_its_bound_and_says_so_once(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log", max_bytes=10)
    for _ in range(5):
        log.write(b"123456")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"1234561234\n[the rest was not kept]\n"


def test_a_log_that_is_exactly_full_takes_no_more(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log", max_bytes=6)
    log.write(b"123456")
    log.write(b"7")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"123456\n[the rest was not kept]\n"


def test_a_log_that_cannot_be_written_warns_once_and_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = BoundedLog(Path("/dev/full"))
    with caplog.at_level(logging.WARNING):
        log.write(b"one")
        log.write(b"two")
    log.close()
    assert [record.message for record in caplog.records] == ["cannot write /dev/full: No space left on device"]
