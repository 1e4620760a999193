"""docs/reference/profiles.md: every field, and the option of `pi` that it becomes, from the code that does it."""

from __future__ import annotations

from typing import Any

from pi_subagents.harness import AGENTS
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS, profile_arguments
from pi_subagents.models import Profile, ThinkingLevel
from pi_subagents.profiles.fields import FIELDS, Field
from pi_subagents.trust import FIELDS as CLASSES
from scripts.reference.markdown import join, standing, table

_HEAD = """
# Profiles

A profile is a Markdown file with YAML frontmatter. Its body is the system prompt; an empty body keeps pi's own.

| scope | directory |
| --- | --- |
| global | `~/.pi/agent/agent-profiles/`, or `agent-profiles/` in `$PI_AGENT_DIR` |
| project | `<project>/.pi/agent-profiles/` |

A project's profile replaces a global one of the same name. A broken file never hides the others: `pi-subagents profile
list` reports it with file and line, and so does a task that uses it.

## Fields

A profile of a project that you have not trusted (`pi-subagents trust`) may describe and restrict an agent. One with a
field marked as a power in the last column is not used at all, because dropping the field could lift a restriction;
skills from outside the project count as a power too. See [security](../concepts/security.md).

Only `name` is required; what you do not set is up to the agent. Not every agent supports every field: a profile that
sets one its agent does not support is refused with a message that names the field ([which agent supports
what](agents.md#fields-of-a-profile)). "Becomes" is the option that `pi` is started with. YAML is version 1.2, so `off`
is a string and not `false`. A list may also be written as comma-separated text.
"""

_KINDS = {
    "text": "text",
    "list": "list",
    "flag": "true or false",
    "secret": "text, kept secret",
    "words": "command",
    "count": "whole number",
    "money": "dollars",
}

_MEANINGS = {
    "name": "The name that tasks use: letters, digits, `-` and `_`.",
    "description": "For people; the agent does not see it.",
    "provider": "The model's provider.",
    "model": "The model; `provider/model` and pi's `model:thinking` work too.",
    "thinkingLevel": "One of " + ", ".join(f"`{level}`" for level in ThinkingLevel) + ".",
    "tools": "The only tools the agent may use. By default pi offers read, bash, edit and write; grep, find "
    "and ls must be listed.",
    "noTools": "No tools at all. Wins over the other two.",
    "excludeTools": "All of " + ", ".join(BUILTIN_TOOLS) + " but these; inside `pi` all of its tools, active or not. "
    "Names in any case, or patterns such as `web_*`. Never MCP tools, `codemode` and `tool_search`, which only `tools` "
    "can give. Not together with `tools`.",
    "noExtensions": "Load no extensions; in `pi` 1.x this includes its own, such as MCP servers.",
    "extensions": "Extension files to load.",
    "noSkills": "Load no skills. Not together with the next two.",
    "suggestedSkills": "Skills, by name, that the agent may load if it finds them useful.",
    "loadSkills": "Skills, by name, whose text is added to the system prompt.",
    "noContextFiles": "Do not read `AGENTS.md` and `CLAUDE.md`.",
    "appendSystemPrompt": "Added to the system prompt instead of replacing it.",
    "apiKey": "The provider's key for this profile; see [secrets](../concepts/secrets.md).",
    "extraArgs": "Extra arguments for the agent, passed as they are. Refused: anything that looks like shell syntax or "
    "would lift a tool restriction, and `--api-key`, which every user of the machine could read.",
    "resumeMode": "`retell` or `native`; wins over the setting of that name.",
    "agent": f"The program that does the work: {', '.join(f'`{name}`' for name in AGENTS)}. Default: `pi`. An agent "
    "named by the task or the call wins.",
    "program": "The command that starts the agent, instead of the one that would be found: text, split as a shell "
    "does, or a list of words. `agent: acp` needs it.",
    "mode": "One of the agent's own modes: a permission mode of `claude`, a sandbox of `codex`, a session mode of an "
    "ACP agent.",
    "approvals": "`allow` or `deny`: the answer to the agent's permission requests. Without it, they are denied; some "
    "agents then [do not ask at all](../guides/other-agents.md#approvals).",
    "inherit": "Let the agent load your own settings for it, with their hooks, MCP servers and plug-ins; otherwise it "
    "loads none of them.",
    "maxTurns": "After this many turns the run fails with the reason `limit`.",
    "maxCost": "After this many dollars the run fails with the reason `limit`.",
    "harness": "`pi-rpc`, or `pi-json`, whose agents cannot be steered or kept; wins over the setting.",
}

_OF_OTHERS = {"agent", "program", "mode", "approvals", "inherit", "max_turns", "max_cost"}
"""Fields that `pi` does not support, or that choose another agent."""
_ELSEWHERE = {
    "excludeTools": "`--tools` with what is left",
    "loadSkills": "part of `--append-system-prompt`",
    "apiKey": "the environment, never the command line",
}


_PRESETS = """
## Presets

A preset is a profile in a file of the second kind, for the tools `subagent` and `background_agent`. Everything above
applies to it too, except:

| | profile | preset |
| --- | --- | --- |
| global | `~/.pi/agent/agent-profiles/` | `~/.pi/agent/subagents/` |
| project | `<project>/.pi/agent-profiles/` | `.pi/subagents/` of the nearest directory above that holds a preset |
| required | `name` | `name`, `description`, and a model here or in the call |
| body | replaces pi's system prompt | is added to it, behind `appendSystemPrompt` |
| `timeout` | that of the task | a field: seconds, for runs of this preset |

`tools` becomes `--tools`, which in current `pi` limits the tools of extensions as well as its own.
"""


def profiles_page() -> str:
    """The page; raises LookupError for a field that nobody has described."""
    if missing := {field.key for field in FIELDS} - _MEANINGS.keys():
        raise LookupError(f"say in scripts/reference/profiles.py what these fields mean: {', '.join(sorted(missing))}")
    rows = [
        (f"`{field.key}`", _KINDS[field.kind], _becomes(field), _MEANINGS[field.key], standing(CLASSES[field.key]))
        for field in FIELDS
    ]
    return join(_HEAD, table(("field", "value", "becomes", "meaning", "without trust"), rows), _PRESETS)


def _becomes(field: Field) -> str:
    """What `pi` is started with when only this field is set."""
    if field.key in _ELSEWHERE:
        return _ELSEWHERE[field.key]
    if field.attribute in _OF_OTHERS:
        return ""
    example: dict[str, Any] = {"text": "…", "list": ("…",), "flag": True}
    profile = Profile(**{"name": "p", field.attribute: example[field.kind]})
    appended = profile.append_system_prompt
    arguments = profile_arguments(profile, system_prompt=None, append_system_prompt=appended)
    return f"`{' '.join(arguments)}`" if arguments else ""
