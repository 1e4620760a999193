"""What `doctor` finds out about `pi`: whether it starts, on which Node, with which tools, and with which models."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.contract import Answer, Inspection, Program, Version
from pi_subagents.harness.pi.programs import (
    GET_PI,
    LIST_MODELS,
    LOGIN,
    MINIMUM_NODE,
    NEWEST_KNOWN,
    child_environ,
    find_pi,
    node_places,
    parse_models,
    version_in,
)
from pi_subagents.models.finding import Finding
from pi_subagents.paths import data_dir, tilde
from pi_subagents.place import Place
from pi_subagents.profiles import load_presets, load_profiles
from pi_subagents.redaction import Redactor, secrets_in

_TIMEOUT_S = 10.0  # a first start from a cold disk
_INSTALL = "run: pi-subagents setup"
_HEAD_BYTES = 4096
"""Of a script that may name the Node it runs on."""
_NODE_TEXT = ".".join(map(str, MINIMUM_NODE))

# Which of pi's tools needs which program, under which names pi tries it, and who packages it.
_SEARCH_PROGRAMS = (("rg", ("rg",), "grep", "ripgrep"), ("fd", ("fd", "fdfind"), "find", "fd (fd-find on Debian)"))


def check_pi(inspection: Inspection) -> Iterator[Finding]:
    """`pi` and the Node it runs on: whether both start, in which versions."""
    try:
        pi = _Pi.found(inspection)
    except AgentNotFound as error:
        yield _node_for_later(inspection)
        yield Finding("pi", False, str(error).removesuffix(f" {GET_PI}"), _INSTALL, True)
        return
    answer = pi.ask("--version")
    yield _node_of(pi, pi_starts=answer.ok)
    shown = f"{tilde(Path(pi.program.argv[0]))}, found via {pi.program.found_in}"
    if answer.ok:
        version = version_in(answer.text)
        yield Finding("pi", True, f"{_dotted(version) if version else 'unknown version'} ({shown})", needed=True)
        if version and version > NEWEST_KNOWN:
            known = _dotted(NEWEST_KNOWN)
            detail = f"newer than {known}, the newest that this version of pi-subagents knows; treated like it"
            yield Finding("pi version", False, detail, "update pi-subagents")
    else:
        why = _last_line(pi, answer)
        yield Finding("pi", False, f"does not start ({shown}): {why}", f"fix or remove it, or {_INSTALL}", True)


class _Pi(msgspec.Struct, frozen=True):
    """The `pi` that would be started, and how it is asked."""

    program: Program
    inspection: Inspection

    @classmethod
    def found(cls, inspection: Inspection) -> _Pi:
        return cls(find_pi(inspection.settings.pi_command, inspection.place.environ), inspection)

    def ask(self, option: str, agent_dir: Path | None = None) -> Answer:
        """Start it with one option."""
        place = self.inspection.place
        environ = _environ(place, agent_dir)
        return self.inspection.ask([*self.program.argv, option], environ=environ, timeout_s=_TIMEOUT_S, cwd=place.cwd)


def _environ(place: Place, agent_dir: Path | None = None) -> dict[str, str]:
    # A diagnosis is quick and the same with and without a network, so pi is told to stay at home.
    quiet = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}
    return {**child_environ(place.environ, agent_dir or place.agent_dir), **quiet}


def _node_for_later(inspection: Inspection) -> Finding:
    environ = _environ(inspection.place)
    for node in node_places(inspection.place.environ, data_dir(inspection.place.environ)):
        answer = inspection.ask([node, "--version"], environ=environ, timeout_s=_TIMEOUT_S)
        version = version_in(answer.text) if answer.ok else None
        if version is not None and version >= MINIMUM_NODE:
            return Finding("node", True, f"{_dotted(version)} ({tilde(Path(node))})", needed=True)
    return Finding("node", False, f"no version {_NODE_TEXT} or newer", f"{_INSTALL} (installs one)", True)


def _node_of(pi: _Pi, *, pi_starts: bool) -> Finding:
    environ = _environ(pi.inspection.place)
    command = node_command(pi.program.argv, environ["PATH"])
    if command is None:
        return Finding("node", True, "not needed: pi is a standalone program", needed=True)
    found = shutil.which(command, path=environ["PATH"])
    needed = not pi_starts  # what works is not called missing, however old it is
    advice = f"put Node {_NODE_TEXT} or newer on the PATH, or {_INSTALL} (installs one)"
    if found is None:
        return Finding("node", False, f"{command} not found, but pi needs it", advice, needed)
    answer = pi.inspection.ask([found, "--version"], environ=environ, timeout_s=_TIMEOUT_S)
    version = version_in(answer.text)
    if not answer.ok or version is None:
        return Finding("node", False, f"{tilde(Path(found))} does not start", advice, needed)
    shown = f"{_dotted(version)} ({tilde(Path(found))})"
    if version < MINIMUM_NODE:
        return Finding("node", False, f"{shown} is too old; pi needs {_NODE_TEXT}", advice, needed)
    return Finding("node", True, shown, needed=True)


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


def check_search_programs(inspection: Inspection) -> Iterator[Finding]:
    """What pi's grep and find need, where pi looks for it: in its own directory, then on the PATH."""
    for name, commands, tool, package in _SEARCH_PROGRAMS:
        own = inspection.place.agent_dir / "bin" / name
        path = _environ(inspection.place)["PATH"]
        places = [str(own)] if own.exists() else [shutil.which(command, path=path) for command in commands]
        found = next(filter(None, places), None)
        if found:
            yield Finding(name, True, f"{tilde(Path(found))}, for pi's {tool} tool")
        else:
            missing = f"not found; pi's {tool} tool will try to download it, and fails without a network"
            yield Finding(name, False, missing, f"install {package}")


