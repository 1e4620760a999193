"""How `codex app-server` is started, and what it is to be told first, as data.

The command line has what counts for the whole process, the rest is told with the thread. Without `approvals` codex may
neither write nor ask, as in `codex exec`. With `deny` it asks and always hears no; with `allow` it may write in the
directory of the task, asks for the rest, and hears yes. `mode` names another sandbox than these.

Its sandbox puts an empty directory in the place of each protected one that is missing where a command may write, and
takes it away after the command, unless it is killed; and a command that is stopped is killed. So commands may write in
the directory of the task and in one for temporary files that goes with the run, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.harness.codex.dialogue import initialize, text_input
from pi_subagents.harness.contract import AGENT_HOME, SYSTEM_PROMPT_FILE, Invocation, Launch, RunFile
from pi_subagents.models.task import Profile

CONVERSATION_FILES = (f"{AGENT_HOME}/sessions/*/*/*/rollout-*.jsonl",)
HOME_VARIABLE = "CODEX_HOME"
LEVELS = {"off": "low", "minimal": "low"}
"""For its models thinking begins there."""
LOGIN_FILE = "auth.json"
CONTEXT_FILES = ("AGENTS.md", "AGENTS.override.md")
INHERITED = ("config.toml", "skills", "rules", "hooks.json", "agents", "prompts")
"""What of the user's configuration directory an agent has that inherits it; its conversation stays in the run."""
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
"""What a profile can say as its `mode`."""

_KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")
_BASE_URL = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
_PROVIDER = "openai_key"
_ASKED = re.compile(rb'("model_provider(?:_id)?":)"openai(?:_key)?"')
_PROTECTED = (".git", ".agents", ".codex", ".aws")
_QUIET = {"RUST_LOG": "off"}
"""Else each start complains of what is missing on the machine; what makes it end is said all the same."""
_NO_PROFILE = Profile(name="")

_NO_SLASH_TMP = "sandbox_workspace_write.exclude_slash_tmp"
_OFF = ("features.shell_snapshot", "features.unbounded_connection_retries", "analytics.enabled")
"""A snapshot of the shell holds the key, and a network that is gone would be waited for without end."""
_OFF_UNLESS_INHERITED = (
    *("features.plugins", "features.apps", "features.goals"),
    *("skills.bundled.enabled", "check_for_update_on_startup"),
)


def user_home(environ: Mapping[str, str]) -> Path:
    """The configuration directory of whoever calls."""
    return Path(environ.get(HOME_VARIABLE) or Path(environ.get("HOME", "/"), ".codex"))


class Login(msgspec.Struct, frozen=True):
    """What an agent logs in with: the file of the user's own login, or the variable that holds a key."""

    file: Path | None = None
    key: str | None = None


def login_for(environ: Mapping[str, str], file: Path | None, *, inherit: bool = False) -> Login:
    """A key counts if it is meant for codex, or if there is an address for it, or else no login.

    Codex itself asks nobody with the key in OPENAI_API_KEY, and has its provider from its configuration.
    """
    key = next((name for name in _KEYS if environ.get(name)), None)
    if key == _KEYS[1] and _BASE_URL not in environ and (file is not None or inherit):
        key = None
    return Login(file, key)


def codex_invocation(launch: Launch, file: Path | None, inherited: Iterable[Path]) -> Invocation:
    """The start of the server; `file` and `inherited` are what there is of the user's own."""
    profile = launch.profile or _NO_PROFILE
    own_key = {_KEYS[0]: profile.api_key.reveal()} if profile.api_key else {}
    home = launch.run_dir / AGENT_HOME
    environ = {**_QUIET, **launch.environ, **own_key, HOME_VARIABLE: str(home), "TMPDIR": str(home / "tmp")}
    login = login_for(environ, file, inherit=profile.inherit)
    provider = _provider(environ.get(_BASE_URL), login)
    instructions = "\n\n".join(filter(None, (profile.system_prompt, profile.append_system_prompt)))
    return Invocation(
        argv=(
            *launch.program.argv,
            "app-server",
            *_switches(profile, provider),
            *(profile.extra_args or ()),
        ),
        environ=environ,
        cwd=launch.cwd,
        stdin=initialize(),
        interactive=True,
        files=tuple(_files(launch, login, inherited, instructions)),
        temporary=(AGENT_HOME,),
        written_by_agent=CONVERSATION_FILES,
        placeholders=_PROTECTED,
        secrets=launch.secrets | set(own_key.values()),
        brief={"thread": _thread(launch, profile), "turn": _turn(launch.prompt, profile)},
        approvals=profile.approvals or "deny",
    )


