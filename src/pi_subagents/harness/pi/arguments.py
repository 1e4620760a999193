"""A profile as the command line of `pi`, in the documented order: which tools it may use, then everything else.

`noTools` goes before `tools`, and `tools` before `excludeTools`. `pi` knows only allow-lists, so an exclusion is turned
into one; an exclusion that leaves nothing means no tools, never all of them. The API key is no matter of the command
line and is never read here. Prompts come from the caller, who writes them to files where `pi` accepts a path.
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


_UNSAFE = re.compile(r"^[\s|&;$\\`!]|&&|\|\||;|>|>>|<|<<")
_TOOL_FLAGS = ("--tools", "-t", "--no-tools", "-nt", "--no-builtin-tools", "-nbt", "--exclude-tools", "-xt", "--no-mcp")
"""Of two lists of the same kind `pi` takes the last, so even one that takes tools away could give others back."""
_SHOWN_CHARACTERS = 20
"""Enough to recognise an argument in a message without repeating a whole script."""


def profile_arguments(profile: Profile, *, system_prompt: str | None, append_system_prompt: str | None) -> list[str]:
    """The arguments for a profile whose exclusions and skills are resolved; prompts are paths or texts."""
    return [
        *_option("--provider", profile.provider),
        *_option("--model", profile.model),
        *_option("--system-prompt", system_prompt),
        *_option("--append-system-prompt", append_system_prompt),
        *_option("--thinking", profile.thinking_level),
        *_tool_arguments(profile),
        *_flag("--no-extensions", profile.no_extensions),
        *_options("--extension", profile.extensions),
        *_flag("--no-skills", profile.no_skills),
        *_options("--skill", profile.suggested_skills),
        *_flag("--no-context-files", profile.no_context_files),
        *(profile.extra_args or ()),
    ]


def flag_of(argument: str) -> str:
    """The flag in an argument, also where its value is written into the same text."""
    return re.split(r"[=\s]", argument.strip(), maxsplit=1)[0]


def check_extra_args(profile: Profile) -> None:
    """Raise ProfileError for an argument that looks like shell text or would lift a tool restriction."""
    for argument in profile.extra_args or ():
        if "\0" in argument:
            raise ProfileError("Invalid extraArg: contains null byte")
        if _UNSAFE.search(argument):
            shown = argument[:_SHOWN_CHARACTERS]
            raise ProfileError(f"Refusing extraArg: potentially unsafe argument '{shown}...'")
        if profile.restricts_tools and flag_of(argument) in _TOOL_FLAGS:
            raise ProfileError(
                f'Refusing extraArg "{argument}" which would override profile tool restrictions. '
                "Use the dedicated profile fields instead."
            )


def _tool_arguments(profile: Profile) -> list[str]:
    if profile.no_tools or profile.tools == ():  # an allow-list that allows nothing
        return ["--no-tools"]
    return ["--tools", ",".join(profile.tools)] if profile.tools else []


def _option(flag: str, value: str | None) -> list[str]:
    return [flag, value] if value else []


def _options(flag: str, values: tuple[str, ...] | None) -> list[str]:
    return [argument for value in values or () for argument in (flag, value)]


def _flag(flag: str, is_set: bool) -> list[str]:
    return [flag] if is_set else []
