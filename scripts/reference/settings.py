"""docs/reference/settings.md: every key, its default and its limits, from the code that reads them."""

from __future__ import annotations

import json

from pi_subagents.settings import _KEYS, Settings, _Choice, _Command, _Flag, _Key, _Number
from pi_subagents.trust import SETTINGS
from scripts.reference.markdown import code, join, standing, table

_HEAD = """
# Settings

Settings stand under the key `subagents` of pi's own settings files. Both files are optional; the project's wins key by
key.

| scope | file |
| --- | --- |
| global | `~/.pi/agent/settings.json`, or `settings.json` in `$PI_AGENT_DIR` |
| project | `<project>/.pi/settings.json` |

The project is the nearest directory above with `.pi` or `.git`, else the current one.

A project's file counts in full once you trust the project (`pi-subagents trust`, or `/trust` in `pi`). Until then the
settings that the last column calls a power have no effect there, and a warning says so: see
[security](../concepts/security.md). Your own file must belong to you, and nobody else may be able to write it.

A file that is not valid JSON or a value that cannot be used is never fatal: you get a warning that names file, line,
key and what applies instead. A number outside its limits is brought to the nearest one. A key under `subagents` that is
not in this table is ignored with a warning that says which one you probably meant. `pi-subagents doctor` shows it too.
"""

_MEANINGS = {
    "maxLinesPerWindow": "Lines that each sub-agent's window shows.",
    "commandPreviewWidth": "How many characters of a tool call are shown; on a terminal its width decides instead.",
    "extend_timeout_debounce": "When the timeout of an agent that is at work is over, it may go on for so many seconds "
    "after each tool call. 0 ends it at once.",
    "looping_tool_count": "So many identical tool calls in a row end a run. 0 switches this off.",
    "piCommand": "The command that starts `pi`: a text, or a list of words. A relative path, such as `./pi.sh`, is "
    "seen from the directory of the settings file.",
    "containment": "What makes sure that nothing an agent started outlives its run; see "
    "[isolation and stopping](../concepts/isolation-and-stopping.md).",
    "resumeMode": "How a session goes on: `retell` tells a new agent what happened so far, `native` lets `pi` continue "
    "its own conversation.",
    "maxResumeCharacters": "How much of a session is retold at most; of a longer one the middle of its oldest runs is "
    "left out.",
    "keepRunsDays": "Sessions that ended so many days ago are deleted, once a day. Without it and `keepSessions` all "
    "are kept.",
    "keepSessions": "The newest so many sessions of a project are kept in any case; alone, all older ones are deleted.",
    "maxJournalMb": "When a run's journal has so many millions of bytes, it leaves out what is streamed and printed, "
    "and cuts long messages; at twice as many the run is stopped. See "
    "[how a run works](../concepts/how-a-run-works.md#when-a-run-never-stops-talking).",
    "maxBackground": "How many background runs may work at once, over all projects; the rest wait in the order they "
    "came.",
    "maxDepth": "How deep sub-agents may start sub-agents of their own; with 1 only you can start any.",
    "warmAgents": "Keep the process of an agent that has completed its task for the next one of the same kind; see "
    "[warm agents](../concepts/warm-agents.md). Agents are then spoken to as with `pi-rpc`.",
    "warmIdleSeconds": "How long a kept process may wait for its next task.",
    "warmMaxMemoryMb": "A process that takes more memory than this, in millions of bytes, is not kept.",
    "maxProcesses": "How many agents may live at once on this machine, whoever started them; further ones wait.",
    "harness": "How agents in the foreground are spoken to: with `pi-rpc` they can be steered while they work. "
    "A profile's own wins; those in the background use `pi-rpc` unless theirs says otherwise.",
    "runner": "Where agents in the foreground work: `local`, or `tmux`, each in a pane that shows its window.",
}
_UNSET = {
    "commandPreviewWidth": "160",
    "piCommand": "looked for",
    "keepRunsDays": "for ever",
    "keepSessions": "all",
    "harness": "pi-json",
    "maxProcesses": "8 for each core, and no more than half of the memory takes",
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
        case _Flag():
            return "`true`, `false`"
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