def _switches(profile: Profile, provider: Mapping[str, str]) -> list[str]:
    off = _OFF if profile.inherit else (*_OFF, *_OFF_UNLESS_INHERITED)
    settings = {**dict.fromkeys(off, "false"), _NO_SLASH_TMP: "true", **provider}
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def _files(launch: Launch, login: Login, inherited: Iterable[Path], instructions: str) -> Iterable[RunFile]:
    links = [*inherited, *((login.file,) if login.file and not login.key else ())]
    yield from (RunFile(f"{AGENT_HOME}/{path.name}", link_to=path) for path in links)
    yield RunFile(f"{AGENT_HOME}/tmp/.keep")
    if not any(path.name == INHERITED[0] for path in links):
        yield RunFile(f"{AGENT_HOME}/{INHERITED[0]}")  # codex does not start in a directory that is not there
    if instructions:
        yield RunFile(SYSTEM_PROMPT_FILE, instructions.encode("utf-8", "replace"))
    for name, content in launch.conversation.files.items() if launch.conversation else ():
        # A thread insists on the provider that it began with, even where only the login has changed.
        provider = b'"openai"' if login.key is None else b'"%b"' % _PROVIDER.encode()
        yield RunFile(name, _ASKED.sub(rb"\1" + provider, content))


def _thread(launch: Launch, profile: Profile) -> dict[str, Any]:
    """What the thread is begun with; one that has an id is gone on with."""
    told: dict[str, Any] = {
        "cwd": str(launch.cwd),
        "model": profile.model,
        "baseInstructions": profile.system_prompt,
        "developerInstructions": profile.append_system_prompt,
        "config": _config(launch, profile),
    }
    if profile.mode or profile.approvals or not profile.inherit:
        may_write = "workspace-write" if profile.approvals == "allow" else "read-only"
        told["sandbox"] = profile.mode or may_write
        told["approvalPolicy"] = "on-request" if profile.approvals else "never"
    # Without raw items codex hides the calls that failed: a patch that does not fit, a command that was not allowed.
    more: dict[str, Any] = {"experimentalRawEvents": True}
    if launch.conversation is not None:
        # The name of the oldest file ends with the thread too, for a run that broke off before it told.
        thread = launch.conversation.id or min(launch.conversation.files)[-42:-6]
        more = {"threadId": thread, "excludeTurns": True}
    return {name: value for name, value in (told | more).items() if value is not None}


def _config(launch: Launch, profile: Profile) -> dict[str, Any]:
    config: dict[str, Any] = {"shell_environment_policy.exclude": list(_KEYS)}
    if not profile.inherit:
        # Codex trusts a directory that it may write to, and starts the servers that its files name, unless told not to.
        config["projects"] = {str(launch.cwd): {"trust_level": "untrusted"}}
        config["project_root_markers"] = []
    if not profile.inherit or profile.no_context_files:
        config["project_doc_max_bytes"] = 0
    if not profile.inherit or profile.no_skills:
        config["skills.include_instructions"] = False
    return config


def _provider(base_url: str | None, login: Login) -> dict[str, str]:
    """Whom the server asks, in settings that count for all of it."""
    if login.key is None and (login.file is not None or base_url is None):
        return {"openai_base_url": base_url} if base_url else {}
    own = {"name": "OpenAI", "base_url": base_url or _OPENAI, "wire_api": "responses", "env_key": login.key}
    # It is silent about attempts of this kind, and tells of those that it makes after them.
    own["request_max_retries"] = "0"
    settings = {f"model_providers.{_PROVIDER}.{name}": value for name, value in own.items() if value}
    return {"model_provider": _PROVIDER, **settings}


def _turn(prompt: str, profile: Profile) -> dict[str, Any]:
    level = profile.thinking_level
    effort = {"effort": LEVELS.get(level, level)} if level else {}
    return {"input": [text_input(prompt)], **effort}
