"""The program's own log: where it goes, and that no credential goes with it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_subagents.surfaces.cli.logs import set_up_logging

LOGGER = logging.getLogger("pi_subagents")
KEY = "sk-of-the-caller-123"


@pytest.fixture(autouse=True)
def _logger_as_it_was() -> Iterator[None]:
    before = (LOGGER.handlers[:], LOGGER.level, LOGGER.propagate)
    yield
    for handler in LOGGER.handlers:
        handler.close()
    LOGGER.handlers[:], LOGGER.level, LOGGER.propagate = before[0], before[1], before[2]


def test_a_file_gets_the_log_for_its_owner_alone_and_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "engine.log"
    monkeypatch.setenv("PI_SUBAGENTS_LOG", str(path))
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", KEY)
    set_up_logging(0, None)
    logging.getLogger("pi_subagents.somewhere").info("trying %s", KEY)
    assert "INFO pi_subagents.somewhere: trying [redacted]" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr() == ("", "")  # nobody asked for it on the terminal


@pytest.mark.parametrize(
    ("verbose", "level", "shown"),
    [(0, None, "W"), (1, None, "IW"), (2, None, "DIW"), (0, "debug", "DIW"), (2, "error", "")],
)
def test_stderr_gets_as_much_as_was_asked_for_and_stdout_nothing(
    capsys: pytest.CaptureFixture[str], verbose: int, level: str | None, shown: str
) -> None:
    set_up_logging(verbose, level)
    for number in (logging.DEBUG, logging.INFO, logging.WARNING):
        logging.getLogger("pi_subagents.somewhere").log(number, "hello")
    out, err = capsys.readouterr()
    assert "".join(line.split()[2][0] for line in err.splitlines()) == shown
    assert out == ""


def test_a_log_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PI_SUBAGENTS_LOG", str(tmp_path / "missing" / "engine.log"))
    set_up_logging(0, None)
    assert f"cannot log to {tmp_path}/missing/engine.log: No such file or directory" in capsys.readouterr().err
