"""Whether a file has power: who owns it, where it is, and what was decided about it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi_subagents.trust import Decisions, Trust

STRANGER = 12345


class Ground:
    """An agent directory, and a project with a settings file."""

    def __init__(self, root: Path) -> None:
        self.agent_dir = root / "agent"
        self.project = root / "project"
        self.own = self.agent_dir / "settings.json"
        self.file = self.project / ".pi" / "settings.json"
        for path in (self.own, self.file):
            path.parent.mkdir(parents=True)
            path.write_text("{}")

    def trust(self, decided: bool | None = None) -> Trust:
        return Trust(self.agent_dir, self.project, decided)

    def objection(self, decided: bool | None = None) -> str | None:
        return self.trust(decided).objection(self.file, self.project)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_a_project_has_no_power_and_the_sentence_says_how_to_give_it(ground: Ground) -> None:
    assert ground.objection() == (
        f"because {ground.project} is not trusted; if you trust it, run: pi-subagents trust {ground.project}"
    )


def test_a_trusted_project_has_power(ground: Ground) -> None:
    Decisions(ground.agent_dir).trust(ground.project)
    assert ground.objection() is None


def test_what_pi_was_told_counts(ground: Ground) -> None:
    (ground.agent_dir / "trust.json").write_text(json.dumps({str(ground.project): True}))
    assert ground.objection() is None


def test_what_was_decided_for_this_call_wins(ground: Ground) -> None:
    assert ground.objection(decided=True) is None
    Decisions(ground.agent_dir).trust(ground.project)
    (ground.agent_dir / "trust.json").write_text(json.dumps({str(ground.project): True}))
    assert ground.objection(decided=False) == f"because {ground.project} is not trusted in this session"


def test_what_was_decided_for_this_call_is_about_its_project_alone(ground: Ground, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert ground.trust(decided=True).trusts(ground.project)
    assert not ground.trust(decided=True).trusts(other)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("part", ["project", "folder", "file"])
def test_nothing_that_belongs_to_somebody_else_has_power(ground: Ground, part: str) -> None:
    Decisions(ground.agent_dir).trust(ground.project)
    path = {"project": ground.project, "folder": ground.file.parent, "file": ground.file}[part]
    os.chown(path, STRANGER, STRANGER)
    assert ground.objection(decided=True) == f"because {path} belongs to another user"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_link_to_somebody_elses_file_has_no_power(ground: Ground, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.json"
    theirs.write_text("{}")
    os.chown(theirs, STRANGER, STRANGER)
    ground.file.unlink()
    ground.file.symlink_to(theirs)
    assert ground.objection(decided=True) == f"because {ground.file} belongs to another user"


def test_the_users_own_file_has_power(ground: Ground) -> None:
    assert ground.trust().objection(ground.own, None) is None


@pytest.mark.parametrize("part", ["file", "folder"])
def test_an_own_file_that_others_can_write_has_none(ground: Ground, part: str) -> None:
    path = ground.own if part == "file" else ground.agent_dir
    path.chmod(0o777)
    assert ground.trust().objection(ground.own, None) == (
        f"because other users can write {path}; run: chmod go-w {path}"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_an_own_file_that_belongs_to_somebody_else_has_none(ground: Ground) -> None:
    os.chown(ground.own, STRANGER, STRANGER)
    assert ground.trust().objection(ground.own, None) == f"because {ground.own} belongs to another user"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to any group")
def test_the_users_private_group_is_the_user(ground: Ground) -> None:
    ground.own.chmod(0o660)  # the group of root has no other members
    private = ground.trust().objection(ground.own, None)
    os.chown(ground.own, -1, STRANGER)
    shared = ground.trust().objection(ground.own, None)
    assert (private, bool(shared)) == (None, True)
