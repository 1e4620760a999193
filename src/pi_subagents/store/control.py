"""How another process asks for a run to be stopped: a file in the run's directory that its holder looks for."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.errors import StoreError

_STOP_FILE = "stop"


def request_stop(run_dir: Path, message: str) -> None:
    """Ask the holder of a run to stop it; raises StoreError."""
    try:
        (run_dir / _STOP_FILE).write_text(message, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot ask the run in {run_dir} to stop: {error.strerror}") from error


def stop_request(run_dir: Path) -> str | None:
    """What was asked for, if anything."""
    try:
        return (run_dir / _STOP_FILE).read_text(encoding="utf-8")
    except OSError:
        return None
