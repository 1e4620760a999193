"""Task files: the tasks of `run --tasks`, as JSON, YAML or one JSON object per line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.encoding import JsonError, decode_json, is_encodable
from pi_subagents.errors import InvalidCall
from pi_subagents.files import read_bounded
from pi_subagents.models import Task, ThinkingLevel
from pi_subagents.tools import check_arguments
from pi_subagents.tools.delegate import TaskArguments

_MAX_BYTES = 16 * 1024 * 1024
"""Thousands of tasks with long prompts."""


class _FileTask(TaskArguments, frozen=True, forbid_unknown_fields=True):
    """A task of a tool call, and what only people and programs may choose for each."""

    preset: str | None = None
    model: str | None = None
    thinking_level: ThinkingLevel | None = msgspec.field(default=None, name="thinkingLevel")

    def to_task(self) -> Task:
        if self.profile and self.preset:
            raise InvalidCall(f'task "{self.name}" has both "profile" and "preset"; use only one')
        return msgspec.structs.replace(
            super().to_task(),
            preset=self.preset or None,
            model=self.model or None,
            thinking_level=self.thinking_level,
        )


def read_tasks(path: Path) -> list[Task]:
    """The tasks in a file, any number of them; raises InvalidCall with the file's name and what is wrong."""
    parse = _PARSERS.get(path.suffix.lower())
    if parse is None:
        raise InvalidCall(f"{path}: a task file must end in {', '.join(_PARSERS)}")
    try:
        value = parse(read_bounded(path, _MAX_BYTES).decode())
    except OSError as error:
        raise InvalidCall(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InvalidCall(f"{path}: {error}") from error
    if isinstance(value, dict) and "tasks" in value:
        value = value["tasks"]
    try:
        tasks = [task.to_task() for task in check_arguments(value, list[_FileTask])]
    except InvalidCall as error:
        raise InvalidCall(f"{path}: {error}") from None
    if not is_encodable(tasks):
        raise InvalidCall(f"{path}: a text contains half of a surrogate pair, which is not a character")
    return tasks


def _json_lines(text: str) -> list[Any]:
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values.append(decode_json(line, object))
            except JsonError as error:
                raise ValueError(f"line {number}: {error}") from error
    return values


def _yaml(text: str) -> Any:
    from ruamel.yaml import YAML

    try:
        return YAML(typ="safe", pure=True).load(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except Exception as error:  # besides its own errors it fails with assertions, missing keys and more
        raise ValueError(f"not valid YAML: {error}") from error


_PARSERS: dict[str, Callable[[str], Any]] = {
    ".json": lambda text: decode_json(text, object),
    ".jsonl": _json_lines,
    ".yaml": _yaml,
    ".yml": _yaml,
}
