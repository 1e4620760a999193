"""What writes into a project follows no link out of it: every path that a command makes is put in its way."""

from __future__ import annotations

import itertools
import logging
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.installing import CLIENTS, Scope
from pi_subagents.place import Place
from pi_subagents.surfaces.cli.app import main
from pi_subagents.testing import SCRIPTED_AGENT
from tests.installing.kit import User
from tests.kit.sessions import Shelf, says

SESSION = "a3f7b9c2d1e8f4a1"

# What writes, and what undoes it.
WRITERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "pi": (("install", "pi", "--project"), ("uninstall", "pi", "--project")),
    **{
        client: (
            ("install", "mcp", "--scope", "project", "--client", client),
            ("uninstall", "mcp", "--scope", "project", "--client", client),
        )
        for client in CLIENTS
    },
    "profile": (("profile", "create", "new", "--model", "m"), ("profile", "delete", "new", "--yes")),
    "preset": (("preset", "new", "new"), ()),
    "init": (("init",), ()),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("precious")
    monkeypatch.chdir(project)
    monkeypatch.setenv(*SCRIPTED_AGENT)
    return project


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """The command sets up the log of its process, which here is that of other tests, too."""
    logger = logging.getLogger("pi_subagents")
    before = logger.propagate, logger.level, list(logger.handlers), logging.raiseExceptions
    yield
    logger.propagate, logger.level, logger.handlers, logging.raiseExceptions = before


def run(arguments: Sequence[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def snapshot(root: Path) -> dict[str, Any]:
    """Everything there is without following links, with what each holds."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else str(path.readlink()) if stat.S_ISLNK(mode) else None
        found[str(path)] = (stat.S_IFMT(mode), content)
    return found


def made_by(arguments: Sequence[str], project: Path) -> list[Path]:
    """Every path that a command makes in a clean project."""
    before = set(project.rglob("*"))
    assert run(arguments) == 0
    return sorted(set(project.rglob("*")) - before)


def link(path: Path, aside: Path) -> None:
    """What was there is now elsewhere, and a link leads to it."""
    path.rename(aside / "target")
    path.symlink_to(aside / "target")


def dangling(path: Path, aside: Path) -> None:
    path.rename(aside / "target")
    path.symlink_to(aside / "missing")


def pipe(path: Path, aside: Path) -> None:
    path.rename(aside / "target")
    os.mkfifo(path)


def device(path: Path, aside: Path) -> None:
    path.rename(aside / "target")
    path.symlink_to("/dev/zero")


def other_kind(path: Path, aside: Path) -> None:
    was_folder = path.is_dir()
    path.rename(aside / "target")
    if was_folder:
        path.write_text("precious")
    else:
        path.mkdir()


OBSTACLES: tuple[Callable[[Path, Path], None], ...] = (link, dangling, pipe, device, other_kind)


@pytest.mark.parametrize("writer", WRITERS)
def test_whatever_is_in_the_way_is_named_and_nothing_is_written_or_deleted(
    writer: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    does, undoes = WRITERS[writer]
    for path, obstacle in itertools.product(made_by(does, project), OBSTACLES):
        aside = tmp_path / "elsewhere" / path.name
        aside.mkdir()
        obstacle(path, aside)
        before = snapshot(tmp_path)
        for arguments in filter(None, (does, undoes)):
            capsys.readouterr()
            code = run(arguments)
            said = capsys.readouterr().err
            assert snapshot(tmp_path) == before, (arguments, path, obstacle)
            # A profile that cannot be reached is one that is not there, which is no reason to look further.
            assert code == 1, (arguments, path, obstacle, said)
            assert str(path) in said or "Unknown profile" in said
            assert "Traceback" not in said
        put_back(path, aside)


def put_back(path: Path, aside: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
    (aside / "target").rename(path)
    aside.rmdir()


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.__name__)
def test_a_backup_that_is_none_is_named_and_not_taken_for_one(
    obstacle: Callable[[Path, Path], None], project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    does, undoes = WRITERS["claude"]
    (project / ".mcp.json").write_text("{}")
    assert run(does) == 0
    backup = project / ".mcp.json.bak"
    obstacle(backup, tmp_path / "elsewhere")
    before = snapshot(tmp_path)
    assert run(undoes) == 1
    assert str(backup) in capsys.readouterr().err
    assert snapshot(tmp_path) == before


@contextmanager
def session_here() -> Iterator[None]:
    """Somebody has been asked something in this directory."""
    shelf = Shelf(Path.cwd(), Place.here().agent_dir)
    shelf.add(says("Done."), session_id=SESSION)
    yield
    shelf.close()


def export(target: Path | str) -> int:
    return run(("sessions", "export", SESSION, "-o", str(target)))


@pytest.mark.parametrize("below", ["", "sub"], ids=["in the project", "in a submodule"])
@pytest.mark.parametrize("way", ["relative", "absolute", "alias"])
def test_an_export_follows_no_link_of_a_project_however_it_is_named(
    below: str,
    way: str,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (project / "sub" / ".git").mkdir(parents=True)
    monkeypatch.chdir(project / below)
    (tmp_path / "alias").symlink_to(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    (project / "out.md").symlink_to(elsewhere / "precious")
    (project / "folder").symlink_to(elsewhere)
    os.mkfifo(project / "pipe.md")
    above = {"relative": Path(".." if below else "."), "absolute": project, "alias": tmp_path / "alias" / project.name}
    before = snapshot(elsewhere)
    with session_here():
        for name in ("out.md", "folder", "folder/new.md", "pipe.md"):
            assert export(above[way] / name) == 1
            said, first = capsys.readouterr().err, name.partition("/")[0]
            assert first in said
            assert below or way == "alias" or first == "pipe.md" or f"{project / first} is a link" in said
            assert snapshot(elsewhere) == before
        assert export(above[way] / "plain.md") == 0
    assert (project / "plain.md").read_text().startswith("# task")


@pytest.mark.parametrize("name", ["elsewhere", "pages"])
def test_an_export_goes_elsewhere_and_through_the_users_own_links_to_directories(
    name: str, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "pages").symlink_to(tmp_path / "elsewhere")
    with session_here():
        assert export(tmp_path / name) == 0
    assert (tmp_path / "elsewhere" / f"{SESSION}.md").read_text().startswith("# task")


def test_a_link_of_the_users_to_somebody_elses_file_is_refused(user: User) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    theirs = user.root / "theirs.json"
    theirs.write_text("{}")
    os.chown(theirs, 12345, 12345)
    (user.home / ".claude.json").symlink_to(theirs)
    with pytest.raises(Exception, match="belongs to another user"):
        user.install("claude")
    assert theirs.read_text() == "{}"


@pytest.mark.parametrize("scope", ["user", "project"])
def test_in_the_home_directory_links_are_the_users_own(
    scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = User(tmp_path)
    monkeypatch.setenv("HOME", str(user.project))
    (tmp_path / "dotfiles").mkdir()
    (user.home / ".cursor").symlink_to(tmp_path / "dotfiles")
    (user.project / ".cursor").symlink_to(tmp_path / "dotfiles")
    user.install("cursor", scope)
    assert "pi-subagents" in (tmp_path / "dotfiles" / "mcp.json").read_text()
