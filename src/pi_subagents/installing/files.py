"""Reads and replaces configuration files of other programs: whole or not at all, and never without a way back."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pi_subagents.paths import runtime_dir
from pi_subagents.store.lease import Lease


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold off other installations of this user."""
    lease = Lease.of_file(runtime_dir() / "installing", wait=True)
    assert lease is not None
    try:
        yield
    finally:
        lease.release()


def read(path: Path) -> bytes | None:
    """The content of a file, None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def backups(path: Path) -> list[Path]:
    """The backups of a file, oldest first."""
    return [backup for number in range(1, _free_number(path)) if (backup := _backup(path, number)).is_file()]


def next_backup(path: Path) -> Path:
    """A name for a backup that no file has."""
    return _backup(path, _free_number(path))


def write(path: Path, content: bytes, *, like: Path | None = None, is_private: bool = False) -> None:
    """Put `content` in the place of a file at once, with the mode and owner of `like`, or of the file itself."""
    target = Path(os.path.realpath(path))  # a link stays a link
    target.parent.mkdir(mode=0o700 if is_private else 0o777, parents=True, exist_ok=True)
    model = _status(like or target)
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    mode = 0o600 if is_private or model is not None else 0o666
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if model is not None:
            _resemble(temporary, model)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def delete(path: Path) -> None:
    """Take a file away; a link to it stays."""
    Path(os.path.realpath(path)).unlink()


def _resemble(path: Path, model: os.stat_result) -> None:
    if (model.st_uid, model.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(path, model.st_uid, model.st_gid)
    path.chmod(stat.S_IMODE(model.st_mode))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _free_number(path: Path) -> int:
    number = 1
    while os.path.lexists(_backup(path, number)):
        number += 1
    return number


def _backup(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.bak" if number == 1 else f"{path.name}.bak{number}")
