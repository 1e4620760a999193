"""How to start `claude`: its arguments, its environment, and the files that it will look for.

Without `inherit` its configuration directory is in the run directory: it loads no settings, hooks, plug-ins, MCP
servers or context files of the user or the project. The user's login is linked into that directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from pi_subagents.harness.agent import agent_environ
from pi_subagents.harness.contract import (
    AGENT_HOME,
    SYSTEM_PROMPT_FILE,
    Conversation,
    Invocation,
    Launch,
    RunFile,
)
from pi_subagents.harness.frames import ToolName
from pi_subagents.harness.programs import file_there, secrets_in_login
from pi_subagents.models.task import Profile

CONVERSATION_FILES = (f"{AGENT_HOME}/projects/*/*.jsonl",)
APPENDED_PROMPT_FILE = "append-system-prompt.md"
LOGIN_FILE = ".credentials.json"
KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")

_PROTOCOL = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
_TELLING = ("--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio")
_NO_SERVERS = "--strict-mcp-config"
_HERMETIC = ("--setting-sources", "", _NO_SERVERS)

_FOR_PEOPLE = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")
_FOR_LATER = ("CronCreate", "CronDelete", "CronList", "ScheduleWakeup")
"""A run ends with its answer, so nothing is left that these tools could wake."""

_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    # A run must not end while something still works in the background.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_HARBOR_KITE": "0",  # no inbox in /tmp through which other sessions could send it messages
}
_OF_A_PARENT = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID")
"""Variables of a Claude Code that started us; a sub-agent must not see them."""

TOOLS: Mapping[str, ToolName] = {
    "Bash": ToolName("bash"),
    "Read": ToolName("read", {"file_path": "path"}),
    "Edit": ToolName("edit", {"file_path": "path", "old_string": "oldText", "new_string": "newText"}),
    "Write": ToolName("write", {"file_path": "path"}),
    "Grep": ToolName("grep"),
    "Glob": ToolName("find"),
}
_OWN_NAMES = {**{tool.name: own for own, tool in TOOLS.items()}, "ls": "Glob"}
_OTHER_TOOLS = (
    *("Agent", "Task", "TaskStop", "WebFetch", "WebSearch", "NotebookEdit", "Skill", "ToolSearch", "Monitor"),
    *("Workflow", "EnterWorktree", "ExitWorktree", "ListAgents", "SendMessage", "ReportFindings"),
    *_FOR_PEOPLE,
    *_FOR_LATER,
)
OFFERED = tuple(_OWN_NAMES)
"""Our names of the tools that it has."""
OF_SERVERS = "mcp__"
"""The names of tools of MCP servers begin with it."""


def own_name(tool: str) -> str | None:
    """Its own name for a tool, given by our name or its own; None if it has no such tool."""
    if tool in _OWN_NAMES:
        return _OWN_NAMES[tool]
    return tool if tool in TOOLS or tool in _OTHER_TOOLS or tool.startswith(OF_SERVERS) else None


_SPECIAL, _ESCAPED = re.compile(r"[][*?!\\]"), r"\\\g<0>"
"""What a pattern of claude's takes for more than itself."""

