"""docs/reference/tools.md: the tools as a model is offered them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pi_subagents.models import DEFAULT_TIMEOUT_S, MAX_CONCURRENCY, MAX_TASKS
from pi_subagents.tools import TOOLS, Tool
from pi_subagents.tools.delegate import DELEGATE
from pi_subagents.tools.subagent import SUBAGENT
from scripts.reference.markdown import code, join, table

_HEAD = """
# Tools

The operations that a model can call. `pi-subagents call TOOL JSON` calls one of them in the same way from a script, and
`pi-subagents tools` prints these definitions as JSON. A call answers with one object:

```json
{"content": [{"type": "text", "text": "…"}], "details": {}, "isError": false}
```

`content` is what the model reads, `details` what a program or a display can use. `isError` means that the call itself
was wrong or was cut short: arguments that do not fit, a profile that contradicts itself, no `pi`. A task that failed is
no such error: its line in `content` and its window in `details` say what happened to it. MCP clients get no `details`
but `structuredContent`, see [the guide](../guides/mcp.md#what-the-model-is-told).
"""

_DELEGATE = f"""
Up to {MAX_TASKS} tasks, {MAX_CONCURRENCY} at once; the rest wait. The call returns when all are over, with a line each:

```text
✓ docs: completed (session: 5b01fa98f5c64b23)
✗ tests: error — Timed out after 300s. Consider resuming with a longer timeout. (session: f4e1d8a7c0b39265)
```

- **Timeout.** A task has {DEFAULT_TIMEOUT_S} seconds unless it says otherwise. An agent that is still calling tools
  when they are over gets an extension, see `extend_timeout_debounce` in [settings](settings.md).
- **Loops.** The same tool call several times in a row ends the run, see `looping_tool_count`.
- **Files** stand before the prompt under a header `=== path ===`. Paths start at the task's `cwd`. In place of one
  that is missing, unreadable or larger than 1 MB stands a line that says so, without a header; the task runs all the
  same.
- **Agent.** `agent` names the program that does the task; by default it is that of the profile, else `pi`. If the agent
  is unknown, not installed, or does not support what the profile sets, only its own task fails.
- **One task or all.** An unknown profile or skill, or a bad `cwd`, fails its own task. Arguments that do not fit, a
  profile that contradicts itself and a session that cannot be resumed fail the call before anything has started.

`details` has `windows` (one for each task: `name`, `sessionId`, `status`, `lines`, `exitCode`, `errorMessage`, `usage`,
`runDir` …; for a task that resumes a session also `beginning`: `resumed` or `retold`; for an agent other than `pi` also
`agent`, `beginning`, `knowsCost`, `contextUsed`, `contextSize`, `changedFiles` and `denied`), `maxLinesPerWindow`,
`globalStatus` and `sessionIds`, and `warnings` where something in the settings is wrong: they are for people, and the
model is not told of them.
"""

_SUBAGENT = f"""
Either one run (`preset`, `task`) or up to {MAX_TASKS} at a time (`tasks`), {MAX_CONCURRENCY} at once. Presets are
described in the [guide](../guides/presets.md). The model is the call's, else the preset's, and there must be one; it is
checked against those that `pi` offers. An `agent` other than `pi` needs none, and has its own model names.

- **One run** answers with the agent's final text, or with `failed: …` or `aborted: …`.
- **Several** answer with a line for each by index and preset, then each output under its heading.
- A run has {DEFAULT_TIMEOUT_S} seconds unless its preset says otherwise; extension and loops are as above.
- `isError` means that no run could be started at all, or that the call was cut short.

`details` has `mode`, `progress` (what there is to say of each run at the moment), `warnings` (for people) and `runs`:
`runId`, `sessionId`, `preset`, `task`, `cwd`, `requestedModel`, `resolvedModel`, `status`, `paths` (of the files that
there are), `usage`, the same additions as above, `createdAt`, `startedAt`, `completedAt`,
and at the end `reason`, `error`, `exitCode` and `finalText`. The sessions can be read with `get_subagent_output` and
continued with `resume`.
"""

_MORE = {DELEGATE.name: _DELEGATE, SUBAGENT.name: _SUBAGENT}


def tools_page() -> str:
    """The page."""
    return join(_HEAD, *(_tool(tool) for tool in TOOLS.values()))


def _tool(tool: Tool) -> str:
    rows = list(_rows(tool.input_schema))
    return join(
        f"## {tool.name}",
        tool.description,
        table(("parameter", "type", "required", "meaning"), rows) if rows else "It has no parameters.",
        _MORE.get(tool.name, ""),
        "<details><summary>JSON Schema</summary>",
        code(json.dumps(tool.input_schema, indent=2, ensure_ascii=False), "json"),
        "</details>",
    )


def _rows(schema: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    required = schema.get("required", ())
    for name, value in schema.get("properties", {}).items():
        yield f"`{prefix}{name}`", _type(value), "yes" if name in required else "", _meaning(value)
        for inner in _objects_in(value):
            yield from _rows(inner, f"{prefix}{name}[].")


def _objects_in(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    items = schema.get("items", {})
    yield from (option for option in items.get("anyOf", [items]) if option.get("type") == "object")


def _type(schema: Mapping[str, Any]) -> str:
    if schema["type"] != "array":
        return str(schema["type"])
    items = schema["items"]
    kinds = " or ".join(option["type"] for option in items.get("anyOf", [items]))
    return f"array of {kinds}"


def _meaning(schema: Mapping[str, Any]) -> str:
    limits = {"minItems": "at least {}", "maxItems": "at most {}", "minimum": "at least {}", "default": "default {}"}
    facts = [form.format(schema[key]) for key, form in limits.items() if key in schema]
    return "; ".join(filter(None, [schema.get("description", ""), ", ".join(facts)]))
