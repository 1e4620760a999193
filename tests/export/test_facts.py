"""A tool call's arguments in full."""

from __future__ import annotations

from typing import Any

from pi_subagents.export.facts import Block, argument_blocks


def test_short_arguments_share_a_block_and_long_texts_have_their_own() -> None:
    blocks = argument_blocks({"path": "a.py", "limit": 3, "text": "one\ntwo", "force": True})
    assert blocks == [Block("", 'path: "a.py"\nlimit: 3'), Block("text", "one\ntwo"), Block("", "force: true")]


def test_texts_inside_of_lists_are_readable_too() -> None:
    edits = [{"oldText": "a\nb", "newText": "c"}]
    assert argument_blocks({"edits": edits}) == [Block("edits[0].oldText", "a\nb"), Block("edits[0].newText", "c")]


def test_empty_lists_and_objects_are_shown() -> None:
    assert argument_blocks({"a": [], "b": {}, "c": None}) == [Block("", "a: []\nb: {}\nc: null")]


def test_a_call_without_arguments_has_no_blocks() -> None:
    assert argument_blocks({}) == []


def test_deep_nesting_does_no_harm() -> None:
    value: Any = "deep"
    for _ in range(500):
        value = [value]
    (block,) = argument_blocks({"a": value})
    assert block.text.startswith("a" + "[0]" * 7 + ": [[")
    assert "deep" in block.text


def test_escapes_in_names_and_values_are_gone() -> None:
    blocks = argument_blocks({"na\x1b[31mme": "a\x1b[2J", "command": "ls\x9b2J"})
    assert blocks == [Block("", 'name: "a\\u001b[2J"'), Block("command", "ls")]
