"""How to start `codex app-server`, and the data of its first requests.

What applies to the whole process is on the command line, the rest goes with the thread. Without `approvals` codex may
neither write nor ask, as in `codex exec`. With `deny` it asks and everything is denied; with `allow` it may write in
the task's directory, asks for the rest, and everything is allowed. `mode` names another sandbox.

Wherever a command may write, codex's sandbox creates an empty directory for each protected one that is missing, and
removes it after the command, but not if the sandbox is killed, as happens when a command is stopped. So commands may
write only in the task's directory, where we remove what is left, and in one for temporary files that is deleted with
the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.harness.codex.dialogue import initialize, text_input
from pi_subagents.harness.contract import AGENT_HOME, SYSTEM_PROMPT_FILE, Invocation, Launch, RunFile
from pi_subagents.harness.programs import secrets_in_login
from pi_subagents.models.task import Profile

CONVERSATION_FILES = (f"{AGENT_HOME}/sessions/*/*/*/rollout-*.jsonl",)
HOME_VARIABLE = "CODEX_HOME"
LEVELS = {"off": "low", "minimal": "low"}
"""Its models have no lower level than `low`."""
LOGIN_FILE = "auth.json"
CONTEXT_FILES = ("AGENTS.md", "AGENTS.override.md")
INHERITED = ("config.toml", "skills", "rules", "hooks.json", "agents", "prompts")
"""What `inherit` links from the user's configuration directory; the conversation stays in the run directory."""
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
"""The values of a profile's `mode`."""
PROTECTED = (".git", ".agents", ".codex", ".aws")
"""What commands in the sandbox `workspace-write` may not change, nor create."""

_KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")
_BASE_URL = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
_PROVIDER = "openai_key"
_ASKED = re.compile(rb'("model_provider(?:_id)?":)"openai(?:_key)?"')
_QUIET = {"RUST_LOG": "off"}
"""Otherwise each start complains about what the machine lacks; fatal errors are still reported."""
_NO_PROFILE = Profile(name="")

_NO_SLASH_TMP = "sandbox_workspace_write.exclude_slash_tmp"
_OFF = ("features.shell_snapshot", "features.unbounded_connection_retries", "analytics.enabled")
"""A shell snapshot contains the key, and without a network codex would retry for ever."""
_OFF_UNLESS_INHERITED = (
    *("features.plugins", "features.apps", "features.goals"),
    *("skills.bundled.enabled", "check_for_update_on_startup"),
)


def user_home(environ: Mapping[str, str]) -> Path:
    """The user's own configuration directory."""
    return Path(environ.get(HOME_VARIABLE) or Path(environ.get("HOME", "/"), ".codex"))


class Login(msgspec.Struct, frozen=True):
    """What codex logs in with: the file of the user's own login, or the variable with a key."""

    file: Path | None = None
    key: str | None = None


def login_for(environ: Mapping[str, str], file: Path | None, *, inherit: bool = False) -> Login:
    """The login to use: a key in CODEX_API_KEY always counts.

    One in OPENAI_API_KEY counts with OPENAI_BASE_URL, or if there is neither a login nor `inherit`: codex itself
    ignores it, and takes its provider from its configuration.
    """
    key = next((name for name in _KEYS if environ.get(name)), None)
    if key == _KEYS[1] and _BASE_URL not in environ and (file is not None or inherit):
        key = None
    return Login(file, key)


def codex_invocation(
    launch: Launch, file: Path | None, inherited: Iterable[Path], unprotected: Iterable[str]
) -> Invocation:
    """How to start the server; `file` is the user's login and `inherited` their configuration, as far as they exist.

    `unprotected` names those of the protected directories that do not exist.
    """
    profile = launch.profile or _NO_PROFILE
    own_key = {_KEYS[0]: profile.api_key.reveal()} if profile.api_key else {}
    home = launch.run_dir / AGENT_HOME
    environ = {**_QUIET, **launch.environ, **own_key, HOME_VARIABLE: str(home), "TMPDIR": str(home / "tmp")}
    login = login_for(environ, file, inherit=profile.inherit)
    url = environ.get(_BASE_URL)
    bare_url, passwords = _without_password(url)
    provider, whole = _provider(bare_url, login), _provider(url, login)
    hidden = {**dict(whole.items() - provider.items()), **_without_keys(environ, profile)}
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
        placeholders=() if _sandbox(profile) in ("read-only", "danger-full-access") else tuple(unprotected),
        secrets=launch.secrets | set(own_key.values()) | passwords | secrets_in_login(file),
        brief={
            "thread": _thread(launch, profile, hidden),
            "turn": _turn(launch.prompt, profile),
        },
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
        yield RunFile(f"{AGENT_HOME}/{INHERITED[0]}")  # codex does not start if its home directory does not exist
    if instructions:
        yield RunFile(SYSTEM_PROMPT_FILE, instructions.encode("utf-8", "replace"))
    for name, content in launch.conversation.files.items() if launch.conversation else ():
        # A thread insists on the provider it began with, even if only the login has changed.
        provider = b'"openai"' if login.key is None else b'"%b"' % _PROVIDER.encode()
        yield RunFile(name, _ASKED.sub(rb"\1" + provider, content))


