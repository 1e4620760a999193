"""`list_subagent_profiles`: which profiles there are."""

from __future__ import annotations

import msgspec

from pi_subagents.profiles import load_profiles, profile_summary
from pi_subagents.text import Line
from pi_subagents.tools.contract import Details, Tool, ToolContext, ToolResult
from pi_subagents.tools.outputs import PROFILES

_NONE_FOUND = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/."


class _NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


async def _list(_arguments: _NoArguments, context: ToolContext) -> ToolResult:
    catalog = load_profiles(context.place.cwd, context.place.agent_dir)
    summaries = {name: profile_summary(profile) for name, profile in catalog.profiles.items()}
    broken = [f"Cannot be used: {problem}" for problem in catalog.broken]
    warnings = [*([] if summaries else [_NONE_FOUND]), *broken]
    details: Details = {"count": len(summaries), **({"profiles": summaries} if summaries else {})}
    structured = {"profiles": {}, **details, **({"warnings": warnings} if warnings else {})}
    return ToolResult("\n".join([*summaries.values(), *warnings]), details, structured=structured)


def _display(result: ToolResult) -> list[Line]:
    from pi_subagents.progress import excerpt_segments  # a caller that is a program sees no excerpt

    return excerpt_segments(result.text, len(result.text))


LIST_PROFILES = Tool(
    name="list_subagent_profiles",
    label="Sub-agent profiles",
    description="List the profiles (model, tools, prompt) that delegate_to_subagents tasks can name.",
    arguments=_NoArguments,
    output_schema=PROFILES,
    run=_list,
    display=_display,
)
