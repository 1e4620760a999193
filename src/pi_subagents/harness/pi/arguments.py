"""Starting `pi`: its command line, in the documented order, its environment, and the files that it will look for.

`noTools` goes before `tools` and `excludeTools`, of which a profile has one. `pi` knows only allow-lists, so an
exclusion is turned into one; an exclusion that leaves nothing means no tools, never all of them. An API key is never
on the command line, and prompts are in files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.extension import API_KEY_EXTENSION, COPILOT_EXTENSION
from pi_subagents.harness.contract import SYSTEM_PROMPT_FILE, Invocation, Launch, RunFile
from pi_subagents.harness.pi.programs import COPILOT, child_environ, entries_of, has_copilot, line_of
from pi_subagents.models import Profile
from pi_subagents.text.patterns import pattern

# --- tools ---------------------------------------------------------------------------------------------------

BUILTIN_TOOLS = ("read", "bash", "edit", "write", "grep", "find", "ls")
_OTHER_SHELLS = ("powershell",)
"""Whoever takes `bash` away wants no commands to be run; `pi` has another tool for that, which few know of."""

MCP_PREFIX = "mcp__"
MCP_RESOURCE_TOOLS = ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")
_ONLY_BY_NAME = frozenset({"codemode", "tool_search", *MCP_RESOURCE_TOOLS})
"""What an exclusion does not leave, nor tools of MCP servers: they lead to what nobody could think of excluding."""

_PLAIN_NAME = pattern(r"\w[\w.:/-]*")
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
    if profile.no_tools:
        return msgspec.structs.replace(profile, exclude_tools=None)
    excluded = {*profile.exclude_tools, *(_OTHER_SHELLS if _matches("bash", profile.exclude_tools) else ())}
    excluded |= {*_ONLY_BY_NAME, f"{MCP_PREFIX}*"}
    left = tuple(tool for tool in all_tools if _PLAIN_NAME.fullmatch(tool) and not _matches(tool, excluded))
    return msgspec.structs.replace(profile, tools=left or None, no_tools=not left, exclude_tools=None)


def _matches(tool: str, names: Iterable[str]) -> bool:
    """Whether a tool is excluded by its name, in whichever case, or by a pattern such as `pi` 1.x understands."""
    return any(fnmatchcase(tool.lower(), name.lower()) for name in names)


_UNSAFE = pattern(r"^[\s|&;$\\`!]|&&|\|\||;|>|>>|<|<<")
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


_MCP_TOOLS = (f"{MCP_PREFIX}*", *MCP_RESOURCE_TOOLS)
"""What servers add to an agent's tools. From 1.0 on an allow-list leaves them in, unless it names one of theirs."""


def _mcp_restriction(profile: Profile, launch: Launch) -> list[str]:
    """The arguments that keep an agent to its tools where there are MCP servers, too."""
    tools = () if profile.no_tools else profile.tools or ()
    if any(tool.startswith(MCP_PREFIX) for tool in tools):
        return []  # then the allow-list decides about all of theirs
    unnamed = [tool for tool in _MCP_TOOLS if tool not in tools]
    starts_servers = line_of(launch.version()).starts_mcp_servers
    # A server that no tool leads to would only be waited for.
    no_servers = ["--no-mcp"] if starts_servers and len(unnamed) == len(_MCP_TOOLS) else []
    return ["--exclude-tools", ",".join(unnamed), *no_servers]


# --- one task ------------------------------------------------------------------------------------------------

SESSION_FILE = "child-session.jsonl"
APPENDED_PROMPT_FILE = "append-system-prompt.md"
OVERLAY_DIR = "agent-dir"
"""A private stand-in for the agent directory, made only for a profile with its own API key."""


