"""The program's own log: on stderr when asked for, in a file when PI_SUBAGENTS_LOG names one, never on stdout."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pi_subagents.redaction import Redactor, secrets_in

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MAX_LOG_BYTES = 1_000_000
_VERBOSITY = {0: logging.WARNING, 1: logging.INFO}


def set_up_logging(verbose: int, level_name: str | None) -> None:
    """Send the log where the user wants it."""
    logging.raiseExceptions = False  # a log that cannot be written is no reason to print a traceback
    logger = logging.getLogger("pi_subagents")
    logger.propagate = False
    logger.handlers.clear()
    level = int(getattr(logging, level_name.upper())) if level_name else _VERBOSITY.get(verbose, logging.DEBUG)
    _add(logger, logging.StreamHandler(), level)
    if path := os.environ.get("PI_SUBAGENTS_LOG"):
        try:
            handler = logging.FileHandler(_private(Path(path)), encoding="utf-8")
        except OSError as error:
            logger.warning("cannot log to %s: %s", path, error.strerror)
        else:
            _add(logger, handler, min(level, logging.INFO))
    logger.setLevel(min((handler.level for handler in logger.handlers), default=level))


def log_to_file_too(path: Path) -> None:
    """Keep a log of a server that nobody watches, with what its libraries say; the oldest half goes when it is full."""
    from logging.handlers import RotatingFileHandler

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = RotatingFileHandler(_private(path), maxBytes=_MAX_LOG_BYTES, backupCount=1, encoding="utf-8")
    except OSError as error:
        logging.getLogger("pi_subagents").warning("cannot log to %s: %s", path, error.strerror)
        return
    for name in ("pi_subagents", "mcp", "uvicorn"):
        logger = logging.getLogger(name)
        _add(logger, handler, logging.INFO)
        logger.setLevel(min(logger.level or logging.INFO, logging.INFO))


def _private(path: Path) -> Path:
    path.touch(mode=0o600)
    return path


def _add(logger: logging.Logger, handler: logging.Handler, level: int) -> None:
    handler.setLevel(level)
    handler.setFormatter(_RedactingFormatter(_FORMAT))
    logger.addHandler(handler)


class _RedactingFormatter(logging.Formatter):
    """Credentials of the environment never reach a log, whatever an error message quotes."""

    def format(self, record: logging.LogRecord) -> str:
        return Redactor(secrets_in(os.environ)).text(super().format(record))
