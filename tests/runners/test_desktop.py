"""A directory is shown where there is a desktop, and nothing is started where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi_subagents.processes.foreground import open_on_desktop
from tests.kit.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="macOS has another opener")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with an opener that writes down what it was asked to open."""
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(
        f'#!/bin/sh\nprintf %s "$1" > "{tmp_path}/asked.new" && mv "{tmp_path}/asked.new" "{tmp_path}/asked"\n'
    )
    opener.chmod(0o755)
    return opener.parent


@pytest.mark.parametrize("display", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_the_desktop_is_asked_to_show_it(programs: Path, tmp_path: Path, display: str) -> None:
    asked = tmp_path / "asked"
    assert open_on_desktop(tmp_path / "a run", {"PATH": f"{programs}:/usr/bin:/bin", display: ":0"})
    until(asked.exists)
    assert asked.read_text() == str(tmp_path / "a run")


def test_without_a_display_or_an_opener_that_can_be_run_it_says_no(programs: Path, tmp_path: Path) -> None:
    assert not open_on_desktop(tmp_path, {"PATH": str(programs)})
    assert not open_on_desktop(tmp_path, {"PATH": str(programs), "DISPLAY": ""})
    assert not open_on_desktop(tmp_path, {"PATH": str(tmp_path), "DISPLAY": ":0"})
    (programs / "xdg-open").write_text("#!/does/not/exist\n")
    assert not open_on_desktop(tmp_path, {"PATH": str(programs), "DISPLAY": ":0"})
    assert not (tmp_path / "asked").exists()
