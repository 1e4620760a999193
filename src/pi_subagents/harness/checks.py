"""What `doctor` finds out about an agent other than `pi`, by talking to it as a run would."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.contract import Answer, Inspection
from pi_subagents.harness.pi.programs import version_in
from pi_subagents.harness.programs import PACKAGES, how_to_log_in
from pi_subagents.models.finding import Finding
from pi_subagents.redaction import Redactor, secrets_in

if TYPE_CHECKING:
    from pi_subagents.harness.agent import Agent

_TIMEOUT_S = 20.0  # some take three seconds to start even on an idle machine
_MAX_REASON = 200
_OWN_DIRECTORIES = (
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "COPILOT_HOME"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
)
"""Where agents keep their own data. HOME stays as it is: a version manager may keep the programs there."""


def check_agent(agent: Agent, inspection: Inspection) -> Iterator[Finding]:
    """Whether the program is installed, starts, speaks the expected protocol, and has a login or a key."""
    place = inspection.place
    try:
        program = agent.find_program(place, inspection.settings)
    except AgentNotFound:
        yield Finding(agent.name, True, f"not installed (pi-subagents install-agent {agent.name})", is_absent=True)
        return
    # A diagnosis leaves nothing behind, and loads none of the project's or the user's settings for the agent.
    with tempfile.TemporaryDirectory() as folder:
        environ = {**agent.environ(place), **dict.fromkeys(_OWN_DIRECTORIES, folder)}
        ask = partial(inspection.ask, environ=environ, timeout_s=_TIMEOUT_S, cwd=Path(folder))
        answer = ask([*program.argv, "--version"])
        version = version_in(answer.text) if answer.ok else None
        probe = agent.probe()
        if answer.ok and probe.stdin:
            answer = ask([*program.argv, *probe.arguments], stdin=probe.stdin, until=probe.until)
            if answer.ok and (probe.until or "") not in answer.text:
                answer = Answer(None, "it does not speak the expected protocol")
    shown = f"{'.'.join(map(str, version)) if version else 'unknown version'}, found via {program.found_in}"
    if not answer.ok:
        lines = answer.text.strip().splitlines()
        why = Redactor(secrets_in(place.environ)).text(lines[-1] if lines else "no answer")
        yield Finding(agent.name, False, f"does not start ({shown}): {why[:_MAX_REASON]}")
        return
    known = agent.credentials(place)
    detail = f"{shown}; {known}" if known else f"{shown}; no login or key found"
    advice = "" if known else how_to_log_in(program, agent.name, agent.log_in)
    yield Finding(agent.name, known is not None, detail, advice)
    package = PACKAGES.get(agent.name)
    if version and package and version != version_in(package.tested):
        note = f"tested with {package.tested}; other versions may behave differently"
        yield Finding(f"{agent.name} version", True, note)
