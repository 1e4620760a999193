"""Asynchronous tests run on a clock that does not wait."""

from tests.kit.virtual_clock import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