def pi_invocation(launch: Launch, mode: tuple[str, ...], stdin: bytes, *, interactive: bool = False) -> Invocation:
    """How to start `pi` for one task in the mode that these arguments choose."""
    profile = launch.profile
    arguments = [*mode, "--session", str(launch.run_dir / SESSION_FILE)]
    # A prompt that begins with `/` would otherwise be taken for a template of that name.
    arguments.append("--no-prompt-templates")
    arguments += approval_arguments(launch.place.approval(launch.cwd))
    if profile is not None and profile.api_key is not None:
        arguments += ["--extension", str(API_KEY_EXTENSION)]
    if _may_speak_to_copilot(launch):
        arguments += ["--extension", str(COPILOT_EXTENSION)]
    if profile is not None:
        if profile.restricts_tools:
            # First, as the profile's own arguments may end with `--` or with a flag that takes the next word.
            arguments += _mcp_restriction(profile, launch)
        system = str(launch.run_dir / SYSTEM_PROMPT_FILE) if profile.system_prompt else None
        appended = str(launch.run_dir / _appended_file(profile)) if profile.append_system_prompt else None
        arguments += profile_arguments(profile, system_prompt=system, append_system_prompt=appended)
    return Invocation(
        argv=(*launch.program.argv, *arguments),
        environ=_environ(launch),
        cwd=launch.cwd,
        stdin=stdin,
        interactive=interactive,
        files=tuple(_files(launch)),
        temporary=(OVERLAY_DIR,),
        written_by_agent=(SESSION_FILE,),
        secrets=launch.secrets,
    )


def approval_arguments(trusted: bool | None) -> list[str]:
    """What tells `pi` whether to trust the place it works in; nobody can be asked there, which would count as no."""
    return [] if trusted is None else ["--approve" if trusted else "--no-approve"]


def _may_speak_to_copilot(launch: Launch) -> bool:
    # Without a provider pi chooses the model. The extension looks at what it chose, but loading it costs a start time.
    provider = launch.profile.model_provider if launch.profile else None
    return provider == COPILOT or (provider is None and has_copilot(launch.place))


def _environ(launch: Launch) -> dict[str, str]:
    key = launch.profile.api_key if launch.profile else None
    agent_dir = launch.place.agent_dir if key is None else launch.run_dir / OVERLAY_DIR
    environ = child_environ(launch.environ, agent_dir)
    environ.pop("PI_API_KEY", None)
    if key is not None:
        environ["PI_API_KEY"] = key.reveal()
    environ["PI_SKIP_VERSION_CHECK"] = "1"
    return environ


def _files(launch: Launch) -> Iterator[RunFile]:
    # pi keeps the mode of a file that exists, so the session is made here, private from its first byte.
    yield RunFile(SESSION_FILE, launch.conversation.files[SESSION_FILE] if launch.conversation else b"")
    profile = launch.profile
    if profile is None:
        return
    if profile.system_prompt:
        yield RunFile(SYSTEM_PROMPT_FILE, profile.system_prompt.encode())
    if profile.append_system_prompt:
        yield RunFile(_appended_file(profile), profile.append_system_prompt.encode())
    if profile.api_key is not None:
        yield from _overlay(profile, launch.place.agent_dir)


def _appended_file(profile: Profile) -> str:
    # The instructions of an agent are in one well-known place, unless it has two kinds of them.
    return APPENDED_PROMPT_FILE if profile.system_prompt else SYSTEM_PROMPT_FILE


def _overlay(profile: Profile, agent_dir: Path) -> Iterator[RunFile]:
    # A stored credential would win over any variable, so this run sees an auth.json of its own. The provider is
    # not always known here; the extension adds it once pi has chosen a model.
    provider = profile.model_provider
    credentials = {provider: {"type": "api_key", "key": "!printenv PI_API_KEY"}} if provider else {}
    yield RunFile(f"{OVERLAY_DIR}/auth.json", msgspec.json.encode(credentials))
    for name in entries_of(agent_dir):
        if not name.startswith("auth.json"):
            yield RunFile(f"{OVERLAY_DIR}/{name}", link_to=agent_dir / name)
