"""The place of a story: what it sees of other hosts, of files and of processes."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_subagents.conformance import TESTED
from pi_subagents.conformance.sink import Sink
from pi_subagents.conformance.stage import Stage
from pi_subagents.paths import data_dir
from pi_subagents.processes.node import find_node
from tests.kit.waiting import until

_DATA_DIR = data_dir()
"""Taken now, as every test hides the user's variables from itself."""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Sink() as sink:
        yield Stage(tmp_path, TESTED["claude"], {"PATH": os.environ["PATH"]}, sink)


@pytest.mark.parametrize("address", ["http://example.com/x", "https://example.com/x"])
def test_whoever_wants_another_host_is_heard_and_gets_nothing(stage: Stage, address: str) -> None:
    proxies = {scheme: stage.sink.environ[f"{scheme}_proxy"] for scheme in ("http", "https")}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    with pytest.raises(OSError, match="502"):
        opener.open(address, timeout=30)
    (heard,) = stage.sink.hosts
    assert "example.com" in heard


@pytest.mark.parametrize("asking", ["fetch({})", "require('https').get({})"])
def test_a_program_on_node_is_heard_too(stage: Stage, asking: str) -> None:
    node = find_node(_DATA_DIR)
    assert node, "run ./scripts/setup"
    script = asking.format("'https://example.com/x'")
    environ = {**os.environ, **stage.sink.environ}
    subprocess.run([node.binary, "-e", script], env=environ, stderr=subprocess.DEVNULL, timeout=60)
    assert stage.sink.hosts == ["example.com:443"]


def test_files_and_directories_are_seen_but_for_our_own_records(stage: Stage) -> None:
    before = stage.entries(stage.project)
    stage.write("work.txt", "a word")
    stage.write(".pi/subagents/runs/x/events.jsonl", "a word")
    (stage.project / "link").symlink_to("nowhere")
    (stage.project / "empty").mkdir()
    come = {path.name for path in stage.entries(stage.project) - before}
    assert come == {"work.txt", "link", "empty"}
    found = {path.name for path in stage.files_with("a word")}
    assert found == {"work.txt", "events.jsonl"}, "a key may not be in records either"


def test_whatever_was_started_there_is_seen_and_can_be_killed(stage: Stage) -> None:
    environ = {**os.environ, "MARK": stage.mark}
    with subprocess.Popen(["sleep", "600"], env=environ) as process:
        try:
            until(lambda: "sleep 600 " in stage.processes().values())
            stage.kill()
            assert process.wait(30) == -9
        finally:
            process.kill()
    assert not stage.processes()