def _thread(launch: Launch, profile: Profile, hidden: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters to start a thread, or to resume the one of the conversation; with the `hidden` settings."""
    told: dict[str, Any] = {
        "cwd": str(launch.cwd),
        "model": profile.model,
        "baseInstructions": profile.system_prompt,
        "developerInstructions": profile.append_system_prompt,
        "config": {**_config(launch, profile), **hidden},
    }
    if sandbox := _sandbox(profile):
        told["sandbox"] = sandbox
        told["approvalPolicy"] = "on-request" if profile.approvals else "never"
    # Without raw events codex hides calls that failed: a patch that does not apply, a command that was not allowed.
    more: dict[str, Any] = {"experimentalRawEvents": True}
    if launch.conversation is not None:
        # The name of the oldest file also ends with the thread id, in case the run broke off before it was reported.
        thread = launch.conversation.id or min(launch.conversation.files)[-42:-6]
        more = {"threadId": thread, "excludeTurns": True}
    return {name: value for name, value in (told | more).items() if value is not None}


def _sandbox(profile: Profile) -> str | None:
    """The sandbox of its commands; None leaves the choice to the user's own configuration."""
    if profile.inherit and not profile.approvals:
        return profile.mode
    return profile.mode or ("workspace-write" if profile.approvals == "allow" else "read-only")


def _config(launch: Launch, profile: Profile) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if not profile.inherit or not launch.place.is_approved(launch.cwd):
        # By default codex trusts a directory that it may write to, and starts the MCP servers that its files name.
        config["projects"] = {str(launch.cwd): {"trust_level": "untrusted"}}
        config["project_root_markers"] = []
    if not profile.inherit or profile.no_context_files:
        config["project_doc_max_bytes"] = 0
    if not profile.inherit or profile.no_skills:
        config["skills.include_instructions"] = False
    return config


def _without_keys(environ: Mapping[str, str], profile: Profile) -> dict[str, Any]:
    """What keeps the keys out of the environment of its commands.

    With `inherit` they are only emptied: a list of ours would replace the user's own, and let out what is on that.
    """
    if not profile.inherit:
        return {"shell_environment_policy.exclude": list(_KEYS)}
    return {f"shell_environment_policy.set.{name}": "" for name in _KEYS if environ.get(name)}


def _without_password(url: str | None) -> tuple[str | None, frozenset[str]]:
    """The URL as the command line, which everybody can read, may show it; and the user and password in it."""
    scheme, separator, rest = (url or "").partition("://")
    authority, slash, path = rest.partition("/")
    known, _, host = authority.rpartition("@")
    if not known:
        return url, frozenset()
    return f"{scheme}{separator}{host}{slash}{path}", frozenset({known, known.partition(":")[2]} - {""})


def _provider(base_url: str | None, login: Login) -> dict[str, str]:
    """The provider, as settings for the whole process."""
    if login.key is None and (login.file is not None or base_url is None):
        return {"openai_base_url": base_url} if base_url else {}
    own = {"name": "OpenAI", "base_url": base_url or _OPENAI, "wire_api": "responses", "env_key": login.key}
    # Codex makes these retries silently; with none of them, it goes straight to those that it reports.
    own["request_max_retries"] = "0"
    settings = {f"model_providers.{_PROVIDER}.{name}": value for name, value in own.items() if value}
    return {"model_provider": _PROVIDER, **settings}


def _turn(prompt: str, profile: Profile) -> dict[str, Any]:
    level = profile.thinking_level
    effort = {"effort": LEVELS.get(level, level)} if level else {}
    return {"input": [text_input(prompt)], **effort}
