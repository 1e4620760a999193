"""Which tools an agent may use: `noTools` before `tools` before `excludeTools`.

`pi` knows only allow-lists, so an exclusion is turned into one before the command line is built. An exclusion
that leaves nothing means no tools, never all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile

BUILTIN_TOOLS = ("read", "bash", "edit", "write", "grep", "find", "ls")
_OTHER_SHELLS = ("powershell",)
"""Whoever takes `bash` away wants no commands to be run; `pi` has another tool for that, which few know of."""

MCP_PREFIX = "mcp__"
MCP_RESOURCE_TOOLS = ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")
_ONLY_BY_NAME = frozenset({"codemode", "tool_search", *MCP_RESOURCE_TOOLS})
"""What an exclusion does not leave, nor tools of MCP servers: they lead to what nobody could think of excluding."""

_PLAIN_NAME = re.compile(r"\w[\w.:/-]*")
"""In a list for `pi` anything else could name other tools as well: it knows commas, patterns and signs."""


def check_tools(profile: Profile) -> None:
    """Raise ProfileError when the profile both allows and excludes tools, or names what is no tool."""
    for tool in profile.tools or ():
        if tool.startswith(("+", "-")):  # of such names alone `pi` would make no allow-list, but a longer default
            raise ProfileError(
                f'Profile "{profile.name}" has "{tool}" in "tools", which lists the tools an agent may use. '
                'List names only, or exclude some with "excludeTools".'
            )
    if profile.tools is not None and profile.exclude_tools is not None and not profile.no_tools:
        raise ProfileError(
            f'Profile "{profile.name}" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
            "These are mutually exclusive — choose one or the other."
        )


OWN_TOOLS = frozenset(
    {"delegate_to_subagents", "get_subagent_output", "get_subagent_session", "list_subagent_profiles"}
    | {"subagent", "background_agent", "background_agent_status"}
)
"""Ours, which agents have where they may start further ones; a contract test compares them with the registry."""


def is_tool(name: str) -> bool:
    """Whether `pi` has such a tool without extensions, or may have: patterns and MCP servers' tools are let pass."""
    known = (*BUILTIN_TOOLS, *_OTHER_SHELLS, *_ONLY_BY_NAME, *OWN_TOOLS)
    return name.lower() in known or name.lower().startswith(MCP_PREFIX) or not _PLAIN_NAME.fullmatch(name)


def apply_exclude_tools(profile: Profile, all_tools: Iterable[str]) -> Profile:
    """The profile with `exclude_tools` replaced by the allow-list that it leaves of `all_tools`."""
    if profile.exclude_tools is None:
        return profile
    if profile.no_tools or profile.tools is not None:
        return msgspec.structs.replace(profile, exclude_tools=None)
    excluded = {*profile.exclude_tools, *(_OTHER_SHELLS if _matches("bash", profile.exclude_tools) else ())}
    excluded |= {*_ONLY_BY_NAME, f"{MCP_PREFIX}*"}
    left = tuple(tool for tool in all_tools if _PLAIN_NAME.fullmatch(tool) and not _matches(tool, excluded))
    return msgspec.structs.replace(profile, tools=left or None, no_tools=not left, exclude_tools=None)


def _matches(tool: str, names: Iterable[str]) -> bool:
    """Whether a tool is excluded by its name, in whichever case, or by a pattern such as `pi` 1.x understands."""
    return any(fnmatchcase(tool.lower(), name.lower()) for name in names)
