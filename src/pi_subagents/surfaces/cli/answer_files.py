"""`run -o DIR`: every answer in a file of its own, named after its task. What is there already stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.models import short_id
from pi_subagents.runs.run import RunResult
from pi_subagents.text.harmless import clean
from pi_subagents.trees import folder_to_fill

_BETWEEN_WORDS = re.compile(r"\W+")
_MAX_NAME_BYTES = 120
"""File systems take 255; a number and an ending have to fit, and people have to read it."""


class AnswerFiles:
    """Opened before the tasks begin, so that a directory that cannot be written is known before they cost anything."""

    def __init__(self, folder: Path, project: Path) -> None:
        self._path = folder
        self._project = project
        self._folder: Directory | None = None

    def open(self) -> None:
        """Make the directory where there is none; raises StoreError."""
        try:
            self._folder = folder_to_fill(self._path, self._project)
            self._folder.unlink(self._folder.draft("answer", b""))
        except OSError as error:
            raise StoreError(
                f"cannot write into {self._path}: {error.strerror}; choose another directory with -o"
            ) from error

    def write(self, result: RunResult) -> Path:
        """Where the answer is now; raises StoreError."""
        assert self._folder is not None
        try:
            return self._path / _create(self._folder, result.name, f"{result.output.strip()}\n".encode())
        except OSError as error:
            raise StoreError(
                f"cannot write into {self._path}: {error.strerror}; "
                f"'pi-subagents sessions output {short_id(result.session_id)}' prints the answer"
            ) from error


def _create(folder: Directory, task: str, content: bytes) -> str:
    for name in _names(task):
        try:
            folder.create(name, content, mode=0o666)
        except FileExistsError:
            continue
        except OSError:
            folder.unlink(name)
            raise
        return name
    raise AssertionError("names never end")


def _names(task: str) -> Iterator[str]:
    """`review.md`, `review-2.md`, …: letters, digits and `_` with `-` between them."""
    words = _BETWEEN_WORDS.sub("-", clean(task)).encode()[:_MAX_NAME_BYTES].decode("utf-8", "ignore").strip("-")
    stem = words or "task"
    yield f"{stem}.md"
    yield from (f"{stem}-{number}.md" for number in count(2))
