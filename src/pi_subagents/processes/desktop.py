"""Shows a directory in the desktop's own program, where there is a desktop."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def open_on_desktop(path: Path, environ: Mapping[str, str]) -> bool:
    """Ask the desktop to show `path`; False if there is none, or none that this terminal is on."""
    opener = _opener(environ)
    if opener is None:
        return False
    null = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            [opener, str(path)], stdin=null, stdout=null, stderr=null, env=dict(environ), start_new_session=True
        )
    except OSError:
        return False
    # Some openers stay as long as what they opened; nobody waits for them but this.
    threading.Thread(target=process.wait, daemon=True).start()
    return True


def _opener(environ: Mapping[str, str]) -> str | None:
    if sys.platform == "darwin":
        return None if "SSH_CONNECTION" in environ else shutil.which("open")
    return shutil.which("xdg-open", path=environ.get("PATH")) if any(map(environ.get, _DISPLAYS)) else None
