"""What has to be tidied up after a run whose holder was killed: files for the agent alone, and keys that it wrote down.

Whoever closes such a run does not know its secrets, and nothing on disk may tell them. So a file in the record has a
fingerprint of each: how it begins, how long it is, and a salted hash of it. With that it can be found in what the agent
wrote past our eyes, and by nobody be made from it. The file goes with the end of the run.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.files import MAX_CONFIGURATION_BYTES, PART_OF_REMOVED, Directory, draft_name, is_word
from pi_subagents.redaction import MARK
from pi_subagents.store.cleaning import MAX_BYTES, is_binary, leave_clean, remove_placeholders
from pi_subagents.store.record import OUR_FILES, TIDY_FILE

_ANCHOR_BYTES = 4
_UNTOLD_BYTES = 8
"""So much of a secret is not given away by its beginning, unless it is hardly longer than that."""
_PIECE_BYTES = 1024 * 1024
_MAX_SECRET_BYTES = 64 * 1024
_MAX_NAMES = 1000
"""No run of ours has so many files to tidy up, or keys to look for."""
_MAX_HASHED_BYTES = 256 * 1024 * 1024
_MAX_HASHED_SHARE = 16
"""A file that was made to waste our time gets no more, and so much for each of its bytes; from then on the beginning
of a secret counts as the whole."""


_log = logging.getLogger(__name__)


class Fingerprint(msgspec.Struct, frozen=True):
    """A secret that can be recognised and not be read."""

    anchor: bytes
    length: int
    hash: bytes


class Tidying(msgspec.Struct, frozen=True):
    """What to delete at the end, what to keep of the agent's own files, and which secrets to take out of that.

    `placeholders`, which were missing in the directory where the agent worked (`cwd`), are deleted too.
    """

    temporary: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    salt: bytes = b""
    secrets: tuple[Fingerprint, ...] = ()
    cwd: str = ""
    placeholders: tuple[str, ...] = ()


def tidying_note(
    temporary: Iterable[str],
    written: Iterable[str],
    secrets: Iterable[bytes],
    cwd: str = "",
    placeholders: tuple[str, ...] = (),
) -> bytes:
    """The content of the file for a run with these secrets, each in every form in which it can stand in a file."""
    salt = os.urandom(16)
    known = [
        Fingerprint(secret[: _anchor_length(secret)], len(secret), _hash(salt, secret))
        for secret in secrets
        if len(secret) <= _MAX_SECRET_BYTES
    ]
    return msgspec.json.encode(Tidying(tuple(temporary), tuple(written), salt, tuple(known), cwd, placeholders))


def tidy(run: Directory) -> None:
    """Do what the holder of a run did not come to; for whoever holds it now. Raises OSError."""
    for name in run.names():
        if name.startswith(".") and name.endswith((".new", PART_OF_REMOVED)):
            run.remove(name)
    if not run.has(TIDY_FILE):
        return
    note = _read_note(run)
    temporary = [name for name in note.temporary if is_word(name) and name not in OUR_FILES]
    leave_clean(run, temporary, dict.fromkeys(note.written), partial(_redact, note))
    remove_placeholders(Path(note.cwd), note.placeholders)
    run.unlink(TIDY_FILE)


def _read_note(run: Directory) -> Tidying:
    try:
        note = decode_json(run.read(TIDY_FILE, MAX_CONFIGURATION_BYTES), Tidying)
        if max(map(len, (note.temporary, note.written, note.secrets, note.placeholders))) > _MAX_NAMES:
            raise JsonError(f"it names more than {_MAX_NAMES} files or keys")
        return note
    except JsonError as error:
        _log.warning("cannot read %s, so keys that its agent wrote may remain in %s: %s", TIDY_FILE, run.path, error)
        return Tidying()


def _redact(note: Tidying, run: Directory, name: str) -> bool:
    if not note.secrets:
        return True
    if run.status(name).st_size > MAX_BYTES:
        return False
    draft = draft_name(name)
    run.create(draft)
    try:
        with os.fdopen(run.open(name, os.O_RDONLY), "rb") as source:
            pieces = iter(lambda: source.read(_PIECE_BYTES), b"")
            cleaner = Cleaner(note, os.fstat(source.fileno()).st_size)
            with os.fdopen(run.open(draft, os.O_WRONLY), "wb") as target:
                target.writelines(cleaner.clean(pieces))
            if cleaner.found_any and is_binary(os.pread(source.fileno(), _PIECE_BYTES, 0)):
                run.unlink(draft)
                return False
        run.rename(draft, name)
        return True
    except OSError:
        with suppress(OSError):
            run.unlink(draft)
        raise


class Cleaner:
    """Takes the secrets with known fingerprints out of a file, a piece at a time."""

    def __init__(self, note: Tidying, size: int = 0) -> None:
        self._salt = note.salt
        usable = [one for one in note.secrets if one.anchor and len(one.anchor) <= one.length <= _MAX_SECRET_BYTES]
        self._secrets = sorted(usable, key=lambda one: one.length, reverse=True)
        self._longest = self._secrets[0].length if self._secrets else 1
        self.found_any = False
        self._budget = _MAX_HASHED_BYTES + _MAX_HASHED_SHARE * size

    def clean(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The content without secrets; one that is spread over several pieces is found too."""
        rest = b""
        for piece in pieces:
            data = self._without_secrets(rest + piece)
            ready = max(0, len(data) - self._longest + 1)
            yield data[:ready]
            rest = data[ready:]
        yield rest

    def _without_secrets(self, data: bytes) -> bytes:
        for secret in self._secrets:
            parts, end = [], 0
            for start in self._found(data, secret):
                self.found_any = True
                parts.append(data[end:start])
                end = start + secret.length
            data = MARK.encode().join([*parts, data[end:]])
        return data

    def _found(self, data: bytes, secret: Fingerprint) -> Iterator[int]:
        start = data.find(secret.anchor)
        while 0 <= start <= len(data) - secret.length:
            if self._is(data[start : start + secret.length], secret):
                yield start
                start = data.find(secret.anchor, start + secret.length)
            else:
                start = data.find(secret.anchor, start + 1)

    def _is(self, candidate: bytes, secret: Fingerprint) -> bool:
        self._budget -= len(candidate)
        return self._budget < 0 or _hash(self._salt, candidate) == secret.hash


def _anchor_length(secret: bytes) -> int:
    return max(1, min(_ANCHOR_BYTES, len(secret) - _UNTOLD_BYTES))


def _hash(salt: bytes, secret: bytes) -> bytes:
    import hashlib  # only for who has a secret

    return hashlib.sha256(salt + secret).digest()
