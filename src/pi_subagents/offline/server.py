"""`OfflineModel`: a scripted model on a loopback port, for the demo and for tests with a real agent.

It takes every API key and records it, so that a test can see which one arrived. Everything an agent asked
stays readable in `requests`, also after the server is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from pi_subagents.offline.agent_dir import Endpoint, write_agent_dir
from pi_subagents.offline.listener import Listener
from pi_subagents.offline.player import Player
from pi_subagents.offline.request import Request
from pi_subagents.offline.script import Script


class OfflineModel:
    """A model server that plays a script; use it as a context manager, from any thread or event loop."""

    def __init__(self, script: Script, *, model_id: str = "scripted", api_key: str = "offline-key") -> None:
        self.model_id = model_id
        self.api_key = api_key
        self._player = Player(script)
        self._listener: Listener | None = None
        self._url = ""
        self._requests: list[Request] = []
        self._arrived = threading.Condition()

    @property
    def url(self) -> str:
        """The server's address without `/v1`; raises RuntimeError before the start."""
        if not self._url:
            raise RuntimeError("the offline model is not started: use `with OfflineModel(script) as model`")
        return self._url

    @property
    def requests(self) -> list[Request]:
        """A copy of all requests so far, in order of arrival."""
        with self._arrived:
            return list(self._requests)

    @property
    def errors(self) -> list[Exception]:
        """What functions in the script raised while they composed an answer."""
        return list(self._listener.errors) if self._listener else []

    def start(self) -> Self:
        """Listen on a free port of 127.0.0.1; raises RuntimeError if it was started before."""
        if self._listener is not None:
            raise RuntimeError("the offline model was started before: make a new one")
        self._listener = Listener(self._player, self.model_id, self._record)
        self._url = f"http://127.0.0.1:{self._listener.server_port}"
        self._listener.start()
        return self

    def close(self) -> None:
        """Stop at once, hanging answers included; calling it again does nothing."""
        if self._listener is not None:
            self._listener.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; raises the script's own errors as an ExceptionGroup unless another error is on its way."""
        self.close()
        if error is None and self.errors:
            raise ExceptionGroup("the script of the offline model failed", self.errors)

    def wait_for_requests(self, count: int, timeout_s: float = 10.0) -> list[Request]:
        """The requests once at least `count` have arrived; raises TimeoutError with the number seen."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._requests) >= count, timeout_s):
                raise TimeoutError(f"{len(self._requests)} of {count} requests came within {timeout_s:g} s")
            return list(self._requests)

    def wait_until_idle(self, timeout_s: float = 10.0) -> bool:
        """Whether every connection has ended within the time, its client having left."""
        return self._listener is None or self._listener.wait_until_idle(timeout_s)

    def write_agent_dir(
        self, path: Path, *, retry_base_delay_ms: int = 20, settings: Mapping[str, object] | None = None
    ) -> Path:
        """Write an agent directory that points `pi` here; see `agent_dir.write_agent_dir`."""
        endpoint = Endpoint(f"{self.url}/v1", self.model_id, self.api_key)
        return write_agent_dir(path, endpoint, retry_base_delay_ms=retry_base_delay_ms, settings=settings)

    def _record(self, request: Request) -> None:
        with self._arrived:
            self._requests.append(request)
            self._arrived.notify_all()
