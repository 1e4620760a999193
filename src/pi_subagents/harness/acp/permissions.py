"""The permissions of opencode, as rules by tool: of all rules that match, the last one counts.

Only the agent that has the task can ask for permission in ACP. A question of one of its sub-agents reaches nobody, so
the sub-agent would wait for ever; instead, its rules are the answers that the profile would give.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pi_subagents.harness.contract import Launch
from pi_subagents.models.task import Profile

_SECRET_FILES = ("*.env", "*.env.*")
_EDITING = ("edit", "write")
Switches = Mapping[str | None, bool]
"""Tools that are switched on or off by the profile, with `*` for all others."""


def own_rules(launch: Launch, profile: Profile, switches: Switches) -> dict[str, Any]:
    """The rules for the agent that has the task: what `approvals` is about, and what opencode asks for anyway."""
    ask, listed = "ask" if profile.approvals else None, _if_listed(switches)
    rules = {
        "edit": _rule(ask or listed, _forbidden_edits(launch, profile)),
        **dict.fromkeys(("bash", "webfetch", "task"), ask),
    }
    if not profile.inherit:
        rules |= {
            "read": _rule(listed, _of_secrets("ask")),
            "external_directory": _rule("ask", _readable(launch)),
            "doom_loop": "ask",
        }
    return _of_offered(rules, switches)


def sub_agent_rules(launch: Launch, profile: Profile, switches: Switches) -> dict[str, Any]:
    """The rules for all its agents, which `own_rules` overrides.

    With the user's own settings there are no sub-agents, as those settings may make them ask.
    """
    denied, listed = "deny" if profile.approvals == "deny" else None, _if_listed(switches)
    rules = {
        "edit": denied or _rule(listed, _forbidden_edits(launch, profile)),
        **dict.fromkeys(("bash", "webfetch"), denied),
    }
    if profile.inherit:
        rules["external_directory"] = _rule(None, _readable(launch))
    else:
        answer = profile.approvals or "deny"
        rules |= {
            "read": _rule(listed, _of_secrets(answer)),
            "external_directory": _rule(answer, _readable(launch)),
            "doom_loop": answer,
        }
    return {**_of_offered(rules, switches), **({"task": "deny"} if profile.inherit else {})}


def _rule(usual: str | None, exceptions: Mapping[str, str]) -> str | dict[str, str] | None:
    """A rule and its exceptions; without `usual` they are added to whatever holds already, None if there are none."""
    if not exceptions:
        return usual
    return {**({"*": usual} if usual else {}), **exceptions}


def _if_listed(switches: Switches) -> str | None:
    """What a rule with exceptions must begin with where only listed tools are allowed: it replaces that of the list."""
    return "allow" if "*" in switches else None


def _of_offered(rules: Mapping[str, Any], switches: Switches) -> dict[str, Any]:
    """Without rules for tools that are switched off, as those would switch them on again."""
    return {tool: rule for tool, rule in rules.items() if rule is not None and not _is_off(tool, switches)}


def _is_off(tool: str, switches: Switches) -> bool:
    if tool in ("external_directory", "doom_loop"):  # no tools
        return False
    said = [switches[name] for name in (_EDITING if tool == "edit" else (tool,)) if name in switches]
    return not all(said) if said else "*" in switches


def _of_secrets(answer: str) -> dict[str, str]:
    """Rules for files with secrets, for which opencode asks by default."""
    return {**dict.fromkeys(_SECRET_FILES, answer), "*.env.example": "allow"}


def _readable(launch: Launch) -> dict[str, str]:
    return {f"{folder}/*": "allow" for folder in launch.skill_folders}


def _forbidden_edits(launch: Launch, profile: Profile) -> dict[str, str]:
    """Skills outside the project: what it may read there it could also change, unless a rule forbids that.

    Its paths start at the root of the repository, which may be any directory above the task's.
    """
    if profile.inherit:
        return {}
    roots = (launch.cwd, *launch.cwd.parents)
    outside = [folder for folder in launch.skill_folders if not Path(folder).is_relative_to(launch.cwd)]
    return {f"{os.path.relpath(folder, root)}/*": "deny" for folder in outside for root in roots}
