"""Starting `pi`: what its modes have in common, from arguments and environment to the files it will look for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.extension import API_KEY_EXTENSION, COPILOT_EXTENSION
from pi_subagents.harness.contract import SYSTEM_PROMPT_FILE, Invocation, Launch, RunFile, Version
from pi_subagents.harness.pi.arguments import profile_arguments
from pi_subagents.harness.pi.programs import child_environ
from pi_subagents.harness.pi.versions import line_of, mcp_restriction
from pi_subagents.models.profile import Profile
from pi_subagents.paths import data_dir

SESSION_FILE = "child-session.jsonl"
APPENDED_PROMPT_FILE = "append-system-prompt.md"
OVERLAY_DIR = "agent-dir"
"""A private stand-in for the agent directory, made only for a profile with its own API key."""

COPILOT = "github-copilot"


@dataclass(frozen=True, slots=True)
class PiNeeds:
    """What `pi` must be told beside the task.

    `agent_dir_entries` is what is in the agent directory, where a stand-in for it is made. `trusted` says what was
    decided about the project's own extensions and settings; None leaves it to `pi`. `has_copilot`: it could choose a
    model of GitHub Copilot's where the profile names no provider. `version` is known where it makes a difference.
    """

    agent_dir: Path
    agent_dir_entries: tuple[str, ...] = ()
    trusted: bool | None = None
    has_copilot: bool = False
    version: Version | None = None


def approval_arguments(trusted: bool | None) -> list[str]:
    """What tells `pi` whether to trust the place it works in; nobody can be asked there, which would count as no."""
    return [] if trusted is None else ["--approve" if trusted else "--no-approve"]


def pi_invocation(
    launch: Launch, needs: PiNeeds, mode: tuple[str, ...], stdin: bytes, *, interactive: bool = False
) -> Invocation:
    """How to start `pi` for one task in the mode that these arguments choose."""
    profile = launch.profile
    arguments = [*mode, "--session", str(launch.run_dir / SESSION_FILE)]
    # A prompt that begins with `/` would otherwise be taken for a template of that name.
    arguments.append("--no-prompt-templates")
    arguments += approval_arguments(needs.trusted)
    if profile is not None and profile.api_key is not None:
        arguments += ["--extension", str(API_KEY_EXTENSION)]
    if _may_speak_to_copilot(launch, needs):
        arguments += ["--extension", str(COPILOT_EXTENSION)]
    if profile is not None:
        if profile.restricts_tools:
            # First, as the profile's own arguments may end with `--` or with a flag that takes the next word.
            named = () if profile.no_tools else profile.tools or ()
            arguments += mcp_restriction(named, line_of(needs.version))
        arguments += _profile_arguments(profile, launch)
    return Invocation(
        argv=(*launch.program.argv, *arguments),
        environ=_environ(launch, needs),
        cwd=launch.cwd,
        stdin=stdin,
        interactive=interactive,
        files=tuple(_files(launch, needs)),
        temporary=(OVERLAY_DIR,),
        written_by_agent=(SESSION_FILE,),
        secrets=launch.secrets,
    )


def _profile_arguments(profile: Profile, launch: Launch) -> list[str]:
    system = str(launch.run_dir / SYSTEM_PROMPT_FILE) if profile.system_prompt else None
    appended = str(launch.run_dir / _appended_file(profile)) if profile.append_system_prompt else None
    return profile_arguments(profile, system_prompt=system, append_system_prompt=appended)


def _environ(launch: Launch, needs: PiNeeds) -> dict[str, str]:
    key = launch.profile.api_key if launch.profile else None
    agent_dir = needs.agent_dir if key is None else launch.run_dir / OVERLAY_DIR
    environ = child_environ(launch.environ, agent_dir, data_dir(launch.environ))
    environ.pop("PI_API_KEY", None)
    if key is not None:
        environ["PI_API_KEY"] = key.reveal()
    environ["PI_SKIP_VERSION_CHECK"] = "1"
    return environ


def _may_speak_to_copilot(launch: Launch, needs: PiNeeds) -> bool:
    # Without a provider pi chooses the model. The extension looks at what it chose, but loading it costs a start time.
    provider = launch.profile.model_provider if launch.profile else None
    return provider == COPILOT or (provider is None and needs.has_copilot)


def _files(launch: Launch, needs: PiNeeds) -> list[RunFile]:
    # pi keeps the mode of a file that exists, so the session is made here, private from its first byte.
    files = [RunFile(SESSION_FILE, launch.conversation)]
    profile = launch.profile
    if profile is None:
        return files
    if profile.system_prompt:
        files.append(RunFile(SYSTEM_PROMPT_FILE, profile.system_prompt.encode()))
    if profile.append_system_prompt:
        files.append(RunFile(_appended_file(profile), profile.append_system_prompt.encode()))
    if profile.api_key is not None:
        files += _overlay(profile, needs)
    return files


def _appended_file(profile: Profile) -> str:
    # The instructions of an agent are in one well-known place, unless it has two kinds of them.
    return APPENDED_PROMPT_FILE if profile.system_prompt else SYSTEM_PROMPT_FILE


def _overlay(profile: Profile, needs: PiNeeds) -> list[RunFile]:
    # A stored credential would win over any variable, so this run sees an auth.json of its own. The provider is
    # not always known here; the extension adds it once pi has chosen a model.
    provider = profile.model_provider
    credentials = {provider: {"type": "api_key", "key": "!printenv PI_API_KEY"}} if provider else {}
    files = [RunFile(f"{OVERLAY_DIR}/auth.json", json.dumps(credentials).encode())]
    files += [
        RunFile(f"{OVERLAY_DIR}/{name}", link_to=needs.agent_dir / name)
        for name in needs.agent_dir_entries
        if not name.startswith("auth.json")
    ]
    return files
