"""The agent processes that hosts keep for their next tasks, in words."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from pi_subagents.models.idle_agent import HostKind, IdleAgent
from pi_subagents.store import idle_agents
from pi_subagents.text import age, counted, data_size

_HOSTS: dict[HostKind, str] = {"pi": "pi's bridge", "mcp": "an MCP server", "run": "a run"}


def idle_agent_lines(agent_dir: Path, now: int | None = None) -> list[str]:
    """One line for each host; with the time, also for how long its agents have been idle."""
    by_host = sorted(
        idle_agents(agent_dir), key=_host_of
    )  # which leaves each host's in their order, longest idle first
    return [_line(list(kept), now) for _, kept in groupby(by_host, _host_of)]


def _host_of(agent: IdleAgent) -> tuple[HostKind, int]:
    return agent.host, agent.host_pid


def _line(kept: list[IdleAgent], now: int | None) -> str:
    processes = counted(len(kept), "idle agent process", "idle agent processes")
    memory = data_size(sum(agent.memory_bytes for agent in kept))
    since = "" if now is None else f", idle for {age(now - kept[0].since)}"
    return f"{processes} kept by {_HOSTS[kept[0].host]} (pid {kept[0].host_pid}), {memory}{since}"
