"""Raw logs are bounded, private, and never a reason for anything to fail."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pi_subagents.store.writing import BoundedLog


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
