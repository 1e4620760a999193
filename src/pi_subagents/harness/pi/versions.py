"""What differs between the versions of `pi`, in one table.

Both lines understand `--exclude-tools`, so what takes MCP tools away from a restricted agent does not depend on a
version that may be told wrongly by a launcher. The table holds what only one line understands, or insists on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pi_subagents.harness.contract import Version
from pi_subagents.harness.pi.arguments import MCP_PREFIX, MCP_RESOURCE_TOOLS

NEWEST_KNOWN: Version = (1, 5, 0)
"""What is newer is treated like this one."""

_MCP_TOOLS = (f"{MCP_PREFIX}*", *MCP_RESOURCE_TOOLS)
"""What servers add to an agent's tools. From 1.0 on an allow-list leaves them in, unless it names one of theirs."""

_VERSION = re.compile(r"(?<!\d)(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
_ALONE = re.compile(rf"^v?{_VERSION.pattern}\S*$", re.MULTILINE)
"""A launcher may speak of the version of Node.js before."""


@dataclass(frozen=True, slots=True)
class PiLine:
    """Versions that are alike in what matters here."""

    since: tuple[int, ...]
    starts_mcp_servers: bool
    """`--no-mcp` keeps it from that."""
    provider_needs_model: bool
    """`--provider` alone is an error."""


LINES = (
    PiLine(since=(0,), starts_mcp_servers=False, provider_needs_model=False),
    PiLine(since=(1,), starts_mcp_servers=True, provider_needs_model=True),
)


def version_in(text: str) -> Version | None:
    """The version in what a program says when it is asked for its version."""
    found = _ALONE.search(text) or _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def line_of(version: Version | None) -> PiLine:
    """What to expect of a version; of one that could not be found out: nothing that has not always been there."""
    return next((line for line in reversed(LINES) if version and version >= line.since), LINES[0])


def mcp_restriction(tools: Sequence[str], line: PiLine) -> list[str]:
    """The arguments that keep an agent to these tools where there are MCP servers, too."""
    if any(tool.startswith(MCP_PREFIX) for tool in tools):
        return []  # then the allow-list decides about all of theirs
    unnamed = [tool for tool in _MCP_TOOLS if tool not in tools]
    # A server that no tool leads to would only be waited for.
    no_servers = ["--no-mcp"] if line.starts_mcp_servers and len(unnamed) == len(_MCP_TOOLS) else []
    return ["--exclude-tools", ",".join(unnamed), *no_servers]
