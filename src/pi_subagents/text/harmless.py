"""Texts from elsewhere, made harmless for a person's terminal: shown, and never obeyed.

The invariant: nothing that `clean` returns can move the cursor, set a title, inject a link, or reorder or hide text.

The command puts a `HarmlessStream` in the place of standard output and standard error, so that nothing that prints, a
library's messages included, has to remember. What we paint ourselves, out of texts that are clean already, is written
to the stream behind it: `painted`.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

from pi_subagents.text.patterns import pattern

if TYPE_CHECKING:
    from typing_extensions import Buffer

_TAB = "    "

_ESCAPES = pattern(
    # Strings (OSC, DCS, SOS, PM, APC) up to BEL or ST; one that is never closed goes to the end of its line.
    # A string stops at the next opener, which keeps the search linear on hostile input.
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])"
    "(?:[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\\\|\x9c)|[^\x07\x1b\x90\x98\x9c-\x9f\r\n]*)"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|\x1b[ -/]*[0-~]?"
)
_BREAKS = pattern("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_HIDDEN_CLASS = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
_HIDDEN = pattern(f"[{_HIDDEN_CLASS}]")
"""Controls, bidirectional overrides and isolates, what has no width, and what some terminals show and others do not."""
_SURROGATES = pattern("[\ud800-\udfff]")
_JSON_SUSPECT = pattern(f"[{_HIDDEN_CLASS}\x85\u061c\u200e\u200f\u2028\u2029]")
"""Marks of direction, too: prose in Arabic or Hebrew needs them, while in JSON an escape loses nothing."""
_SUSPECT = pattern(f"[{_HIDDEN_CLASS}\t\x0b\x0c\r\x85\u2028\u2029\ud800-\udfff]")


def clean(text: str, *, keep_newlines: bool = False) -> str:
    """Take out what a terminal would obey instead of show; line breaks become spaces unless kept."""
    if text.isprintable() or (keep_newlines and _SUSPECT.search(text) is None):
        return text
    text = _ESCAPES.sub("", text)
    text = _BREAKS.sub("\n" if keep_newlines else " ", text)
    text = _HIDDEN.sub("", text.replace("\t", _TAB))
    return _SURROGATES.sub("\ufffd", text)


def printable(text: str) -> str:
    """A text of any number of lines without what a terminal would obey; line breaks and tabs stay as they are."""
    return "\t".join(clean(piece, keep_newlines=True) for piece in text.split("\t"))


def one_line(text: str) -> str:
    """The text without what a terminal would obey, on one line: line breaks and all other gaps are single blanks."""
    return " ".join(clean(text).split())


def escape_json(document: str) -> str:
    """The same JSON document with everything escaped that a terminal would obey, or that would reorder or hide text."""
    return _JSON_SUSPECT.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


class HarmlessStream(io.TextIOBase):
    """Takes out of every text what a terminal would obey.

    `stream` is None for one that was closed from the start. What cannot be written is an OSError that says where;
    a stream for remarks takes it silently, since there is nobody to tell, unless its reader has gone.
    """

    def __init__(self, stream: TextIO | None, name: str, *, for_remarks: bool = False) -> None:
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):  # what is no file may refuse to be asked where it stands
                stream.reconfigure(errors="replace")  # there are terminals without ✓
        self._stream = stream
        self._name = name
        self._for_remarks = for_remarks

    @property
    def painted(self) -> TextIO:
        """The stream itself."""
        if self._stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self._name)
        return self._stream

    def write(self, text: str) -> int:
        """Write a text."""
        harmless = printable(text)
        with self._explained():
            self.painted.write(harmless)
        return len(text)

    def flush(self) -> None:
        """A closed stream has nothing to flush."""
        if self._stream is not None:
            with self._explained():
                self._stream.flush()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._for_remarks or error.errno == errno.EPIPE:
                raise OSError(error.errno, error.strerror, self._name) from None

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        return self.painted.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a property of every text stream there is
        return getattr(self._stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]  # as above
        return "replace"

    @property
    def buffer(self) -> BinaryIO:
        """For those who write bytes: they are looked at, too."""
        return cast(BinaryIO, _Bytes(self))


class _Bytes(io.BufferedIOBase):
    def __init__(self, stream: HarmlessStream) -> None:
        self._stream = stream

    def write(self, data: Buffer) -> int:
        self._stream.write(bytes(data).decode("utf-8", "replace"))
        return len(bytes(data))

    def flush(self) -> None:
        self._stream.flush()


def painted(stream: TextIO) -> TextIO:
    """Where texts go that are clean and hold escapes of ours."""
    return stream.painted if isinstance(stream, HarmlessStream) else stream


def wants_colours(environ: Mapping[str, str]) -> bool:
    """Whether the user has not asked for none; https://no-color.org says how: any value but an empty one."""
    return not environ.get("NO_COLOR")
