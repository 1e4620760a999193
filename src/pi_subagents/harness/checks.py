"""What `doctor` finds out about an agent other than `pi`: it is asked, in the way in which a run would speak to it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.contract import Answer, Inspection
from pi_subagents.harness.pi.programs import version_in
from pi_subagents.harness.programs import PACKAGES, login_with
from pi_subagents.models.finding import Finding
from pi_subagents.redaction import Redactor, secrets_in

if TYPE_CHECKING:
    from pi_subagents.harness.agent import Agent

_TIMEOUT_S = 20.0  # some of them take three seconds to start on an idle machine
_MAX_REASON = 200
_OWN_DIRECTORIES = (
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "COPILOT_HOME"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
)
"""Where agents keep what is their own. Not HOME, where a launcher may have its versions of them."""


def check_agent(agent: Agent, inspection: Inspection) -> Iterator[Finding]:
    """Whether the program is here, starts, speaks as we know it, and has a login or a key."""
    place = inspection.place
    try:
        program = agent.find_program(place, inspection.settings)
    except AgentNotFound:
        yield Finding(agent.name, True, f"not installed (pi-subagents install-agent {agent.name})", is_absent=True)
        return
    # A diagnosis leaves nothing behind, and loads nothing that a project or its user has made for the agent.
    with tempfile.TemporaryDirectory() as folder:
        environ = {**agent.environ(place), **dict.fromkeys(_OWN_DIRECTORIES, folder)}
        ask = partial(inspection.ask, environ=environ, timeout_s=_TIMEOUT_S, cwd=Path(folder))
        answer = ask([*program.argv, "--version"])
        version = version_in(answer.text) if answer.ok else None
        probe = agent.probe()
        if answer.ok and probe.stdin:
            answer = ask([*program.argv, *probe.arguments], stdin=probe.stdin, until=probe.until)
            if answer.ok and (probe.until or "") not in answer.text:
                answer = Answer(None, "it does not speak the protocol that we know")
    shown = f"{'.'.join(map(str, version)) if version else 'unknown version'}, found via {program.found_in}"
    if not answer.ok:
        lines = answer.text.strip().splitlines()
        why = Redactor(secrets_in(place.environ)).text(lines[-1] if lines else "no answer")
        yield Finding(agent.name, False, f"does not start ({shown}): {why[:_MAX_REASON]}")
        return
    known = agent.credentials(place)
    detail = f"{shown}; {known}" if known else f"{shown}; no login or key seen"
    login = "" if known else login_with(program, agent.name, agent.login)
    yield Finding(agent.name, known is not None, detail, login)
    package = PACKAGES.get(agent.name)
    if version and package and version != version_in(package.tested):
        yield Finding(f"{agent.name} version", True, f"tested with {package.tested}; others may behave otherwise")
