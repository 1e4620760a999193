"""A program that is spoken to in lines of JSON, over its standard input and output."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.kit.waiting import PATIENCE_S

Message = dict[str, Any]


class JsonLines:
    """One such program; everything that it says and somebody has heard is in `said`, in order."""

    def __init__(self, argv: list[str], cwd: Path, environ: Mapping[str, str], log: Path | None = None) -> None:
        """What it prints on standard error goes into the log."""
        pipe = subprocess.PIPE
        with open(log or "/dev/null", "wb") as errors:  # noqa: PTH123
            self.process = subprocess.Popen(argv, cwd=cwd, env=environ, stdin=pipe, stdout=pipe, stderr=errors)
        self.said: list[Message] = []
        self.is_deaf = False
        self._unheard: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.process.kill()
        self.close()

    def close(self) -> int:
        """Take its input away, wait for its end and make sure of it; its exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait(PATIENCE_S)
            self._reading.join(PATIENCE_S)
            self.process.stdout.close()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def next(self, within_s: float = PATIENCE_S) -> Message | None:
        """The next message; None at the end of the conversation."""
        message = self._unheard.get(timeout=max(within_s, 0.001))
        if message is not None:
            self.said.append(message)
        return message

    def hear_next(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message from now on that is wanted."""
        deadline = time.monotonic() + PATIENCE_S
        while (message := self.next(deadline - time.monotonic())) is not None:
            if wanted(message):
                return message
        raise AssertionError(f"it has ended after {self.said[-8:]}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if self.is_deaf:
                self.process.stdout.close()
                return
            self._unheard.put(json.loads(line))
        self._unheard.put(None)
