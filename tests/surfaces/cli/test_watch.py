"""`watch` where it cannot work: one sentence says why, and what to do instead."""

from __future__ import annotations

import subprocess
import sys

from tests.surfaces.cli.session_desk import TIMEOUT_S, Desk


def test_without_a_terminal_it_names_another_way(desk: Desk) -> None:
    process = desk.start("watch")
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (1, "")
    assert err == "error: watch needs a terminal; 'pi-subagents sessions list --all' lists the runs without one\n"


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
