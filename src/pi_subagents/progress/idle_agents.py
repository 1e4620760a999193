"""The agent processes that hosts keep for their next tasks, in words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from pi_subagents.models.idle_agent import HostKind, IdleAgent
from pi_subagents.text import age, counted, data_size

_HOSTS: dict[HostKind, str] = {"pi": "pi's bridge", "mcp": "an MCP server", "run": "a run"}


def idle_lines(agents: Iterable[IdleAgent], now: int | None = None) -> list[str]:
    """One line for each host; with the time, also for how long its agents have been idle."""
    by_host = sorted(agents, key=lambda agent: (agent.host, agent.host_pid, agent.since))
    return [_line(list(kept), now) for _, kept in groupby(by_host, lambda agent: (agent.host, agent.host_pid))]


def _line(kept: list[IdleAgent], now: int | None) -> str:
    processes = counted(len(kept), "idle agent process", "idle agent processes")
    memory = data_size(sum(agent.memory_bytes for agent in kept))
    since = "" if now is None else f", idle for {age(now - kept[0].since)}"
    return f"{processes} kept by {_HOSTS[kept[0].host]} (pid {kept[0].host_pid}), {memory}{since}"
