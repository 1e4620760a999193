"""How deep agents are nested, told to every agent through its environment, whatever program it is."""

from __future__ import annotations

from collections.abc import Mapping

DEPTH_VARIABLE = "PI_SUBAGENTS_DEPTH"
MAX_DEPTH_VARIABLE = "PI_SUBAGENTS_MAX_DEPTH"
"""Up to which depth agents may start others; the extension in a child registers no tools where that is reached."""
_MAX_DEPTH_DIGITS = 9


def depth_in(environ: Mapping[str, str]) -> int:
    """How many sub-agents are above a process with this environment: 0 for a person's own agent."""
    value = environ.get(DEPTH_VARIABLE, "0")
    return int(value[:_MAX_DEPTH_DIGITS]) if value.isdecimal() else 0


def one_deeper(environ: Mapping[str, str], max_depth: int) -> dict[str, str]:
    """The environment for an agent that is started from this one."""
    depth = str(depth_in(environ) + 1)
    return {**environ, "PI_SUBAGENTS_CHILD": "1", DEPTH_VARIABLE: depth, MAX_DEPTH_VARIABLE: str(max_depth)}
