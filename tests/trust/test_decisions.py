"""Which directories the user trusts: kept privately, for one directory and no other, and taken back at any time."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import msgspec
import pytest

from pi_subagents.errors import StoreError
from pi_subagents.trust import Decisions, pi_decision


@pytest.fixture
def decisions(tmp_path: Path) -> Decisions:
    return Decisions(tmp_path / "agent")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "below").mkdir(parents=True)
    return tmp_path / "project"


def test_nothing_is_trusted_until_it_is_said(decisions: Decisions, project: Path) -> None:
    assert not decisions.trusts(project)
    decisions.trust(project)
    assert decisions.trusts(project)


def test_trust_can_be_taken_back(decisions: Decisions, project: Path) -> None:
    decisions.trust(project)
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


def test_what_is_decided_is_nobody_elses_business(decisions: Decisions, project: Path) -> None:
    decisions.trust(project)
    assert stat.S_IMODE(decisions.path.stat().st_mode) == 0o600


def test_trusting_twice_says_it_once(decisions: Decisions, project: Path) -> None:
    decisions.trust(project)
    decisions.trust(project)
    assert len(decisions.all()) == 1


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
