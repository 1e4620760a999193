"""For a `conftest.py` whose asynchronous tests shall run on a clock that does not wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pi_subagents.testing import VirtualClockLoop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], VirtualClockLoop]]:
    """The one kind of loop there."""
    return {"virtual clock": VirtualClockLoop}
