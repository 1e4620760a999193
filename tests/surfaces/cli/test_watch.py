"""`watch` where it cannot work: one sentence says why, and what to do instead."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from pi_subagents.errors import InvalidCall
from pi_subagents.surfaces.cli.watch import watch
from tests.surfaces.cli.session_desk import TIMEOUT_S, Desk


def test_without_textual_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pi_subagents.surfaces.cli.watch.find_spec", lambda _name: None)
    error = CliRunner().invoke(watch).exception
    assert isinstance(error, InvalidCall)
    assert str(error) == "watch needs textual, which is not installed: pip install 'pi-subagents[watch]'"


def test_without_a_terminal_it_names_another_way(desk: Desk) -> None:
    process = desk.start("watch")
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (1, "")
    assert err == "error: watch needs a terminal; 'pi-subagents sessions list --all' prints the runs anywhere\n"


def test_the_command_line_does_not_pay_for_it(desk: Desk) -> None:
    for arguments in (["--help"], ["watch", "--help"]):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "pi_subagents", *arguments],
            env=desk.environ,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        assert "click" in done.stderr
        assert "textual" not in done.stderr
