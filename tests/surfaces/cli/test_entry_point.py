"""Every command as people start it, by a new interpreter: most other tests fork it from one that has it loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import warm
from tests.surfaces.cli.desk import TIMEOUT_S, Desk
from tests.surfaces.cli.test_troubles import Furnished, usual_calls


@pytest.mark.parametrize("call", usual_calls(), ids=" ".join)
def test_a_new_interpreter_ends_and_speaks_as_a_warm_one(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for kind in ("cold", "warm"):
        monkeypatch.setattr(warm.Popen, "is_cold", kind == "cold")
        ends.append(_end(Furnished(tmp_path / kind).command(*call)))
    assert ends[0] == ends[1]


def _end(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """The exit code, and how each stream begins, but for ids: later there are times and directories."""
    out, err = (re.sub(r"[0-9a-f]{8}|\s*\b\d+[smh] ago", "ID", stream)[:10] for stream in (done.stdout, done.stderr))
    return done.returncode, out, err


def test_without_a_terminal_it_names_another_way(desk: Desk) -> None:
    done = desk.call("watch")
    assert (done.exit_code, done.out) == (1, "")
    assert done.err == "error: watch needs a terminal; 'pi-subagents sessions list --all' lists the runs without one\n"


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
