"""The frontmatter fields of a profile, and the two kinds of files that have them: profile files and preset files.

A field is a key in the file, an attribute of `Profile` and a kind of value. The order is that of the reference; files
are written and details shown in it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from pi_subagents.models import Profile
from pi_subagents.text.patterns import pattern

Kind = Literal["text", "list", "flag", "secret", "seconds", "words", "count", "money"]

NAME_RULE = pattern(r"[a-zA-Z0-9_-]+")


class Field(msgspec.Struct, frozen=True):
    """One documented key."""

    key: str
    attribute: str
    kind: Kind

    def of(self, profile: Profile) -> Any:
        """What a profile says there."""
        return getattr(profile, self.attribute)


FIELDS: tuple[Field, ...] = (
    Field("name", "name", "text"),
    Field("description", "description", "text"),
    Field("provider", "provider", "text"),
    Field("model", "model", "text"),
    Field("thinkingLevel", "thinking_level", "text"),
    Field("tools", "tools", "list"),
    Field("noTools", "no_tools", "flag"),
    Field("excludeTools", "exclude_tools", "list"),
    Field("noExtensions", "no_extensions", "flag"),
    Field("extensions", "extensions", "list"),
    Field("noSkills", "no_skills", "flag"),
    Field("suggestedSkills", "suggested_skills", "list"),
    Field("loadSkills", "load_skills", "list"),
    Field("noContextFiles", "no_context_files", "flag"),
    Field("appendSystemPrompt", "append_system_prompt", "text"),
    Field("apiKey", "api_key", "secret"),
    Field("extraArgs", "extra_args", "list"),
    Field("resumeMode", "resume_mode", "text"),
    Field("harness", "harness", "text"),
    Field("agent", "agent", "text"),
    Field("program", "program", "words"),
    Field("mode", "mode", "text"),
    Field("approvals", "approvals", "text"),
    Field("inherit", "inherit", "flag"),
    Field("maxTurns", "max_turns", "count"),
    Field("maxCost", "max_cost", "money"),
)

TIMEOUT = Field("timeout", "timeout_s", "seconds")
"""Of presets alone: a task that names a profile has a timeout of its own, a call that names a preset has none."""


class Format(msgspec.Struct, frozen=True):
    """What a reader must know of one kind of file: both are the same Markdown and the same `Profile`.

    `body` is the attribute that the text below the frontmatter belongs to.
    """

    word: Literal["profile", "preset"]
    folder: str
    required: tuple[str, ...]
    body: Literal["system_prompt", "append_system_prompt"]
    fields: dict[str, Field]


PROFILE = Format("profile", "agent-profiles", ("name",), "system_prompt", {field.key: field for field in FIELDS})
PRESET = Format(
    "preset",
    "subagents",
    ("name", "description"),
    "append_system_prompt",
    {field.key: field for field in (*FIELDS, TIMEOUT)},
)
