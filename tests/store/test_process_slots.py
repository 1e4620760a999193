"""Slots for agent processes that programs share: who is asked to make room, and what is told of idle agents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pi_subagents.models.idle_agent import IdleAgent
from pi_subagents.store import ProcessSlots, idle_agents
from tests.kit.processes import kill

IDLE = IdleAgent("pi", host_pid=12, pid=34, since=5, memory_bytes=1000)

HOST = """
import sys
from pathlib import Path
from pi_subagents.models.idle_agent import IdleAgent
from pi_subagents.store import ProcessSlots
slots = ProcessSlots.of(Path(sys.argv[1]), 1)
slot = slots.take()
if slot is not None:
    slot.tell_idle(IdleAgent("mcp", 1, 2, 3, 4))
else:
    request = slots.request()
    request.repeat()
print("ready", flush=True)
sys.stdin.read()
"""


def slots_of(agent_dir: Path, limit: int) -> ProcessSlots:
    slots = ProcessSlots.of(agent_dir, limit)
    assert slots is not None
    return slots


def program(agent_dir: Path) -> subprocess.Popen[bytes]:
    """Another program: with an idle agent in the only slot, or waiting for it."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", HOST, str(agent_dir)], stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    kill(process.pid)
    process.communicate()


def test_what_a_host_says_of_an_idle_agent_is_heard_by_others_until_it_is_used_or_gone(tmp_path: Path) -> None:
    slots = slots_of(tmp_path, 3)
    assert idle_agents(tmp_path) == []
    first, second = slots.take(), slots.take()
    assert first is not None
    assert second is not None
    second.tell_idle(IDLE)
    first.tell_idle(IdleAgent("run", 1, 2, since=6, memory_bytes=7))
    assert [agent.since for agent in idle_agents(tmp_path)] == [5, 6]
    first.tell_idle(None)
    assert idle_agents(tmp_path) == [IDLE]
    second.release()
    assert idle_agents(tmp_path) == []


def test_what_a_killed_host_has_said_counts_for_nothing_and_its_slot_is_free(tmp_path: Path) -> None:
    host = program(tmp_path)
    assert [agent.host for agent in idle_agents(tmp_path)] == ["mcp"]
    end(host)
    assert idle_agents(tmp_path) == []
    slot = slots_of(tmp_path, 1).take()
    assert slot is not None
    assert idle_agents(tmp_path) == [], "whoever has the slot now has said nothing"


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b'{"host": "\\u001b[2J"}', b"x" * 5000])
def test_what_is_no_such_word_is_left_out(tmp_path: Path, said: bytes) -> None:
    slot = slots_of(tmp_path, 1).take()
    assert slot is not None
    (tmp_path / "subagents" / "processes" / "0").write_bytes(said)
    assert idle_agents(tmp_path) == []


def test_a_slot_is_wanted_while_somebody_asks_who_is_alive_and_none_is_free(tmp_path: Path) -> None:
    slots = slots_of(tmp_path, 1)
    slot = slots.take()
    assert slot is not None
    assert not slots.wanted()
    waiting = program(tmp_path)
    assert list(slots.wanted()) == [0]
    slot.release()
    assert not slots.wanted(), "it is free: whoever waits finds it"
    assert slots.take() is not None
    assert slots.wanted()
    end(waiting)
    assert not slots.wanted(), "nobody alive waits"


def test_of_several_who_wait_each_is_heard_in_turn_with_the_slots_that_it_may_use(tmp_path: Path) -> None:
    slots, modest = slots_of(tmp_path, 2), slots_of(tmp_path, 1)
    held = [slots.take(), slots.take()]
    assert all(held)
    with modest.request() as second:
        with slots.request() as first:
            first.repeat()
            second.repeat()
            assert list(slots.wanted()) == [0, 1]
        assert not slots.wanted()
        second.repeat()
        assert list(slots.wanted()) == [0]
    assert not slots.wanted()
