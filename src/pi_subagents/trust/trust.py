"""Whether a file has power: the question that settings, profiles and presets ask before they believe one."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.files import belongs_to_us
from pi_subagents.trust.decisions import Decisions, pi_decision

TRUST_COMMAND = "pi-subagents trust"


@dataclass(frozen=True)
class Trust:
    """What the user trusts, for a call that concerns one project.

    `decided` is what was decided for this call alone, by the session of the host or by the user: it wins over what is
    saved. None: nobody was asked.
    """

    agent_dir: Path
    project: Path
    decided: bool | None = None

    def objection(self, path: Path, folder: Path | None) -> str | None:
        """Why a file has no power, with what to do about it; None if it has.

        `folder` is the directory whose `.pi` the file is in; None for one of the user's own files.
        """
        return _objection_to_own(path) if folder is None else self._objection_to_project(path, folder)

    def trusts(self, folder: Path) -> bool:
        """Whether the user trusts a directory that may hold a `.pi`."""
        if self.decided is False or not _owned(folder):
            return False
        if self.decided is True and folder == self.project:
            return True
        return Decisions(self.agent_dir).trusts(folder) or pi_decision(folder, self.agent_dir) is True

    def _objection_to_project(self, path: Path, folder: Path) -> str | None:
        for part in (folder, *_below(folder, path)):
            if not _owned(part):
                return f"because {part} belongs to another user"
        if self.trusts(folder):
            return None
        if self.decided is False:
            return f"because {folder} is not trusted in this session"
        return f"because {folder} is not trusted; if you trust it, run: {trust_command(folder)}"


def trust_command(folder: Path) -> str:
    """The command that trusts a directory, to be pasted into a shell."""
    return f"{TRUST_COMMAND} {_quoted(folder)}"


def _objection_to_own(path: Path) -> str | None:
    for part in (path, path.parent):
        try:
            status = part.stat()
        except OSError:
            return None  # there is nothing to believe
        if not belongs_to_us(status):
            return f"because {part} belongs to another user"
        if _others_can_write(status):
            return f"because other users can write {part}; run: chmod go-w {_quoted(part)}"
    return None


def _others_can_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid)


def _is_private_group(gid: int) -> bool:
    # Where every user has a group of their own, files are often writable for it, which means for nobody else.
    import grp
    import pwd

    with suppress(KeyError):
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
        return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    return False


def _owned(path: Path) -> bool:
    try:
        return belongs_to_us(path.stat()) and belongs_to_us(path.lstat())
    except FileNotFoundError:
        return True  # it is yet to be written
    except OSError:
        return False


def _below(folder: Path, path: Path) -> list[Path]:
    """Everything on the way from a directory down to a file in it."""
    relative = path.relative_to(folder)
    return [folder / above for above in reversed(relative.parents) if above.parts] + [path]


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
