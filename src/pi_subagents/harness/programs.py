"""Where the programs of other agents than `pi` are: those that their users have, and those that `install-agent` brings.

    <data>/agents/<name>/<version>/node_modules/   a package from npm, whole or not there
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.contract import Program
from pi_subagents.harness.pi.programs import command_words
from pi_subagents.models.task import Profile
from pi_subagents.paths import data_dir, find_program


class Package(msgspec.Struct, frozen=True):
    """What an agent is on npm. `native` is where its program for this platform is, below `node_modules`."""

    npm: str
    command: str
    tested: str
    native: str | None = None

    def program_in(self, node_modules: Path) -> Path | None:
        """The program to start: the native one rather than the script that starts it."""
        script = node_modules / ".bin" / self.command
        return self.native_in(node_modules) or (script if os.access(script, os.X_OK) else None)

    def native_in(self, node_modules: Path) -> Path | None:
        """The program for this platform, where the package has one."""
        found = islice(node_modules.glob(self.native), 1) if self.native else ()
        return next((path for path in found if os.access(path, os.X_OK)), None)


PACKAGES: Mapping[str, Package] = {
    "claude": Package("@anthropic-ai/claude-code", "claude", "2.1.325", "@anthropic-ai/claude-code-*/claude"),
    "codex": Package("@openai/codex", "codex", "0.166.0", "@openai/codex-*/vendor/*/bin/codex"),
    "opencode": Package("opencode-ai", "opencode", "1.18.33", "opencode-*/bin/opencode"),
    "gemini": Package("@google/gemini-cli", "gemini", "0.61.0"),
    "copilot": Package("@github/copilot", "copilot", "1.0.102"),
    "qwen": Package("@qwen-code/qwen-code", "qwen", "0.24.4"),
}
"""By the name of the agent, each in the version that is tested."""


def variable_of(agent: str) -> str:
    """The environment variable that names another program for an agent."""
    return f"PI_SUBAGENTS_{agent.upper()}"


def agents_dir(environ: Mapping[str, str]) -> Path:
    """Where `install-agent` puts programs."""
    return data_dir(environ) / "agents"


def find_agent_program(agent: str, environ: Mapping[str, str], profile: Profile | None = None) -> Program:
    """The first program of the four places; raises AgentNotFound.

    What a profile or the variable names is taken as it is, even if it does not exist: falling through to another
    program would hide the mistake.
    """
    variable = variable_of(agent)
    if profile is not None and profile.program:
        folder = profile.path.parent if profile.path else None
        return Program(tuple(command_words(profile.program, folder)), f'profile "{profile.name}"')
    if value := environ.get(variable):
        try:
            return Program(tuple(command_words(value)), f"variable {variable}")
        except ValueError as error:
            raise AgentNotFound(f"The variable {variable} is not a command ({error}): {value}") from None
    package = PACKAGES.get(agent)
    if package is None:
        raise AgentNotFound(
            f'The agent "{agent}" needs a program: name it in a profile with `program`, or in the variable {variable}'
        )
    if found := find_program(package.command, environ.get("PATH")):
        return Program((str(_native_beside(found, package) or found),), "PATH")
    if installed := installed_program(agent, environ):
        return Program((str(installed),), "install-agent")
    others = ", ".join(sorted(installed_agents(environ, but=agent)))
    raise AgentNotFound(
        f"The agent {agent} was not found. Looked at: `program` of the profile, the variable {variable}, "
        f"{package.command} on the PATH, and {agents_dir(environ) / agent}. Run: pi-subagents install-agent {agent}"
        + (f". Other agents that are here: {others}" if others else "")
    )


def _native_beside(found: str, package: Package) -> Path | None:
    """The native program that an npm script on the PATH would start."""
    for folder in Path(os.path.realpath(found)).parents:
        if folder.name == "node_modules" and (native := package.native_in(folder)):
            return native
    return None


def installed_program(agent: str, environ: Mapping[str, str]) -> Path | None:
    """What `install-agent` brought last."""
    package = PACKAGES[agent]
    folders = sorted((agents_dir(environ) / agent).glob("*/node_modules"), key=_age)
    return next((program for folder in folders if (program := package.program_in(folder))), None)


def _age(folder: Path) -> float:
    return -folder.stat().st_mtime


def installed_agents(environ: Mapping[str, str], but: str = "") -> Iterator[str]:
    """The agents beside `pi` whose programs are here."""
    for agent, package in PACKAGES.items():
        if agent != but and (find_program(package.command, environ.get("PATH")) or installed_program(agent, environ)):
            yield agent
