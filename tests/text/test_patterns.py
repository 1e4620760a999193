"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from pi_subagents.text.patterns import pattern


def test_it_is_compiled_when_it_is_first_used_and_then_works_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_one = re.compile

    def compile_and_note(text: str, flags: int) -> re.Pattern[str]:
        compiled.append(text)
        return compile_one(text, flags)

    monkeypatch.setattr(re, "compile", compile_and_note)
    word = pattern(r"(?P<first>[a-z])\w*", re.IGNORECASE)
    assert compiled == []
    found = word.search("1 Agent")
    assert found is not None
    assert (found["first"], word.sub("x", "a b"), word.search("...")) == ("A", "x x", None)
    word.search("again")
    assert len(compiled) == 2  # once for each method
