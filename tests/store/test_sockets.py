"""Sockets of processes that were killed do not pile up, and those of the living are left alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pi_subagents.paths import runtime_dir
from pi_subagents.store.slots import new_address, remove_if_dead

HOUR_S = 3600


@pytest.fixture(autouse=True)
def short_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with TemporaryDirectory(prefix="sockets-", dir="/tmp") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def listener(name: str, *, age_s: float = HOUR_S) -> tuple[Path, socket.socket]:
    path = runtime_dir() / f"{name}.sock"
    line = socket.socket(socket.AF_UNIX)
    line.bind(str(path))
    line.listen()
    os.utime(path, (path.stat().st_mtime - age_s,) * 2)
    return path, line


def dead(name: str, *, age_s: float = HOUR_S) -> Path:
    path, line = listener(name, age_s=age_s)
    line.close()
    return path


def test_a_new_address_takes_old_dead_ones_with_it_and_nothing_else() -> None:
    gone = [dead("one"), dead("two")]
    young = dead("young", age_s=0)  # it may be about to listen
    alive, line = listener("alive")
    file = runtime_dir() / "notes.sock"
    file.write_text("no socket at all")
    os.utime(file, (0, 0))
    with line:
        address = new_address("new")
        assert not address.exists()
        assert sorted(runtime_dir().iterdir()) == sorted([young, alive, file])
    assert not any(path.exists() for path in gone)


def test_however_many_there_are_a_new_address_looks_at_a_few_and_others_go_next_time() -> None:
    for number in range(40):
        dead(str(number))
    new_address("new")
    assert len(list(runtime_dir().iterdir())) == 8
    new_address("new")
    assert list(runtime_dir().iterdir()) == []


def test_a_socket_that_is_not_ours_stays(short_folder: Path) -> None:
    foreign = short_folder / "foreign.sock"
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(foreign))
    assert not remove_if_dead(foreign)
    assert foreign.exists()
