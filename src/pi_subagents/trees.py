"""Trees of files that we write into: a project's, which a stranger may have made, and the user's own.

In a project every step below its root is taken without following a link, so that nothing in it can lead our writing or
deleting elsewhere. In the user's own tree links are the user's doing (people keep their configuration elsewhere): they
are followed, what they lead to is replaced and they stay, as long as that belongs to the user. Files are replaced whole
or not at all. Every refusal is an OSError; `explain` makes a sentence of it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from pi_subagents.files import MAX_CONFIGURATION_BYTES, Directory, belongs_to_us
from pi_subagents.paths import find_project, home_dir

_MAX_OWN_BYTES = 16 * 1024 * 1024
"""Some programs keep their history in their configuration; none of them gets there."""

_DEVICES = frozenset(map(Path, ("/dev", "/dev/fd", "/dev/pts")))
_IN_THE_WAY = {errno.EISDIR: "is a directory", errno.ENOTDIR: "is not a directory"}


class Tree(msgspec.Struct, frozen=True):
    """`project` is the root below which no link is followed; None: the user's own files."""

    project: Path | None = None

    @classmethod
    def of_project(cls, project: Path) -> Tree:
        """A project's tree; what is in the home directory is the user's own, whatever else it is."""
        return cls(None if project == home_dir() else project)

    @property
    def max_bytes(self) -> int:
        """How large a file may be that is read: what a stranger made must not cost the user much."""
        return _MAX_OWN_BYTES if self.project is None else MAX_CONFIGURATION_BYTES

    def read(self, path: Path) -> bytes | None:
        """The content of a regular file, None if there is none; raises OSError, also for one that is too large."""
        with suppress(FileNotFoundError), self._folder_of(path) as (folder, name):
            return folder.read(name, self.max_bytes)
        return None

    def status(self, path: Path) -> os.stat_result | None:
        """What a regular file is, None if there is none; raises OSError for a link or anything else."""
        with suppress(FileNotFoundError), self._folder_of(path) as (folder, name):
            return folder.require_regular(name)
        return None

    def names(self, path: Path) -> list[str]:
        """What is in a directory, nothing if there is none; raises OSError."""
        with suppress(FileNotFoundError), self.folder(path) as folder:
            return folder.names()
        return []

    def write(
        self,
        path: Path,
        content: bytes,
        *,
        mode: int = 0o666,
        folder_mode: int = 0o777,
        like: os.stat_result | None = None,
    ) -> None:
        """Put a file there at once, or in the place of the one that is there; raises OSError.

        With `like` it gets the mode and, where that is allowed, the owner of another file.
        """
        with self._folder_of(path, make=folder_mode) as (folder, name):
            folder.require_regular(name)
            with _drafting(folder, name, content, mode if like is None else 0o600) as draft:
                if like is not None:
                    _resemble(folder, draft, like)

    @contextmanager
    def writing(self, path: Path) -> Iterator[BinaryIO]:
        """A file that is filled piece by piece, and gets its name when all of it is there; raises OSError."""
        with self._folder_of(path) as (folder, name):
            like = folder.require_regular(name)
            mode = 0o666 if like is None else stat.S_IMODE(like.st_mode)
            with _drafting(folder, name, b"", mode) as draft, os.fdopen(folder.open(draft, os.O_WRONLY), "wb") as file:
                yield file

    def create(self, path: Path, content: bytes) -> bool:
        """Make a file unless there is one, which is left alone: then False; raises OSError."""
        with self._folder_of(path, make=0o777) as (folder, name):
            if folder.require_regular(name) is not None:
                return False
            try:
                folder.create(name, content, mode=0o666)
            except FileExistsError:
                return False
            except OSError:
                folder.unlink(name)
                raise
        return True

    def delete(self, path: Path) -> None:
        """Take a file away, and leave the user's link to it; raises OSError."""
        with suppress(FileNotFoundError), self._folder_of(path) as (folder, name):
            folder.require_regular(name)
            folder.unlink(name)

    def forget(self, path: Path) -> None:
        """Take a file away, or of the user's own link to one the link; raises OSError."""
        with self.folder(path.parent) as folder:
            if self.project is not None:
                folder.require_regular(path.name)
            folder.unlink(path.name)

    def remove_if_empty(self, path: Path) -> None:
        """Take a directory away that has nothing in it."""
        with suppress(OSError), self.folder(path.parent) as above:
            os.rmdir(path.name, dir_fd=above.fileno())

    def folder(self, path: Path, make: int | None = None) -> Directory:
        """A directory of the tree; what is missing is made with the mode that `make` says. Raises OSError."""
        if self.project is None:
            target = _own_target(path)
            if make is not None:
                target.mkdir(make, parents=True, exist_ok=True)
            return Directory.at(target)
        folder = Directory.at(self.project)
        for step in path.relative_to(self.project).parts:
            with folder as above:
                folder = above.below(step) if make is None else above.make(step, make)
        return folder

    @contextmanager
    def _folder_of(self, path: Path, make: int | None = None) -> Iterator[tuple[Directory, str]]:
        if self.project is None:
            path = _own_target(path)
        with self.folder(path.parent, make) as folder:
            yield folder, path.name


