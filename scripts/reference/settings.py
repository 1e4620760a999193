"""docs/reference/settings.md: every key, its default and its limits, from the code that reads them."""

from __future__ import annotations

import json

from pi_subagents.settings import _KEYS, Settings, _AutoOrFlag, _Choice, _Command, _Key, _Number
from pi_subagents.trust import SETTINGS
from scripts.reference.markdown import code, join, standing, table

_HEAD = """
# Settings

Settings live under the key `subagents` in pi's own settings files. Both files are optional; the project's file
overrides the global one, key by key.

| scope | file |
| --- | --- |
| global | `~/.pi/agent/settings.json`, or `settings.json` in `$PI_AGENT_DIR` |
| project | `<project>/.pi/settings.json` |

The project is the nearest directory above with `.pi` or `.git`, else the current one.

A project's file applies in full once you trust the project (`pi-subagents trust`, or `/trust` in `pi`). Until then,
settings marked as a power in the last column have no effect there, and a warning says so: see
[security](../concepts/security.md). Your own file must belong to you, and nobody else may be able to write to it.

Invalid JSON or an invalid value is never fatal: you get a warning with the file, the line, the key and what applies
instead. A number outside its limits is set to the nearest limit. A key under `subagents` that is not in this table is
ignored, with a warning that suggests the one you probably meant. `pi-subagents doctor` shows these warnings too.
"""

_MEANINGS = {
    "maxLinesPerWindow": "Lines that each sub-agent's window shows.",
    "commandPreviewWidth": "How many characters of a tool call are shown; on a terminal, its width is used instead.",
    "extend_timeout_debounce": "Seconds that an agent may continue past its timeout after each tool call. 0 stops it "
    "at the timeout.",
    "looping_tool_count": "Stop a run after this many identical tool calls in a row. 0 disables this.",
    "piCommand": "The command that starts `pi`: a string, or a list of words. A relative path, such as `./pi.sh`, is "
    "relative to the directory of the settings file.",
    "containment": "How everything an agent started is killed when its run ends; see "
    "[isolation and stopping](../concepts/isolation-and-stopping.md).",
    "resumeMode": "How a session is resumed: `retell` tells a new agent what happened so far, `native` lets "
    "the agent continue its own conversation.",
    "maxResumeCharacters": "How much of a session is retold at most; in a longer one, the middle of its oldest runs is "
    "left out.",
    "keepRunsDays": "Delete sessions this many days after they ended; checked once a day. Without this and "
    "`keepSessions`, all are kept.",
    "keepSessions": "Always keep this many of a project's newest sessions; without "
    "`keepRunsDays`, delete all older ones.",
    "maxJournalMb": "When a run's journal reaches this many million bytes, it leaves out streamed and printed text "
    "and cuts long messages; at twice that size the run is stopped. See "
    "[how a run works](../concepts/how-a-run-works.md#when-a-run-never-stops-talking).",
    "maxBackground": "How many background runs may be active at once, over all projects; the rest wait in a queue, "
    "first come, first served.",
    "maxDepth": "How many levels deep sub-agents may start their own sub-agents; with 1, they cannot.",
    "warmAgents": "With `auto`, a process that completed its task is kept for the next task of the same kind where "
    "that is safe, see [warm agents](../concepts/warm-agents.md); `true` means the same. With `false`, every task gets "
    "a new process.",
    "warmIdleSeconds": "How long a kept process may wait for its next task.",
    "warmMaxMemoryMb": "A process that uses more memory than this, in millions of bytes, is not kept.",
    "maxProcesses": "How many agents may be alive at once on this machine, whoever started them; the rest wait.",
    "harness": "How `pi` is spoken to: agents in `pi-rpc` can be steered while they work, and their processes reused. "
    "A profile's own setting wins. A `pi` without RPC mode is spoken to in `pi-json`. Another agent is chosen with "
    "`agent` in a [profile](profiles.md), or with `--agent`.",
    "runner": "Where foreground agents run: `local`, or `tmux`, each in a pane that shows its window.",
}
_UNSET = {
    "commandPreviewWidth": "160",
    "piCommand": "searched for",
    "keepRunsDays": "for ever",
    "keepSessions": "all",
    "harness": "pi-rpc",
    "maxProcesses": "8 per core, but no more than fit in half of the memory",
}
_EXAMPLE = {"subagents": {"maxLinesPerWindow": 25, "extend_timeout_debounce": 60, "looping_tool_count": 8}}


def settings_page() -> str:
    """The page; raises LookupError for a setting that nobody has described."""
    if missing := _KEYS.keys() - _MEANINGS.keys():
        raise LookupError(
            f"say in scripts/reference/settings.py what these settings mean: {', '.join(sorted(missing))}"
        )
    rows = [
        (f"`subagents.{name}`", _type(key), _default(name, key), _MEANINGS[name], standing(SETTINGS[name]))
        for name, key in _KEYS.items()
    ]
    return join(
        _HEAD,
        table(("setting", "value", "default", "meaning", "without trust"), rows),
        "## Example",
        code(json.dumps(_EXAMPLE, indent=2), "json"),
    )


def _type(key: _Key) -> str:
    match key:
        case _Choice(words=words):
            return ", ".join(f"`{word}`" for word in words)
        case _Command():
            return "command"
        case _AutoOrFlag():
            return "`auto`, `true`, `false`"
        case _Number(minimum=low, maximum=None):
            return f"number, {low} or more"
        case _Number(minimum=low, maximum=high):
            return f"number, {low} to {high}"
    raise TypeError(f"{key} is a kind of setting that this page cannot describe yet")


def _default(name: str, key: _Key) -> str:
    value = getattr(Settings(), key.field)
    if isinstance(value, bool):
        return f"`{json.dumps(value)}`"
    return _UNSET.get(name, "none") if value is None else f"`{value}`"
