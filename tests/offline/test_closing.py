"""Starting and closing the offline model."""

from __future__ import annotations

import ast
import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import pi_subagents.offline
from pi_subagents.offline import Hang, OfflineModel, Say, Script, Turn
from pi_subagents.offline.script import Answer
from tests.offline.client import WAIT_S, ask, connect, payload, receive, send, user

LONG_S = 2 * WAIT_S


def test_closing_is_prompt_whatever_the_connections_are_doing() -> None:
    answers: dict[str, Answer] = {
        "hang": Hang(),
        "stall": Hang("some text"),
        "pause": Turn("x", delay_s=LONG_S),
        "idle": Say("hi"),
    }
    script = Script()
    for name, answer in answers.items():
        script = script.when(name, [answer])
    with ExitStack() as stack:
        model = stack.enter_context(OfflineModel(script))
        for name in answers:
            connection = stack.enter_context(connect(model))
            send(connection, payload([user(name)]))
            if name == "idle":
                assert receive(connection).text == "hi"
        model.wait_for_requests(len(answers), WAIT_S)
        started = time.monotonic()
        model.close()
        assert model.wait_until_idle(WAIT_S)
        assert time.monotonic() - started < LONG_S


def test_closing_frees_the_port_and_can_be_repeated() -> None:
    with OfflineModel(Script()) as model:
        model.close()
        address = urlsplit(model.url)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address.hostname or "", address.port or 0), timeout=WAIT_S)


def test_it_listens_on_loopback_only_and_two_do_not_meet() -> None:
    with OfflineModel(Script()) as one, OfflineModel(Script()) as other:
        assert urlsplit(one.url).hostname == "127.0.0.1"
        assert one.url != other.url


def test_it_can_be_started_without_a_block_and_only_once() -> None:
    model = OfflineModel(Script().otherwise([Say("hi")]))
    model.close()
    with pytest.raises(RuntimeError, match="not started"):
        _ = model.url
    try:
        assert ask(model.start(), user("x")).text == "hi"
        with pytest.raises(RuntimeError, match="started before"):
            model.start()
    finally:
        model.close()


def test_the_package_needs_nothing_but_the_standard_library() -> None:
    allowed = sys.stdlib_module_names | {"pi_subagents"}
    for path in Path(pi_subagents.offline.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                module = node.module or ""
                assert module.split(".")[0] in allowed, f"{path.name} imports {module}"
                assert not module.startswith("pi_subagents") or module.startswith("pi_subagents.offline")
            elif isinstance(node, ast.Import):
                assert all(name.name.split(".")[0] in allowed for name in node.names), path.name
