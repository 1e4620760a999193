"""Decoders that are made when they are first used."""

from __future__ import annotations

import msgspec
import pytest

from pi_subagents.encoding import decoder_of


class _Point(msgspec.Struct):
    x: int
    y: int = 0


def test_a_decoder_decodes_and_refuses_like_any_other() -> None:
    decoder = decoder_of(_Point)
    assert decoder.decode(b'{"x":1}') == _Point(1)
    assert decoder.decode(b'{"x":1,"y":2}') == _Point(1, 2)
    with pytest.raises(msgspec.ValidationError):
        decoder.decode(b'{"x":"one"}')


def test_a_kind_that_nothing_is_decoded_into_is_never_looked_at() -> None:
    unknown = decoder_of("no such kind")
    with pytest.raises(Exception, match="no such kind"):
        unknown.decode(b"{}")
