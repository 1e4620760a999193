"""Where the programs of agents other than `pi` are: the user's own, and those that `install-agent` installed.

<data>/agents/<name>/<version>/node_modules/     a package from npm, complete or absent
<data>/agents/<name>/<version>/bin/<command>     its launcher, if it is a script for Node
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from pi_subagents.errors import AgentNotFound
from pi_subagents.files import read_bounded
from pi_subagents.harness.contract import Program
from pi_subagents.harness.pi.programs import child_path, command_words, find_pi
from pi_subagents.harness.table import DEFAULT_AGENT
from pi_subagents.models.task import Profile
from pi_subagents.paths import data_dir, find_program
from pi_subagents.redaction import secrets_in_json

_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
"""By their names on npm."""
_CPU_BYTES = 16_384
"""More than the kernel's description of the first processor."""


class Package(msgspec.Struct, frozen=True):
    """An agent's package on npm. `native` is the path of its program below `node_modules`; `{}` is the platform.

    Without `native` it is a script for Node.
    """

    npm: str
    command: str
    tested: str
    native: str | None = None

    def program_in(self, folder: Path) -> Path | None:
        """The program to start, if `install-agent` put this package into that folder."""
        if self.native:
            return self.native_in(folder / "node_modules")
        launcher = self.launcher_in(folder)
        return launcher if os.access(launcher, os.X_OK) and self.script_in(folder).is_file() else None

    def script_in(self, folder: Path) -> Path:
        """The script that npm links: it runs on Node, and may do no more than start the native program."""
        return folder / "node_modules" / ".bin" / self.command

    def launcher_in(self, folder: Path) -> Path:
        """Our launcher, which starts the script on the right Node."""
        return folder / "bin" / self.command

    def native_in(self, node_modules: Path) -> Path | None:
        """The program for this platform, if the package has one."""
        patterns = [self.native.format(platform) for platform in _platforms()] if self.native else []
        found = (path for pattern in patterns for path in node_modules.glob(pattern))
        return next((path for path in found if os.access(path, os.X_OK)), None)


@cache
def _platforms() -> tuple[str, ...]:
    """Names of this platform in packages, the best first: npm may install several, not all of which start here."""
    machine = os.uname()
    base = f"{machine.sysname.lower()}-{_ARCHITECTURES.get(machine.machine, machine.machine)}"
    plain = (base, f"{base}-baseline") if _has_avx2() else (f"{base}-baseline", base)
    if machine.sysname != "Linux" or _has_glibc():
        return plain
    return (*(f"{name}-musl" for name in plain), base.replace("linux", "linuxmusl"), base)


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (OSError, ValueError):
        return False


def _has_avx2() -> bool:
    try:
        with Path("/proc/cpuinfo").open("rb") as file:
            return b" avx2 " in file.read(_CPU_BYTES)
    except OSError:
        return True


PACKAGES: Mapping[str, Package] = {
    "claude": Package("@anthropic-ai/claude-code", "claude", "2.1.325", "@anthropic-ai/claude-code-{}/claude"),
    "codex": Package("@openai/codex", "codex", "0.166.0", "@openai/codex-{}/vendor/*/bin/codex"),
    "opencode": Package("opencode-ai", "opencode", "1.18.33", "opencode-{}/bin/opencode"),
    "gemini": Package("@google/gemini-cli", "gemini", "0.61.0"),
    "copilot": Package("@github/copilot", "copilot", "1.0.102", "@github/copilot-{}/copilot"),
    "qwen": Package("@qwen-code/qwen-code", "qwen", "0.24.4"),
}
"""By agent, each with the version that we test."""


def variable_of(agent: str) -> str:
    """The environment variable that overrides the program of an agent."""
    return f"PI_SUBAGENTS_{agent.upper()}"


def is_named(agent: str, environ: Mapping[str, str]) -> bool:
    """Whether the user says which program it is: if it cannot be used, that is a mistake and not an absence."""
    return bool(environ.get(variable_of(agent)))


def agents_dir(environ: Mapping[str, str]) -> Path:
    """The directory of `install-agent`."""
    return data_dir(environ) / "agents"