LEVELS = {"off": "off", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
"""Its effort levels, by our thinking levels."""


def claude_invocation(launch: Launch) -> Invocation:
    """How to start `claude` for one task."""
    profile = launch.profile or Profile(name="")
    return Invocation(
        argv=(*launch.program.argv, *_arguments(launch, profile)),
        environ=_environ(launch, profile),
        cwd=launch.cwd,
        stdin=user_message(launch.prompt),
        interactive=True,
        files=tuple(_files(launch, profile)),
        temporary=(AGENT_HOME,),
        written_by_agent=CONVERSATION_FILES,
        secrets=launch.secrets | secrets_in_login(user_home(launch.environ) / LOGIN_FILE),
        approvals=profile.approvals or "deny",  # `claude -p` could not ask anybody either
    )


def user_message(text: str) -> bytes:
    """A message from the user. A leading `/` would make it one of claude's commands, so a space goes before it."""
    text = f" {text}" if text.startswith("/") else text
    content = [{"type": "text", "text": text.encode("utf-8", "replace").decode()}]
    return msgspec.json.encode({"type": "user", "message": {"role": "user", "content": content}}) + b"\n"


def _arguments(launch: Launch, profile: Profile) -> Iterator[str]:
    yield from (*_PROTOCOL, *_TELLING)
    if not profile.inherit:
        yield from _HERMETIC
    elif not launch.place.is_approved(launch.cwd):
        yield from ("--setting-sources", "user", _NO_SERVERS)
    elif _lists_tools(profile):
        yield _NO_SERVERS
    if profile.inherit and profile.api_key is not None:
        yield "--no-session-persistence"  # what its commands print, such as the key, would stay in the user's home
    yield from _option("--model", profile.model)
    if profile.thinking_level and profile.thinking_level != "off":
        yield from ("--effort", LEVELS[profile.thinking_level])
    yield from _option("--permission-mode", profile.mode)
    if profile.max_turns:
        yield from ("--max-turns", str(profile.max_turns))
    if profile.max_cost:
        yield from ("--max-budget-usd", f"{profile.max_cost:g}")
    if profile.system_prompt:
        yield from ("--system-prompt-file", str(launch.run_dir / SYSTEM_PROMPT_FILE))
    if profile.append_system_prompt:
        yield from ("--append-system-prompt-file", str(launch.run_dir / _appended_file(profile)))
    yield from _tools(profile)
    if folders := launch.skill_folders:
        yield from ("--settings", _may_read(folders))
    if launch.conversation:
        yield from ("--resume", str(launch.run_dir / _conversation_file(launch.conversation)))
    yield from profile.extra_args or ()


def _option(flag: str, value: str | None) -> tuple[str, ...]:
    return (flag, value) if value else ()


def _tools(profile: Profile) -> Iterator[str]:
    if _lists_tools(profile):
        names = () if profile.no_tools else _own_names(profile.tools or ())
        yield from ("--tools", ",".join(names))
    excluded = _own_names(profile.exclude_tools or ())
    yield from ("--disallowedTools", ",".join((*_FOR_PEOPLE, *_FOR_LATER, *excluded)))


def _lists_tools(profile: Profile) -> bool:
    """Whether it may use only certain tools; `--tools` restricts its own, not those of MCP servers."""
    return profile.no_tools or profile.tools is not None


def _may_read(folders: Iterable[str]) -> str:
    """Settings that let claude read these folders without asking; a path that begins with two slashes is absolute."""
    rules = [f"Read(/{_SPECIAL.sub(_ESCAPED, folder)}/**)" for folder in folders]
    return msgspec.json.encode({"permissions": {"allow": rules}}).decode()


def _own_names(tools: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(own_name(tool) or tool for tool in tools))


def _conversation_file(conversation: Conversation) -> str:
    named = (name for name in conversation.files if name.endswith(f"/{conversation.id}.jsonl"))
    return next(named, next(iter(conversation.files)))


def _appended_file(profile: Profile) -> str:
    return APPENDED_PROMPT_FILE if profile.system_prompt else SYSTEM_PROMPT_FILE


def user_home(environ: Mapping[str, str]) -> Path:
    """The user's own configuration directory."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or Path(environ.get("HOME", "/"), ".claude"))


def _environ(launch: Launch, profile: Profile) -> dict[str, str]:
    environ = {**agent_environ(launch), **_QUIET}
    for name in _OF_A_PARENT:
        environ.pop(name, None)
    if not profile.inherit:
        environ["CLAUDE_CONFIG_DIR"] = str(launch.run_dir / AGENT_HOME)
        environ["CLAUDE_CODE_TMPDIR"] = str(launch.run_dir / AGENT_HOME / "tmp")
    if profile.no_context_files:
        environ["CLAUDE_CODE_DISABLE_CLAUDE_MDS"] = "1"
    if profile.thinking_level == "off":
        environ["MAX_THINKING_TOKENS"] = "0"
    if profile.api_key is not None:
        for name in KEY_VARIABLES:  # the user's own token would go before it
            environ.pop(name, None)
        environ["ANTHROPIC_API_KEY"] = profile.api_key.reveal()
    return environ


def _files(launch: Launch, profile: Profile) -> Iterator[RunFile]:
    if profile.system_prompt:
        yield RunFile(SYSTEM_PROMPT_FILE, profile.system_prompt.encode())
    if profile.append_system_prompt:
        yield RunFile(_appended_file(profile), profile.append_system_prompt.encode())
    for name, content in (launch.conversation.files if launch.conversation else {}).items():
        yield RunFile(name, content)
    if profile.inherit:
        return
    login = file_there(user_home(launch.environ) / LOGIN_FILE)
    if profile.api_key is None and login is not None:
        yield RunFile(f"{AGENT_HOME}/{LOGIN_FILE}", link_to=login)
    # Created by us, so that the directory is tidied up even if we are killed.
    yield RunFile(f"{AGENT_HOME}/tmp/.keep")
