"""Takes known secret values out of bytes and text before they are written or shown.

A secret lives only in the environment of the process that needs it. An agent can still print it (`env`,
a debug log, an error message of its provider), so everything that comes out of a process passes through here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

MARK = "[redacted]"

_MIN_LENGTH = 8
"""Shorter values would blank out ordinary words."""

_SECRET_SUFFIXES = ("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_SECRET_ACCESS_KEY", "_BEARER_TOKEN_BEDROCK")


def secrets_in(environ: Mapping[str, str]) -> set[str]:
    """The values of variables that hold provider credentials."""
    return {value for name, value in environ.items() if name.endswith(_SECRET_SUFFIXES)}


class Redactor:
    """Replaces every known secret by a mark; without secrets it costs nothing."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = sorted({s for s in secrets if len(s) >= _MIN_LENGTH}, key=len, reverse=True)
        self._values = values
        # Inside a JSON record a secret stands in its escaped form.
        forms = {form for value in values for form in (value, json.dumps(value)[1:-1])}
        self._forms = sorted((form.encode() for form in forms), key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._values)

    def record(self, record: bytes) -> bytes:
        """A raw output record without secrets."""
        for form in self._forms:
            if form in record:
                record = record.replace(form, MARK.encode())
        return record

    def text(self, text: str) -> str:
        """A text without secrets."""
        for value in self._values:
            if value in text:
                text = text.replace(value, MARK)
        return text

    def held_back(self, text: str) -> int:
        """How many characters at the end of a streamed text could be the beginning of a secret."""
        longest = 0
        for value in self._values:
            for length in range(min(len(value) - 1, len(text)), longest, -1):
                if text.endswith(value[:length]):
                    longest = length
                    break
        return longest
