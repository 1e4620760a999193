"""Whether a PID namespace can be made is tried once, as long as nothing changes that decides it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pi_subagents.delegation.program_facts import MAX_AGE_S, NAMESPACE_FILE, doubt_namespace, remember_namespace
from pi_subagents.harness import Answer
from pi_subagents.place import Place
from pi_subagents.runners import containment


class Machine:
    """Counts how often it is tried, by programs that have just been started."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.works = True
        self.tried = 0
        self._patch = monkeypatch.setattr
        self._patch(containment, "ask", self._ask)
        self._patch(os, "geteuid", lambda: 0)

    def _ask(self, *_: object, **__: object) -> Answer:
        self.tried += 1
        return Answer(0 if self.works else 1, "")

    def new_process(self) -> containment.Mechanism:
        """What a program that has just been started uses."""
        self._patch(containment, "_known_to_work", False)
        containment.namespace_works.cache_clear()
        remember_namespace("auto", self.place)
        return containment.choose_mechanism("auto")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    environ = {"PATH": "/usr/bin:/bin", "PI_AGENT_DIR": str(tmp_path / "agent")}
    yield Machine(Place.here(tmp_path, environ), monkeypatch)
    containment.namespace_works.cache_clear()


def test_that_it_works_is_tried_once_and_known_to_the_next_process(machine: Machine) -> None:
    assert [machine.new_process() for _ in range(3)] == ["namespace"] * 3
    assert machine.tried == 1


def test_that_it_does_not_work_is_tried_every_time(machine: Machine) -> None:
    machine.works = False
    assert [machine.new_process() for _ in range(2)] == ["guard"] * 2
    machine.works = True
    assert machine.new_process() == "namespace"
    assert machine.tried == 3


def _other_rights(monkeypatch: pytest.MonkeyPatch, _machine: Machine) -> None:
    conditions = containment.namespace_conditions()
    monkeypatch.setattr("pi_subagents.delegation.program_facts.namespace_conditions", lambda: f"{conditions}!")


def _other_programs(_monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    folder = machine.place.cwd / "bin"
    folder.mkdir()
    (folder / "unshare").write_text("#!/bin/sh\n")
    (folder / "unshare").chmod(0o755)
    environ = {**machine.place.environ, "PATH": f"{folder}:/usr/bin:/bin"}
    machine.place = Place.here(machine.place.cwd, environ)


def _a_day_passes(_monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    file = machine.place.agent_dir / "subagents" / NAMESPACE_FILE
    entries = json.loads(file.read_bytes())
    long_ago = time.time() - MAX_AGE_S - 1
    file.write_text(json.dumps({key: {**entry, "at": long_ago} for key, entry in entries.items()}))


def _an_agent_fails(_monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    doubt_namespace(machine.place.agent_dir)


@pytest.mark.parametrize("change", [_other_rights, _other_programs, _a_day_passes, _an_agent_fails])
def test_it_is_tried_again_when_something_has_changed(
    change: Callable[[pytest.MonkeyPatch, Machine], None], machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.new_process()
    change(monkeypatch, machine)
    machine.works = False
    assert machine.new_process() == "guard"
    assert machine.tried == 2


def test_the_conditions_tell_this_boot_and_what_we_may_do() -> None:
    conditions = containment.namespace_conditions()
    assert Path("/proc/sys/kernel/random/boot_id").read_text().strip() in conditions
    assert "CapEff:" in conditions
    assert "pid:[" in conditions


def test_a_host_that_doubts_it_tries_again_itself(machine: Machine) -> None:
    machine.new_process()
    machine.works = False
    doubt_namespace(machine.place.agent_dir)
    remember_namespace("auto", machine.place)
    assert containment.choose_mechanism("auto") == "guard"
    assert machine.new_process() == "guard", "nobody was told that it works"
