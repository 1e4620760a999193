"""Idle agents in words: how many, whose, how much memory, for how long."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.models.idle_agent import IdleAgent
from pi_subagents.runs.idle_agents import idle_agent_lines
from pi_subagents.store import ProcessSlots


def test_each_host_has_a_line_about_all_that_it_keeps(tmp_path: Path) -> None:
    slots = ProcessSlots.of(tmp_path, 4)
    assert slots is not None
    assert idle_agent_lines(tmp_path) == []
    held = []
    for agent in (
        IdleAgent("pi", 12, 100, since=30_000, memory_bytes=120_000_000),
        IdleAgent("mcp", 7, 101, since=20_000, memory_bytes=90_000_000),
        IdleAgent("pi", 12, 102, since=10_000, memory_bytes=130_000_000),
        IdleAgent("pi", 13, 103, since=50_000, memory_bytes=1_000_000),
    ):
        slot = slots.take()
        assert slot is not None
        slot.tell_idle(agent)
        held.append(slot)
    assert idle_agent_lines(tmp_path, now=70_000) == [
        "1 idle agent process kept by an MCP server (pid 7), 90.0 MB, idle for 50s",
        "2 idle agent processes kept by pi's bridge (pid 12), 250.0 MB, idle for 1m",
        "1 idle agent process kept by pi's bridge (pid 13), 1.0 MB, idle for 20s",
    ]
    for slot in held[1:]:
        slot.release()
    assert idle_agent_lines(tmp_path) == ["1 idle agent process kept by pi's bridge (pid 12), 120.0 MB"]
