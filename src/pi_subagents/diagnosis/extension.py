"""Checks of the extension in `pi`: whether it is there, of this version, and able to start the bridge."""

from __future__ import annotations

from collections.abc import Iterator

from pi_subagents.diagnosis.situation import Situation
from pi_subagents.harness.pi.programs import TRUST_HERE
from pi_subagents.installing.pi_extension import Installed, bridge_command, find_installed
from pi_subagents.models.finding import Finding
from pi_subagents.paths import tilde
from pi_subagents.processes.query import ask
from pi_subagents.trust import pi_decision

_NAME = "extension"
_TIMEOUT_S = 10.0


def check_extension(situation: Situation) -> Iterator[Finding]:
    """What pi itself would find of ours; not to have it there is no fault."""
    installed = list(find_installed(situation.place))
    if not installed:
        detail = "not installed (optional); to use the tools inside pi: pi-subagents install pi"
        yield Finding(_NAME, True, detail, is_absent=True)
    for one in installed:
        yield _check(situation, one)


def _check(situation: Situation, installed: Installed) -> Finding:
    where = tilde(installed.folder)
    again = "run: pi-subagents install pi" + (" --project" if installed.scope == "project" else "")
    if installed.version is None or not installed.bridge:
        return Finding(_NAME, False, f"the files in {where} are damaged", again)
    if installed.scope == "project" and installed.bridge != bridge_command("project"):
        # A stranger may have written it, and looking must not run what it says.
        reason = "would start something other than pi-subagents"
        return Finding(_NAME, False, f"the files in {where} {reason}", again)
    # Everything but the sub-command: the program is the same, and it says of which version it is.
    answer = ask([*installed.bridge[:-1], "--version"], environ=situation.place.environ, timeout_s=_TIMEOUT_S)
    if not answer.ok:
        return Finding(_NAME, False, f"{where} cannot start {installed.bridge[0]}", again)
    version = answer.text.split()[-1]
    if version != installed.version:
        return Finding(_NAME, False, f"{where} is version {installed.version}, the bridge is {version}", again)
    place = situation.place
    if installed.scope == "project" and pi_decision(place.cwd, place.agent_dir) is not True:
        reason = "because pi does not trust this directory"
        return Finding(_NAME, False, f"pi does not load {where}, {reason}", TRUST_HERE)
    return Finding(_NAME, True, f"{where}, version {version}")
