"""Paths as people read them: `~` for home, relative to the agent's directory where that is shorter.

Purely textual, as the agent may work on another machine: nothing is resolved or looked up.
"""

from __future__ import annotations

import posixpath


def shorten_path(path: str, *, cwd: str | None = None, home: str | None = None) -> str:
    """The shortest of the path's forms; the path as it was given wins a tie."""
    forms = (path, _under_home(path, home), _relative(path, cwd))
    return min((form for form in forms if form is not None), key=len)


def same_directory(path: str, cwd: str, home: str | None) -> bool:
    """Whether `path`, as written in a command, names `cwd`."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return posixpath.normpath(posixpath.join(cwd, path)) == posixpath.normpath(cwd)


def _under_home(path: str, home: str | None) -> str | None:
    home = home.rstrip("/") if home else None
    if not home or not (path == home or path.startswith(home + "/")):
        return None
    return "~" + path[len(home) :]


def _relative(path: str, cwd: str | None) -> str | None:
    # With `..` inside, the text alone does not say where a path leads: the part before it may be a link.
    if not cwd or not path.startswith("/") or not cwd.startswith("/") or ".." in path.split("/"):
        return None
    relative = posixpath.relpath(path, cwd)
    return relative + "/" if path.endswith("/") and relative != "." else relative
