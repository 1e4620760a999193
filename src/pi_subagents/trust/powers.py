"""The table of what a file can say: every setting and every field of a profile is data or a power.

Data describes or restricts, and counts whoever wrote it. A power runs a program, loads code, lifts a restriction, names
a key, deletes or moves something: it counts only in files that are trusted. The reference pages and the tests are made
from this table, so a setting or field that is missing here fails them.
"""

from __future__ import annotations

from collections.abc import Mapping

DATA = None

SETTINGS: Mapping[str, str | None] = {
    "maxLinesPerWindow": DATA,
    "commandPreviewWidth": DATA,
    "extend_timeout_debounce": DATA,
    "looping_tool_count": DATA,
    "piCommand": "runs a program",
    "containment": "lifts a restriction",
    "resumeMode": DATA,
    "maxResumeCharacters": DATA,
    "harness": "chooses how programs are run",
    "runner": "chooses how programs are run",
    "maxBackground": "lifts a limit",
    "maxDepth": "lifts a restriction",
    "warmAgents": "lets tasks share a process",
    "warmIdleSeconds": "lifts a limit",
    "warmMaxMemoryMb": "lifts a limit",
    "maxProcesses": "lifts a limit",
    "keepRunsDays": "deletes records",
    "keepSessions": "deletes records",
    "maxJournalMb": "lifts a limit",
}
"""Under `subagents` in a settings file: DATA, or what the power does."""

FIELDS: Mapping[str, str | None] = {
    "name": DATA,
    "description": DATA,
    "provider": DATA,
    "model": DATA,
    "thinkingLevel": DATA,
    "tools": DATA,
    "noTools": DATA,
    "excludeTools": DATA,
    "noExtensions": DATA,
    "extensions": "loads code",
    "noSkills": DATA,
    # A skill of the project is as good as its prompts; one from elsewhere is refused where skills are resolved.
    "suggestedSkills": DATA,
    "loadSkills": DATA,
    "noContextFiles": DATA,
    "appendSystemPrompt": DATA,
    "apiKey": "names a key",
    "extraArgs": "passes any option to pi",
    "resumeMode": DATA,
    "harness": "chooses how programs are run",
    "timeout": DATA,
}
"""In the frontmatter of a profile or preset: DATA, or what the power does."""
