"""The two kinds of files that hold a profile: profile files, and preset files.

Both are the same Markdown and the same `Profile`; they differ in where they are, in what must be said, and in what
their body means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pi_subagents.profiles.fields import FIELDS, TIMEOUT, Field


@dataclass(frozen=True, slots=True)
class Format:
    """What a reader must know of one kind; `body` is the attribute that the text below the frontmatter belongs to."""

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
