"""Asynchronous tests run on a clock that does not wait, each in a world of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.agents.kit import World
from tests.kit.virtual_clock import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A world, made as a test says indirectly; when it is closed nothing is left of any process."""
    world = World(**getattr(request, "param", {}))
    yield world
    await world.agents.close()
    assert all(process.gone for process in world.processes)
