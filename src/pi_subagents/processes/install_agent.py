"""Installs agents other than `pi` into the data directory; `harness/programs.py` says where."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.errors import InstallError
from pi_subagents.harness.programs import PACKAGES, Package
from pi_subagents.paths import data_dir
from pi_subagents.processes.fetching import installing, publish, require_version, run, scratch, write_launcher
from pi_subagents.processes.node import Node, node_with_npm
from pi_subagents.processes.npm import npm_run, read_manifest
from pi_subagents.text.steps import Steps


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An installed agent: start `program`."""

    version: str
    program: Path


def install_agent(agent: str, version: str | None = None, *, steps: Steps, data: Path | None = None) -> InstalledAgent:
    """Install a version (or npm tag) of an agent and make it the one that runs start; quick if it is there already.

    The default is the tested version. Raises InstallError, as `install_pi` does, and KeyError for an agent that is not
    in `PACKAGES`.
    """
    package = PACKAGES[agent]
    version = version or package.tested
    require_version(version, agent, package.tested)
    data = (data or data_dir()).absolute()
    agents = data / "agents" / agent
    with installing(agent, data):
        folder = agents / version
        if package.program_in(folder) is None:
            node = node_with_npm(data, steps)
            with steps.step(f"fetching {agent} {version} from npm"):
                folder = bring_package(package, version, node, lambda known: agents / known, data)
        elif not package.native:  # the Node in its launcher may be gone
            _write_launcher(package, folder, folder, node_with_npm(data, steps), data)
        program = package.program_in(folder)
        if program is None:
            raise InstallError(f"{folder} was removed during the installation; try again.")
        os.utime(folder / "node_modules")  # the version installed last is the one that runs start
    steps.say(f"{agent} {folder.name} is ready")
    return InstalledAgent(folder.name, program)


def bring_package(package: Package, version: str, node: Node, folder_for: Callable[[str], Path], data: Path) -> Path:
    """Fetch a package, start it once, and move it to the folder for its version; raises InstallError."""
    with scratch(data) as folder:
        staged = folder / "new"
        staged.mkdir()
        npm_run(node, "install", "--prefix", staged, f"{package.npm}@{version}")
        manifest = read_manifest(staged / "node_modules" / package.npm)
        command = _command(package, staged, node)
        if manifest is None or command is None:  # for npm, a missing platform package is no failure
            raise InstallError(f"{package.npm}@{version} has no program for this platform; choose another version.")
        target = folder_for(manifest.version)  # the real version, if a tag such as `latest` was asked for
        if not package.native:
            _write_launcher(package, staged, target, node, data)
        _start_once(package, version, command, home=folder)
        publish(staged, target, usable=lambda folder: package.program_in(folder) is not None)
    return target


def _command(package: Package, folder: Path, node: Node) -> Sequence[str] | None:
    """The command that starts the package in the folder where it is put together; None if it has no program."""
    if package.native:
        native = package.native_in(folder / "node_modules")
        return [str(native)] if native else None
    script = package.script_in(folder)
    return [str(node.binary), str(script)] if script.is_file() else None


def _write_launcher(package: Package, folder: Path, target: Path, node: Node, data: Path) -> None:
    """Write the launcher of a package that is in `folder` now and will be in `target`."""
    command = shlex.join([str(node.binary), str(package.script_in(target))])
    write_launcher(package.launcher_in(folder), command, data)


def _start_once(package: Package, version: str, command: Sequence[str], home: Path) -> None:
    """Raise InstallError if it does not start here; what it writes at its first start is deleted with `home`."""
    run(
        [*command, "--version"],
        doing=f"starting {package.command} {version}",
        advice="choose another version",
        environ=os.environ | {"HOME": str(home)},
    )
