"""Hosts that stay up and keep agents for the next call, as real processes: nothing outlives them, others come first."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pi_subagents.models.event import Started
from pi_subagents.models.idle_agent import HostKind, IdleAgent
from pi_subagents.store import JOURNAL_FILE, ProcessSlots, idle_agents, read_journal
from pi_subagents.testing import SCRIPTED_AGENT
from tests.bridge.kit import Desk as BridgeDesk
from tests.kit.processes import command_line, kill
from tests.kit.waiting import until
from tests.process.kit import DONE, Stage, tasks
from tests.surfaces.mcp.kit import Desk as McpDesk
from tests.surfaces.mcp.kit import RawClient

KINDS: tuple[HostKind, ...] = ("pi", "mcp")
Call = Callable[[str, dict[str, object]], object]
TASK = tasks([DONE])


@contextmanager
def host(stage: Stage, kind: HostKind) -> Iterator[Call]:
    """A host of that kind, as a function that calls one of its tools and waits for the result."""
    if kind == "pi":
        with BridgeDesk(stage).bridge() as bridge:
            yield bridge.call
        return
    with RawClient(McpDesk(stage)) as client:
        client.shake_hands()

        def call(name: str, arguments: dict[str, object]) -> None:
            client.call(1, name, arguments)
            assert not client.answer()["result"].get("isError")

        yield call


def kept(stage: Stage) -> IdleAgent:
    """The one agent that is kept, as its host tells."""
    (agent,) = until(lambda: idle_agents(stage.agent_dir), "an idle agent")
    return agent


def slot_is_free(stage: Stage) -> bool:
    """Whether the only slot can be had."""
    slots = ProcessSlots.of(stage.agent_dir, 1)
    assert slots is not None
    if (slot := slots.take()) is not None:
        slot.release()
    return slot is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_host_leaves_no_agent_no_descendant_of_one_and_no_slot_taken(stage: Stage, kind: HostKind) -> None:
    # An agent with a process of its own below it, which has left its session and its group.
    agent = stage.write(
        "agent.sh",
        f'#!/bin/sh\ncase "$*" in *rpc*) setsid sleep 987 </dev/null >/dev/null 2>&1 & ;; esac\n'
        f'exec {SCRIPTED_AGENT[1]} "$@"\n',
    )
    stage.environ[SCRIPTED_AGENT[0]] = f"sh {shlex.quote(str(agent))}"
    with host(stage, kind) as call:
        call("delegate_to_subagents", TASK)
        idle = kept(stage)
        assert idle.host == kind
        assert idle.memory_bytes > 0
        below = [pid for pid in stage.processes() if pid != idle.host_pid]
        assert any(command_line(pid).startswith(b"sleep\x00987") for pid in below)
        assert not slot_is_free(stage)
        kill(idle.host_pid)
        until(lambda: not stage.processes(), "nothing is left")
        until(lambda: slot_is_free(stage), "the slot is free")
        assert idle_agents(stage.agent_dir) == []


@pytest.mark.parametrize(("kind", "warm"), [("pi", True), ("mcp", False)], ids=["warm", "cold"])
def test_another_program_gets_the_slot_of_an_agent_that_a_host_only_keeps(
    plain_stage: Stage, kind: HostKind, warm: bool
) -> None:
    plain_stage.write_settings(maxProcesses=1, warmIdleSeconds=3600)
    with host(plain_stage, kind) as call:
        call("delegate_to_subagents", TASK)
        kept(plain_stage)
        plain_stage.write_settings(maxProcesses=1, warmIdleSeconds=3600, warmAgents=warm)
        done = plain_stage.command("call", "delegate_to_subagents", json.dumps(TASK))
        assert "✓ task 1: completed" in done.stdout
        assert idle_agents(plain_stage.agent_dir) == []
        call("delegate_to_subagents", TASK)


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_keeps_its_agent_from_call_to_call_until_settings_say_otherwise(
    plain_stage: Stage, kind: HostKind
) -> None:
    plain_stage.write_settings(warmIdleSeconds=3600)
    with host(plain_stage, kind) as call:
        for _ in range(2):
            call("delegate_to_subagents", TASK)
            kept(plain_stage)
        journals = [read_journal(run_dir / JOURNAL_FILE) for run_dir in plain_stage.run_dirs]
        started = [event for journal in journals for event in journal if isinstance(event, Started)]
        assert [event.reused for event in started] == [False, True]
        plain_stage.write_settings(warmIdleSeconds=3600, warmAgents=False)
        call("list_subagent_profiles", {})
        until(lambda: not idle_agents(plain_stage.agent_dir), "it is not kept any more")
        until(lambda: slot_is_free(plain_stage), "its slot is free")
