"""A profile as the command line of `pi`, in the documented order.

The API key is not a matter of the command line and is never read here. Prompts come from the caller, who
writes them to files where `pi` accepts a path.
"""

from __future__ import annotations

import re

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile

_UNSAFE = re.compile(r"^[\s|&;$\\`!]|&&|\|\||;|>|>>|<|<<")
_TOOL_FLAGS = ("--tools", "-t", "--no-tools", "-nt", "--no-builtin-tools", "-nbt", "--exclude-tools", "-xt", "--no-mcp")
"""Of two lists of the same kind `pi` takes the last, so even one that takes tools away could give others back."""
_SHOWN_CHARACTERS = 20
"""Enough to recognise an argument in a message without repeating a whole script."""


def profile_arguments(profile: Profile, *, system_prompt: str | None, append_system_prompt: str | None) -> list[str]:
    """The arguments for a profile whose exclusions and skills are resolved; prompts are paths or texts."""
    return [
        *_option("--provider", profile.provider),
        *_option("--model", profile.model),
        *_option("--system-prompt", system_prompt),
        *_option("--append-system-prompt", append_system_prompt),
        *_option("--thinking", profile.thinking_level),
        *_tool_arguments(profile),
        *_flag("--no-extensions", profile.no_extensions),
        *_options("--extension", profile.extensions),
        *_flag("--no-skills", profile.no_skills),
        *_options("--skill", profile.suggested_skills),
        *_flag("--no-context-files", profile.no_context_files),
        *(profile.extra_args or ()),
    ]


def flag_of(argument: str) -> str:
    """The flag in an argument, also where its value is written into the same text."""
    return re.split(r"[=\s]", argument.strip(), maxsplit=1)[0]


def check_extra_args(profile: Profile) -> None:
    """Raise ProfileError for an argument that looks like shell text or would lift a tool restriction."""
    for argument in profile.extra_args or ():
        if "\0" in argument:
            raise ProfileError("Invalid extraArg: contains null byte")
        if _UNSAFE.search(argument):
            shown = argument[:_SHOWN_CHARACTERS]
            raise ProfileError(f"Refusing extraArg: potentially unsafe argument '{shown}...'")
        if profile.restricts_tools and flag_of(argument) in _TOOL_FLAGS:
            raise ProfileError(
                f'Refusing extraArg "{argument}" which would override profile tool restrictions. '
                "Use the dedicated profile fields instead."
            )


def _tool_arguments(profile: Profile) -> list[str]:
    if profile.no_tools or profile.tools == ():  # an allow-list that allows nothing
        return ["--no-tools"]
    return ["--tools", ",".join(profile.tools)] if profile.tools else []


def _option(flag: str, value: str | None) -> list[str]:
    return [flag, value] if value else []


def _options(flag: str, values: tuple[str, ...] | None) -> list[str]:
    return [argument for value in values or () for argument in (flag, value)]


def _flag(flag: str, is_set: bool) -> list[str]:
    return [flag] if is_set else []
