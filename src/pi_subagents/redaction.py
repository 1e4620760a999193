"""Takes known secret values out of bytes and text before they are written or shown.

A secret lives only in the environment of the process that needs it. An agent can still print it (`env`,
a debug log, an error message of its provider), so everything that comes out of a process passes through here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

MARK = "[redacted]"

_MIN_LENGTH = 8
"""Shorter values, and shorter pieces of a value, would blank out ordinary words."""

_SPELT = re.compile(rb"\\(?:u(?!00[01])|/)")
"""JSON can spell any character as a number, and a slash with a backslash; whoever decodes it sees the character.

Control characters are always spelt so, and much output has colours: they are no reason to decode it twice.
"""

_CONFIGURATION_SUFFIX = "_CONFIG_CONTENT"
_SECRET_KEY = re.compile("key|token|secret|password|authorization|^(?:access|refresh)$", re.IGNORECASE)
"""Names of settings and of parts of a login; a value with a brace names a variable or a file."""
_SECRET_SUFFIXES = ("_API_KEY", "_TOKEN", "_SECRET_ACCESS_KEY", "_BEARER_TOKEN_BEDROCK")


def secrets_in(environ: Mapping[str, str]) -> set[str]:
    """The values of variables that hold provider credentials, also those in variables that hold configuration."""
    found = {value for name, value in environ.items() if name.endswith(_SECRET_SUFFIXES)}
    for name, value in environ.items():
        if name.endswith(_CONFIGURATION_SUFFIX):
            found |= secrets_in_json(value)
    return found


def secrets_in_json(text: str) -> set[str]:
    """The secrets in a configuration or a login, at any depth; none if it is not JSON."""
    import json  # most runs have neither

    found: set[str] = set()

    def look(pairs: list[tuple[str, object]]) -> None:
        values = {name: value for name, value in pairs if isinstance(value, str)}
        found.update(value for name, value in values.items() if _SECRET_KEY.search(name) and "{" not in value)

    with suppress(ValueError, RecursionError):
        json.loads(text, object_pairs_hook=look)
    # JSON can spell half a character, which no file can contain.
    return {value for value in found if value.encode("utf-8", "ignore").decode() == value}


class Redactor:
    """Replaces every known secret by a mark; without secrets it costs nothing."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {secret for secret in secrets if len(secret) >= _MIN_LENGTH}
        forms = values | {form for value in values for form in _escaped(value)}
        self._forms = sorted(forms, key=len, reverse=True)
        # The environment can hold bytes that are no text; they stand for themselves.
        self._encoded = [form.encode("utf-8", "surrogateescape") for form in self._forms]

    @property
    def forms(self) -> list[bytes]:
        """Every form in which a secret can stand in a file, the longest first."""
        return self._encoded

    def __bool__(self) -> bool:
        return bool(self._forms)

    def record(self, record: bytes) -> bytes:
        """A raw output record without secrets; of JSON also those that it spells in its own way."""
        record = self._without(record)
        if self._encoded and _SPELT.search(record):
            plain = _plainly(record)
            if (cleaned := self._without(plain)) != plain:
                return cleaned
        return record

    def _without(self, record: bytes) -> bytes:
        for form in self._encoded:
            if form in record:
                record = record.replace(form, MARK.encode())
        return record

    def text(self, text: str) -> str:
        """A text without secrets."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MARK)
        return text

    def held_back(self, text: str) -> int:
        """How many characters at the end of a streamed text, redacted so far, could be the beginning of a secret."""
        longest = 0
        for form in self._forms:
            for length in range(min(len(form) - 1, len(text)), longest, -1):
                if text.endswith(form[:length]):
                    longest = length
                    break
        return longest

    def cut_text(self, text: str) -> str:
        """A text that breaks off somewhere, without secrets and without a good part of one at its end."""
        text = self.text(text)
        begun = self.held_back(text)
        return text[:-begun] + MARK if begun >= _MIN_LENGTH else text


def _escaped(value: str) -> Iterable[str]:
    """How it stands inside a JSON record, where that differs."""
    if value.isascii() and value.isprintable() and not {'"', "\\"} & {*value}:
        return ()
    import json  # hardly any key has such characters

    return (json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))


def _plainly(record: bytes) -> bytes:
    """A JSON record with every character as itself, anything else as it is."""
    import json  # only where a secret may hide

    try:
        return json.dumps(json.loads(record), ensure_ascii=False).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return record