@contextmanager
def _drafting(folder: Directory, name: str, content: bytes, mode: int) -> Iterator[str]:
    """A draft that gets the name when all went well, and else is gone."""
    draft = folder.draft(name, content, mode=mode)
    try:
        yield draft
        folder.rename(draft, name)
    except BaseException:
        folder.unlink(draft)
        raise


def writing_to(path: Path, project: Path) -> AbstractContextManager[BinaryIO]:
    """A file that the user named, to be filled: a regular one, or a device such as `/dev/stdout`; raises OSError.

    Links to directories are followed, except for those in a project, the current one or another: a stranger may have
    put them there. So may anybody have put a link in the place of the file itself.
    """
    folder = _followed(path.absolute().parent, project)
    if folder in _DEVICES or folder.is_relative_to("/proc"):
        return (folder / path.name).open("wb")
    return Tree(_strangers_root(folder, project) or folder).writing(folder / path.name)


def folder_to_fill(path: Path, project: Path) -> Directory:
    """A directory that the user named, made if it is missing; links are followed as above; raises OSError."""
    folder = _followed(path.absolute(), project)
    return Tree(_strangers_root(folder, project)).folder(folder, make=0o777)


def _followed(folder: Path, project: Path) -> Path:
    at = Path(folder.anchor)
    for step in folder.relative_to(at).parts:
        if (at / step).is_symlink() and _strangers_root(at, project) is not None:
            raise OSError(errno.ELOOP, "is a link, and links are not followed here", str(at / step))
        at = Path(os.path.realpath(at / step))
    return at


def _strangers_root(folder: Path, project: Path) -> Path | None:
    """The project that a directory is in, unless that is the user's home."""
    project = Path(os.path.realpath(project))
    root = find_project(folder) or (project if folder.is_relative_to(project) else None)
    return None if root == Path(os.path.realpath(Path.home())) else root


def explain(error: OSError, path: Path) -> str:
    """What is in the way of reading or writing `path`, and what to do about it, without a full stop."""
    reason = _IN_THE_WAY.get(error.errno or 0, error.strerror or str(error))
    if isinstance(error.filename, str) and reason.startswith(("is ", "belongs ")):
        return f"{error.filename} {reason}; move it away and run this again"
    return f"{path} cannot be read or written: {reason}"


def _own_target(path: Path) -> Path:
    """Where the user's links lead; raises OSError if that is somebody else's."""
    target = Path(os.path.realpath(path))
    if target != path.absolute():
        there = next(one for one in (target, *target.parents) if os.path.lexists(one))
        if not belongs_to_us(there.stat()):
            raise PermissionError(errno.EPERM, f"is a link to {target}, which belongs to another user", str(path))
    return target


def _resemble(folder: Directory, name: str, model: os.stat_result) -> None:
    fd = folder.open(name, os.O_RDONLY)
    try:
        if (model.st_uid, model.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.fchown(fd, model.st_uid, model.st_gid)
        os.fchmod(fd, stat.S_IMODE(model.st_mode))
    finally:
        os.close(fd)