def find_agent_program(agent: str, environ: Mapping[str, str], profile: Profile | None = None) -> Program:
    """The program from the first of four places that has one; raises AgentNotFound.

    What the profile or the variable names must be there: falling back to another program would hide the mistake.
    """
    variable = variable_of(agent)
    if profile is not None and profile.program:
        folder = profile.path.parent if profile.path else None
        words = command_words(profile.program, folder)
        return _named(agent, Program(tuple(words), f'profile "{profile.name}"'), environ)
    if value := environ.get(variable):
        try:
            words = command_words(value)
        except ValueError as error:
            raise AgentNotFound(f"The variable {variable} is not a command ({error}): {value}") from None
        return _named(agent, Program(tuple(words), f"variable {variable}"), environ)
    package = PACKAGES.get(agent)
    if package is None:
        raise AgentNotFound(
            f'The agent "{agent}" needs a program: set `program` in a profile, or the variable {variable}'
        )
    if found := find_program(package.command, environ.get("PATH")):
        return Program((str(_native_beside(found, package) or found),), "PATH")
    if installed := installed_program(agent, environ):
        return Program((str(installed),), "install-agent")
    in_profile = f'`program` of the profile "{profile.name}", ' if profile and profile.name else ""
    raise AgentNotFound(
        f"{agent} is not installed. To install it: pi-subagents install-agent {agent}. Looked at: {in_profile}"
        f"the variable {variable}, {package.command} on the PATH, and {agents_dir(environ) / agent}"
    )


def _named(agent: str, program: Program, environ: Mapping[str, str]) -> Program:
    """The program that the user named; raises AgentNotFound if it cannot be started."""
    name = program.argv[0]
    if find_program(name, child_path(environ)):
        return program
    if "/" not in name:
        why = "is not on the PATH"
    else:
        why = "is not an executable file" if os.path.lexists(name) else "does not exist"
    raise AgentNotFound(f"{agent} cannot be started: {name} (from the {program.found_in}) {why}")


def _native_beside(found: str, package: Package) -> Path | None:
    """The native program that an npm script on the PATH would start."""
    for folder in Path(os.path.realpath(found)).parents:
        if "node_modules" not in folder.parts:  # further up nothing belongs to this package
            break
        # A global installation has a package's dependencies below it, a local one beside it.
        modules = folder if folder.name == "node_modules" else folder / "node_modules"
        if native := package.native_in(modules):
            return native
    return None


def installed_program(agent: str, environ: Mapping[str, str]) -> Path | None:
    """The program that `install-agent` installed last."""
    package = PACKAGES[agent]
    modules = sorted((agents_dir(environ) / agent).glob("*/node_modules"), key=_age)
    return next((program for folder in modules if (program := package.program_in(folder.parent))), None)


def _age(folder: Path) -> float:
    return -folder.stat().st_mtime


def installed_agents(environ: Mapping[str, str], pi_command: Sequence[str] | None = None) -> Iterator[str]:
    """All installed agents; `pi_command` is the setting that names `pi`."""
    for agent in (DEFAULT_AGENT, *PACKAGES):
        with suppress(AgentNotFound):
            is_pi = agent == DEFAULT_AGENT
            program = find_pi(pi_command, environ) if is_pi else find_agent_program(agent, environ)
            if find_program(program.argv[0], child_path(environ)):
                yield agent


def how_to_log_in(program: Program, agent: str, words: str) -> str:
    """An agent's `log_in`, with the full command if the program is not on the PATH."""
    return words if program.found_in == "PATH" else words.replace(f"`{agent}", f"`{shlex.join(program.argv)}")


def named_above(cwd: Path, names: Iterable[str], environ: Mapping[str, str]) -> bool:
    """Whether a directory, or any above it but the user's home, has something with one of these names.

    An agent that was started through a link may look above the directory that the link leads to.
    """
    folders = {*_upwards(cwd), *_upwards(cwd.resolve())}
    if home := environ.get("HOME"):
        folders -= {Path(home), Path(home).resolve()}
    return any(os.path.lexists(folder / name) for folder in folders for name in names)


def _upwards(folder: Path) -> tuple[Path, ...]:
    return (folder, *folder.parents)


def file_there(path: Path) -> Path | None:
    """The path, if it is a file."""
    return path if path.is_file() else None


def secrets_in_login(file: Path | None) -> set[str]:
    """The keys and tokens in the file of a login, which its agent can print; none if it cannot be read."""
    if file is not None:
        with suppress(OSError, UnicodeDecodeError):
            return secrets_in_json(read_bounded(file).decode())
    return set()
