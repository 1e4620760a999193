"""Agent programs and how to speak to them. To add one, see `docs/guides/add-a-harness.md`."""

from pi_subagents.harness.contract import (
    DEFAULT_HARNESS,
    HARNESSES,
    SYSTEM_PROMPT_FILE,
    Answer,
    Decoder,
    Harness,
    Inspection,
    InspectionCheck,
    Invocation,
    Launch,
    Program,
    Question,
    RunFile,
    UnknownTool,
    Version,
    harness_named,
)

__all__ = [
    "DEFAULT_HARNESS",
    "HARNESSES",
    "SYSTEM_PROMPT_FILE",
    "Answer",
    "Decoder",
    "Harness",
    "Inspection",
    "InspectionCheck",
    "Invocation",
    "Launch",
    "Program",
    "Question",
    "RunFile",
    "UnknownTool",
    "Version",
    "harness_named",
]
