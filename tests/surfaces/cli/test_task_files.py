"""Task files that no person wrote: each is refused with a sentence, and none is waited for."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pi_subagents.errors import InvalidCall
from pi_subagents.surfaces.cli.task_files import read_tasks

TASK = "- name: a\n  prompt: "


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.json", '[{"prompt":' + "[" * 100_000),
        ("deep.jsonl", '{"prompt":' + "[" * 100_000),
        ("deep.yaml", TASK + "[" * 3000),
        ("version.yaml", "%YAML 1.5\n---\n- a"),
        ("character.yaml", TASK + '"\\U00110000"'),
        ("larger-character.yaml", TASK + '"\\Uffffffff"'),
        ("half-a-pair.yaml", TASK + '"\\ud800"'),
        ("half-a-pair.json", '[{"name": "a", "prompt": "\\ud800"}]'),
        ("bool.yaml", TASK + "!!bool 9"),
        ("number.yaml", TASK + "!!int ''"),
        ("time.yaml", TASK + "2001-01-01 10:00:00 +99:99"),
        ("digits.yaml", TASK + "9" * 5000),
        ("bytes.json", "\udcff"),
        ("zeros.jsonl", "\0" * 1000),
    ],
)
def test_what_is_no_list_of_tasks_is_refused_with_a_sentence(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidCall, match=f"^{re.escape(str(path))}: .") as refused:
        read_tasks(path)
    str(refused.value).encode()


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zeros.yaml").symlink_to("/dev/zero")
    for name in ("pipe.json", "zeros.yaml"):
        with pytest.raises(InvalidCall, match="is not a regular file"):
            read_tasks(tmp_path / name)


def test_a_file_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InvalidCall, match="is larger than 16,777,216 bytes"):
        read_tasks(path)
