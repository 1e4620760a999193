"""A terminal that goes away: nothing may wait for it, or the program would outlive the person at it."""

from __future__ import annotations

import os
import pty

import pytest
from textual.app import App
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from pi_subagents.surfaces.watch.app import LastingDriver
from tests.kit.waiting import PATIENCE_S


@pytest.mark.timeout(PATIENCE_S)  # without the driver it would hang
async def test_writes_to_a_closed_terminal_go_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", closefd=False) as file:
        monkeypatch.setattr("sys.__stderr__", file)
        driver = LastingDriver(App())
        os.close(master)
        writer = WriterThread(driver._file)
        writer.start()
        for _ in range(3 * MAX_QUEUED_WRITES):
            writer.write("frame\n" * 100)
        writer.stop()
        assert not writer.is_alive()
        assert driver._file.fileno() == slave
        os.dup2(os.open(os.devnull, os.O_WRONLY), slave)  # what is still buffered has to go somewhere
    os.close(slave)
