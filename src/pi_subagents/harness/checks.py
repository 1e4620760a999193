"""What `doctor` finds out about an agent other than `pi`, by talking to it as a run would."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.contract import Answer, Inspection, Program, Version
from pi_subagents.harness.pi.programs import version_in
from pi_subagents.harness.programs import PACKAGES, agents_dir, how_to_log_in, is_named, variable_of
from pi_subagents.models.finding import Finding
from pi_subagents.paths import tilde
from pi_subagents.redaction import Redactor, secrets_in

if TYPE_CHECKING:
    from pi_subagents.harness.agent import Agent

_TIMEOUT_S = 20.0  # some take three seconds to start even on an idle machine
_MAX_REASON = 200


def check_agent(agent: Agent, inspection: Inspection) -> Iterator[Finding]:
    """Whether the program is installed, starts, speaks the expected protocol, and has a login or a key."""
    place = inspection.place
    try:
        program = agent.find_program(place, inspection.settings)
    except AgentNotFound as error:
        if is_named(agent.name, place.environ):
            yield Finding(agent.name, False, str(error), f"correct or unset the variable {variable_of(agent.name)}")
        else:
            yield Finding(agent.name, True, f"not installed (pi-subagents install-agent {agent.name})", is_absent=True)
        return
    version, answer = _asked(agent, program, inspection)
    shown = f"{'.'.join(map(str, version)) if version else 'unknown version'}, found via {program.found_in}"
    if not answer.ok:
        lines = answer.text.strip().splitlines()
        why = Redactor(secrets_in(place.environ)).text(lines[-1] if lines else "no answer")
        yield Finding(
            agent.name, False, f"does not start ({shown}): {why[:_MAX_REASON]}", _advice(agent, program, place.environ)
        )
        return
    known = agent.credentials(place)
    detail = f"{shown}; {known}" if known else f"{shown}; no login or key found"
    advice = "" if known else how_to_log_in(program, agent.name, agent.log_in)
    yield Finding(agent.name, known is not None, detail, advice)
    package = PACKAGES.get(agent.name)
    if version and package and version != version_in(package.tested):
        note = f"tested with {package.tested}; other versions may behave differently"
        yield Finding(f"{agent.name} version", True, note)


def _asked(agent: Agent, program: Program, inspection: Inspection) -> tuple[Version | None, Answer]:
    """Its version, and what it answers to whether it can run."""
    question, probe = agent.version_question(program, inspection.place), agent.probe()
    # A diagnosis leaves nothing behind, and loads none of the project's or the user's settings for the agent.
    # HOME stays as it is: a version manager may keep the programs there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ask = partial(inspection.ask, environ=question.environ_in(folder), timeout_s=_TIMEOUT_S, cwd=Path(folder))
        answer = ask(question.argv)
        version = version_in(answer.text) if answer.ok else None
        if answer.ok and probe.stdin:
            answer = ask([*program.argv, *probe.arguments], stdin=probe.stdin, until=probe.until)
            if answer.ok and (probe.until or "") not in answer.text:
                answer = Answer(None, "it does not speak the expected protocol")
    return version, answer


def _advice(agent: Agent, program: Program, environ: Mapping[str, str]) -> str:
    """What to do about a program that does not start, or not as it should."""
    package = PACKAGES.get(agent.name)
    if package is None or program.found_in == f"variable {variable_of(agent.name)}":
        return f"correct or unset the variable {variable_of(agent.name)}"
    own = f"pi-subagents install-agent {agent.name}"
    if program.found_in == "PATH":
        return f"try `{shlex.join(program.argv)}` yourself, update it, or install the version that we test: {own}"
    return f"if it fails again, delete {tilde(agents_dir(environ) / agent.name)}, then install it again: {own}"
