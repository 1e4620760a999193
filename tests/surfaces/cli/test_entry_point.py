"""Every command as people start it, by a new interpreter: most other tests fork it from one that has it loaded."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.kit import command, warm
from tests.surfaces.cli.test_troubles import Place, usual_calls


@pytest.mark.parametrize("call", usual_calls(), ids=" ".join)
def test_a_new_interpreter_ends_and_speaks_as_a_warm_one(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for kind in ("cold", "warm"):
        monkeypatch.setattr(warm.Popen, "is_cold", kind == "cold")
        (tmp_path / kind).mkdir()
        place = Place(tmp_path / kind)
        ends.append(_end(command.run(*call, cwd=place.project, environ=place.environ())))
    assert ends[0] == ends[1]


def _end(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """The exit code, and how each stream begins, but for ids: later there are times and directories."""
    out, err = (re.sub(r"[0-9a-f]{8}|\s*\b\d+[smh] ago", "ID", stream)[:10] for stream in (done.stdout, done.stderr))
    return done.returncode, out, err