def check_model(inspection: Inspection) -> Iterator[Finding]:
    """Whether pi has a model with a credential; pi itself is asked, because only it knows all its providers."""
    try:
        pi = _Pi.found(inspection)
    except AgentNotFound:
        yield Finding("model", False, "unknown until pi is installed", _INSTALL)
        return
    answer = _list_models(pi)
    providers = [name.partition("/")[0] for name in parse_models(answer.text)]
    advice = f"{LOGIN}, or set a provider's key such as ANTHROPIC_API_KEY"
    if not answer.ok:
        yield Finding("model", False, f"pi --list-models failed: {_last_line(pi, answer)}", advice)
    elif not providers:
        keyed = _profiles_with_keys(inspection.place)
        who = f"only agents with their own key can run: {', '.join(keyed)}" if keyed else "only the demo works"
        yield Finding("model", False, f"pi has none; {who}", advice, needed=not keyed)
    else:
        yield Finding("model", True, f"{len(providers)} available from {', '.join(sorted(set(providers)))}")
    if "errors loading models.json" in answer.text:
        where = tilde(inspection.place.agent_dir / "models.json")
        yield Finding("model", False, f"{where} has errors", "run: pi-subagents pi --list-models")


def _profiles_with_keys(place: Place) -> list[str]:
    loaded = [load(place.cwd, place.agent_dir).profiles for load in (load_profiles, load_presets)]
    return sorted({name for profiles in loaded for name, profile in profiles.items() if profile.api_key is not None})


def _list_models(pi: _Pi) -> Answer:
    if pi.inspection.place.agent_dir.is_dir():
        return pi.ask(LIST_MODELS)
    # pi would make its directory; a diagnosis leaves nothing behind.
    with tempfile.TemporaryDirectory() as empty:
        return pi.ask(LIST_MODELS, Path(empty))


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _last_line(pi: _Pi, answer: Answer) -> str:
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    why = lines[-1] if lines else f"exit code {answer.exit_code}"
    return Redactor(secrets_in(pi.inspection.place.environ)).text(why)[:200]


CHECKS = (check_pi, check_search_programs, check_model)
