"""What holds for every test: nothing of the user's is read or written, and no key of theirs is used."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from pi_subagents.testing import SCRIPTED_AGENT
from tests.kit import warm
from tests.kit.sessions import Shelf

# A loaded machine is no reason to fail, nor is chance: `./scripts/soak` is what looks for new examples.
settings.register_profile(
    "project",
    deadline=None,
    database=None,
    derandomize="SOAK_SEED" not in os.environ,
    max_examples=int(os.environ.get("SOAK_EXAMPLES", "100")),
)
settings.load_profile("project")


def _hear_signals() -> None:
    """Let programs that tests start be ended by signals, although a script, `&` or `nohup` has us ignore some.

    What is ignored is inherited by every program that is started; what is handled, even by doing nothing, is not.
    """
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, signal.default_int_handler)


with suppress(ValueError):  # not in the main thread
    _hear_signals()


warm.install()


def pytest_xdist_auto_num_workers() -> int:
    """Three workers a core: they spend much of their time waiting for the programs that they start."""
    return 3 * len(os.sched_getaffinity(0))


_FOREIGN_PREFIXES = ("PI_", "XDG_")
_FOREIGN_SUFFIXES = ("_API_KEY", "_OAUTH_TOKEN")


@pytest.fixture(autouse=True)
def _isolated_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home, and none of the variables that lead elsewhere; pi stays reachable under sys.prefix."""
    for variable in list(os.environ):
        if variable.startswith(_FOREIGN_PREFIXES) or variable.endswith(_FOREIGN_SUFFIXES):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture(autouse=True)
def _cold_start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm.Popen, "is_cold", request.node.get_closest_marker("cold") is not None)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """A project without runs, and an agent directory that is yet to be made."""
    shelf = Shelf(tmp_path / "project", tmp_path / "agent")
    shelf.project.mkdir()
    yield shelf
    shelf.close()


@pytest.fixture
def shelf_here(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """The same for whoever works in the project, with agents that play the script they are given."""
    (shelf.project / ".pi").mkdir()
    monkeypatch.chdir(shelf.project)
    monkeypatch.setenv("PI_AGENT_DIR", str(shelf.agent_dir))
    monkeypatch.setenv(*SCRIPTED_AGENT)
    return shelf


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A directory so deep that no stack of function calls reaches the file at its end."""
    folder, name = os.open(tmp_path, os.O_RDONLY), "deep"
    for _ in range(1500):
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder, name = below, "x"
    with os.fdopen(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=folder), "wb") as file:
        file.write(b"x" * 10_000)
    os.close(folder)
    yield tmp_path / "deep"
    subprocess.run(["rm", "-rf", str(tmp_path / "deep")], check=True)  # pytest itself could not
