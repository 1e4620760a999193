"""The real pi in a stranger's project: it loads nothing that it would not have loaded without us."""

from __future__ import annotations

import pytest

from pi_subagents.offline import Say, Script
from tests.pi.fixtures import pi, play
from tests.pi.stage import Play, Stage

__all__ = ["pi", "play"]

_EVIL = "import { writeFileSync } from 'node:fs';\nexport default () => { writeFileSync('%s', ''); };\n"


@pytest.fixture
def stage(play: Play) -> Stage:
    """A project with an extension that says when it is loaded."""
    stage = play(Script().otherwise([Say("Hello.")]))
    stage.write(".git/HEAD", "ref: refs/heads/main\n")
    stage.write("evil.ts", _EVIL % (stage.root / "loaded"))
    return stage


def is_loaded(stage: Stage) -> bool:
    return (stage.root / "loaded").exists()


def test_an_extension_of_the_project_is_not_loaded(stage: Stage) -> None:
    stage.write(".pi/extensions/evil.ts", _EVIL % (stage.root / "loaded"))
    stage.write(".pi/settings.json", '{"extensions": ["../evil.ts"], "defaultProjectTrust": "always"}')
    done = stage.command("run", "Say hello")
    assert done.returncode == 0, done.stderr
    assert not is_loaded(stage)


@pytest.mark.parametrize(
    "line", ["extensions: [./evil.ts]", "extraArgs: [--extension, ./evil.ts]", "extraArgs: [--approve]"]
)
def test_a_profile_of_the_project_brings_no_extension_along_before_it_is_trusted(line: str, stage: Stage) -> None:
    stage.write(".pi/extensions/evil.ts", _EVIL % (stage.root / "loaded"))
    stage.write_profile("strong", line)
    stage.command("trust", "--revoke")
    done = stage.command("run", "-p", "strong", "Say hello")
    assert not is_loaded(stage)
    assert done.returncode == 2
    assert "pi-subagents trust" in done.stdout + done.stderr


def test_a_trusted_profile_brings_its_extension_along(stage: Stage) -> None:
    stage.write_profile("strong", "extensions: [./evil.ts]")
    done = stage.command("run", "--trust", "-p", "strong", "Say hello")
    assert done.returncode == 0, done.stdout + done.stderr
    assert is_loaded(stage)
