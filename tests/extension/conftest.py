"""The real pi with the extension in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_subagents import __version__
from pi_subagents.installing import pi_extension
from pi_subagents.offline import Script
from tests.pi.fixtures import pi, play
from tests.pi.stage import Play, Stage

__all__ = ["pi", "play"]

PlayWithExtension = Callable[[Script], Stage]


@pytest.fixture
def play_with_extension(play: Play) -> PlayWithExtension:
    """A function that makes a stage on which pi has the extension, two presets' worth of agents and a profile."""

    def build(script: Script) -> Stage:
        stage = play(script)
        pi_extension.install(stage.place, "user", __version__)
        stage.write(
            ".pi/subagents/scout.md", "---\nname: scout\ndescription: Looks.\nmodel: offline/scripted\n---\nLook."
        )
        stage.write_profile("writer", "model: offline/scripted")
        return stage

    return build


def change_manifest(stage: Stage, **members: Any) -> Path:
    """Let the installed extension say something else of itself; returns its folder."""
    folder = stage.agent_dir / "extensions" / "pi-subagents"
    manifest = folder / "tools.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **members}))
    return folder
