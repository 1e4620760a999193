"""Checks of the programs: Python, Node, `pi`, what its tools need, and whether it has a model to speak to."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pi_subagents.diagnosis.finding import Finding
from pi_subagents.diagnosis.interpreter import node_command
from pi_subagents.diagnosis.situation import Situation, tilde
from pi_subagents.harness.pi.login import LOGIN
from pi_subagents.harness.pi.models import LIST_MODELS, parse_models
from pi_subagents.harness.pi.programs import GET_PI
from pi_subagents.harness.pi.versions import NEWEST_KNOWN, Version, version_in
from pi_subagents.processes.install import MINIMUM_NODE, find_node
from pi_subagents.processes.query import Answer, ask
from pi_subagents.profiles import load_presets, load_profiles
from pi_subagents.redaction import Redactor, secrets_in

MINIMUM_PYTHON = (3, 11)
_VERSION_TIMEOUT_S = 10.0  # a first start from a cold disk
_MODELS_TIMEOUT_S = 10.0
_INSTALL = "run: pi-subagents setup"
_NODE_TEXT = ".".join(map(str, MINIMUM_NODE))

# Which of pi's tools needs which program, under which names pi tries it, and who packages it.
_SEARCH_PROGRAMS = (("rg", ("rg",), "grep", "ripgrep"), ("fd", ("fd", "fdfind"), "find", "fd (fd-find on Debian)"))


def check_python(_situation: Situation) -> Iterator[Finding]:
    """The Python this runs on."""
    ok = sys.version_info >= MINIMUM_PYTHON
    wanted = "" if ok else f"install Python {'.'.join(map(str, MINIMUM_PYTHON))} or newer"
    yield Finding("python", ok, f"{platform.python_version()} ({tilde(Path(sys.executable))})", wanted, needed=True)


def check_agent(situation: Situation) -> Iterator[Finding]:
    """`pi` and the Node it runs on: whether both start, in which versions."""
    if situation.program is None:
        yield _node_for_later(situation)
        yield Finding("pi", False, situation.problem.removesuffix(f" {GET_PI}"), _INSTALL, True)
        return
    answer = situation.ask_pi("--version", timeout_s=_VERSION_TIMEOUT_S)
    yield _node_of_pi(situation, pi_starts=answer.ok)
    shown = f"{tilde(Path(situation.program.argv[0]))}, found via {situation.program.found_in}"
    if answer.ok:
        version = version_in(answer.text)
        yield Finding("pi", True, f"{_dotted(version) if version else 'unknown version'} ({shown})", needed=True)
        if version and version > NEWEST_KNOWN:
            known = _dotted(NEWEST_KNOWN)
            detail = f"newer than {known}, the newest that this version of pi-subagents knows; treated like it"
            yield Finding("pi version", False, detail, "update pi-subagents")
    else:
        why = _last_line(situation, answer)
        yield Finding("pi", False, f"does not start ({shown}): {why}", f"fix or remove it, or {_INSTALL}", True)


def _node_for_later(situation: Situation) -> Finding:
    node = find_node(situation.data)
    if node is None:
        return Finding("node", False, f"no version {_NODE_TEXT} or newer", f"{_INSTALL} (installs one)", True)
    return Finding("node", True, f"{node.version} ({tilde(node.binary)})", needed=True)


def _node_of_pi(situation: Situation, *, pi_starts: bool) -> Finding:
    assert situation.program is not None
    command = node_command(situation.program.argv, situation.path)
    if command is None:
        return Finding("node", True, "not needed: pi is a standalone program", needed=True)
    found = shutil.which(command, path=situation.path)
    needed = not pi_starts  # what works is not called missing, however old it is
    advice = f"put Node {_NODE_TEXT} or newer on the PATH, or {_INSTALL} (installs one)"
    if found is None:
        return Finding("node", False, f"{command} not found, but pi needs it", advice, needed)
    answer = ask([found, "--version"], environ=situation.environ, timeout_s=_VERSION_TIMEOUT_S)
    version = version_in(answer.text)
    if not answer.ok or version is None:
        return Finding("node", False, f"{tilde(Path(found))} does not start", advice, needed)
    shown = f"{_dotted(version)} ({tilde(Path(found))})"
    if version < MINIMUM_NODE:
        return Finding("node", False, f"{shown} is too old; pi needs {_NODE_TEXT}", advice, needed)
    return Finding("node", True, shown, needed=True)


def check_search_programs(situation: Situation) -> Iterator[Finding]:
    """What pi's grep and find need, where pi looks for it: in its own directory, then on the PATH."""
    for name, commands, tool, package in _SEARCH_PROGRAMS:
        own = situation.place.agent_dir / "bin" / name
        found = str(own) if own.exists() else _first_on_path(commands, situation.path)
        if found:
            yield Finding(name, True, f"{tilde(Path(found))}, for pi's {tool} tool")
        else:
            missing = f"not found; pi's {tool} tool will try to download it, and fails without a network"
            yield Finding(name, False, missing, f"install {package}")


def _first_on_path(commands: tuple[str, ...], path: str) -> str | None:
    return next(filter(None, (shutil.which(command, path=path) for command in commands)), None)


def check_model(situation: Situation) -> Iterator[Finding]:
    """Whether pi has a model with a credential; pi itself is asked, because only it knows all its providers."""
    if situation.program is None:
        yield Finding("model", False, "unknown until pi is installed", _INSTALL)
        return
    answer = _list_models(situation)
    providers = [name.partition("/")[0] for name in parse_models(answer.text)]
    advice = f"{LOGIN}, or set a provider's key such as ANTHROPIC_API_KEY"
    if not answer.ok:
        yield Finding("model", False, f"pi --list-models failed: {_last_line(situation, answer)}", advice)
    elif not providers:
        keyed = _profiles_with_keys(situation)
        who = f"only agents with their own key can run: {', '.join(keyed)}" if keyed else "only the demo works"
        yield Finding("model", False, f"pi has none; {who}", advice, needed=not keyed)
    else:
        yield Finding("model", True, f"{len(providers)} available from {', '.join(sorted(set(providers)))}")
    if "errors loading models.json" in answer.text:
        where = tilde(situation.place.agent_dir / "models.json")
        yield Finding("model", False, f"{where} has errors", "run: pi-subagents pi --list-models")


def _profiles_with_keys(situation: Situation) -> list[str]:
    place = situation.place
    loaded = [load(place.cwd, place.agent_dir).profiles for load in (load_profiles, load_presets)]
    return sorted({name for profiles in loaded for name, profile in profiles.items() if profile.api_key is not None})


def _list_models(situation: Situation) -> Answer:
    if situation.place.agent_dir.is_dir():
        return situation.ask_pi(LIST_MODELS, timeout_s=_MODELS_TIMEOUT_S)
    # pi would make its directory; a diagnosis leaves nothing behind.
    with tempfile.TemporaryDirectory() as empty:
        return situation.ask_pi(LIST_MODELS, timeout_s=_MODELS_TIMEOUT_S, agent_dir=Path(empty))


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _last_line(situation: Situation, answer: Answer) -> str:
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    why = lines[-1] if lines else f"exit code {answer.exit_code}"
    return Redactor(secrets_in(situation.environ)).text(why)[:200]
