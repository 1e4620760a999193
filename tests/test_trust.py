"""Whether a file has power: who owns it, where it is, and what the user has decided about its directory."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import msgspec
import pytest

from pi_subagents.errors import StoreError
from pi_subagents.trust import Decisions, Trust, pi_decision

STRANGER = 12345
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


# --- which directories the user trusts: privately, one and no other, and until it is taken back ---------------------


@pytest.fixture
def decisions(tmp_path: Path) -> Decisions:
    return Decisions(tmp_path / "agent")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "below").mkdir(parents=True)
    return tmp_path / "project"


def test_nothing_is_trusted_until_it_is_said_and_once_it_is_taken_back(decisions: Decisions, project: Path) -> None:
    assert not decisions.trusts(project)
    decisions.trust(project)
    assert decisions.trusts(project)
    assert decisions.revoke(project)
    assert not decisions.trusts(project)
    assert not decisions.revoke(project)


def test_trust_can_be_taken_back_from_a_directory_that_is_gone(decisions: Decisions, project: Path) -> None:
    decisions.trust(project)
    shutil.rmtree(project)
    assert decisions.revoke(project)
    assert decisions.all() == []


def test_directories_above_and_below_are_not_trusted_with_it(decisions: Decisions, project: Path) -> None:
    decisions.trust(project)
    assert not decisions.trusts(project / "below")
    assert not decisions.trusts(project.parent)


def test_another_directory_that_comes_to_the_path_is_not_trusted(decisions: Decisions, project: Path) -> None:
    """On many file systems it even gets the same inode, as soon as the first is gone."""
    for _ in range(20):
        decisions.trust(project)
        shutil.rmtree(project)
        project.mkdir()
        assert not decisions.trusts(project)


@pytest.mark.parametrize("name", ["file", "pipe", "device"])
def test_only_a_directory_can_be_trusted(decisions: Decisions, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    with pytest.raises(StoreError, match=f"cannot trust .*{name}: Not a directory"):
        decisions.trust(tmp_path / name)
    assert decisions.all() == []


def test_a_directory_that_cannot_be_told_from_its_successor_is_not_trusted_for_good(
    decisions: Decisions, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are file systems that keep no birth times, and images whose birth times are all zero."""
    decisions.trust(project)
    (saved,) = decisions.all()
    monkeypatch.setattr("pi_subagents.trust._born", lambda *_: 0)
    with pytest.raises(StoreError, match=r"does not record when it was created.*use --trust"):
        decisions.trust(project)
    assert decisions.all() == [saved]
    decisions.path.write_bytes(msgspec.json.encode({"trusted": [msgspec.structs.replace(saved, born=0)]}))
    assert not decisions.trusts(project)


def test_a_link_to_a_trusted_directory_is_that_directory(decisions: Decisions, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    decisions.trust(tmp_path / "link")
    assert decisions.trusts(project)


def test_trusting_twice_says_it_once_and_to_nobody_else(decisions: Decisions, project: Path) -> None:
    decisions.trust(project)
    decisions.trust(project)
    assert len(decisions.all()) == 1
    assert stat.S_IMODE(decisions.path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"trusted": 1}', '{"trusted": [{"path": "/"}]}', "\0" * 100, "[" * 9999]
)
def test_a_damaged_file_trusts_nobody(decisions: Decisions, project: Path, content: str) -> None:
    decisions.trust(project)
    decisions.path.write_text(content)
    assert not decisions.trusts(project)
    decisions.trust(project)
    assert decisions.trusts(project)


def test_a_decision_that_cannot_be_kept_is_an_error(decisions: Decisions, project: Path, tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("in the way")
    with pytest.raises(StoreError, match="cannot write"):
        decisions.trust(project)


def test_the_file_is_not_written_through_a_link(decisions: Decisions, project: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    decisions.path.parent.mkdir(parents=True)
    decisions.path.symlink_to(precious)
    decisions.trust(project)
    assert precious.read_text() == "precious"


@pytest.mark.parametrize(
    ("saved", "decision"),
    [({}, None), ({".": True}, True), ({".": False}, False), ({"..": True}, True), ({"..": True, ".": False}, False)],
)
def test_pi_is_believed_about_the_nearest_directory(
    project: Path, tmp_path: Path, saved: dict[str, bool], decision: bool | None
) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    paths = {os.path.normpath(project / name): value for name, value in saved.items()}
    (folder / "trust.json").write_text(json.dumps(paths))
    assert pi_decision(project, folder) is decision


# --- what follows for a file ------------------------------------------------------------------------------------


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

    def objection_to_own(self) -> str | None:
        return self.trust().objection(self.own, None)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_a_project_has_no_power_and_the_sentence_says_how_to_give_it(ground: Ground) -> None:
    assert ground.objection() == (
        f"because {ground.project} is not trusted; if you trust it, run: pi-subagents trust {ground.project}"
    )


@pytest.mark.parametrize("told", ["us", "pi"])
def test_a_project_has_power_once_we_or_pi_were_told(ground: Ground, told: str) -> None:
    if told == "us":
        Decisions(ground.agent_dir).trust(ground.project)
    else:
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


@only_root
@pytest.mark.parametrize("part", ["project", "folder", "file"])
def test_nothing_that_belongs_to_somebody_else_has_power(ground: Ground, part: str) -> None:
    Decisions(ground.agent_dir).trust(ground.project)
    path = {"project": ground.project, "folder": ground.file.parent, "file": ground.file}[part]
    os.chown(path, STRANGER, STRANGER)
    assert ground.objection(decided=True) == f"because {path} belongs to another user"


@only_root
def test_a_link_to_somebody_elses_file_has_no_power(ground: Ground, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.json"
    theirs.write_text("{}")
    os.chown(theirs, STRANGER, STRANGER)
    ground.file.unlink()
    ground.file.symlink_to(theirs)
    assert ground.objection(decided=True) == f"because {ground.file} belongs to another user"


@pytest.mark.parametrize("part", ["file", "folder"])
def test_the_users_own_file_has_power_unless_others_can_write_it(ground: Ground, part: str) -> None:
    assert ground.objection_to_own() is None
    path = ground.own if part == "file" else ground.agent_dir
    path.chmod(0o777)
    assert ground.objection_to_own() == f"because other users can write {path}; run: chmod go-w {path}"
    path.chmod(0o1757)  # as /tmp: what is in it can be replaced by its owner alone
    assert ground.objection_to_own() is None


@only_root
def test_an_own_file_that_belongs_to_somebody_else_has_none(ground: Ground) -> None:
    os.chown(ground.own, STRANGER, STRANGER)
    assert ground.objection_to_own() == f"because {ground.own} belongs to another user"


@only_root
def test_the_users_private_group_is_the_user(ground: Ground) -> None:
    ground.own.chmod(0o660)  # the group of root has no other members
    private = ground.objection_to_own()
    os.chown(ground.own, -1, STRANGER)
    shared = ground.objection_to_own()
    assert (private, bool(shared)) == (None, True)
