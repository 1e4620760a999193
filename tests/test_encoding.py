"""Decoding: when decoders are made, and by whom."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest

from pi_subagents.encoding import decoder_of, read_json
from tests.kit.waiting import PATIENCE_S


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


_BEGIN_AT_THE_SAME_TIME = """
import sys, threading
import msgspec
from pi_subagents.encoding import converted, decode_json, decoder_of

WAYS = (
    lambda data, kind: converted(msgspec.json.decode(data), kind),
    lambda data, kind: decode_json(data, kind),
    lambda data, kind: decoder_of(kind).decode(data),
)

def decode(way, kind, together):
    together.wait()
    assert way(b'{"first":{"f1":1,"f39":2},"second":{"f1":1,"f39":2}}', kind).second.f39 == 2

sys.setswitchinterval(1e-6)
for _ in range(30):
    inner = msgspec.defstruct("Inner", [(f"f{number}", "int | str | None", None) for number in range(40)])
    kind = msgspec.defstruct("Outer", [("first", inner | None, None), ("second", inner | None, None)])
    together = threading.Barrier(len(WAYS))
    threads = [threading.Thread(target=decode, args=(way, kind, together)) for way in WAYS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_a_program_whose_threads_begin_to_decode_the_same_kind_at_the_same_time_does_not_crash() -> None:
    argv = [sys.executable, "-c", _BEGIN_AT_THE_SAME_TIME]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")


TEXTS = ['{"a": [1, null, "ü"]}', '"\\ud83d"', "12345678901234567890123", "[" * 5000, "{", "NaN", ""]


@pytest.mark.parametrize("text", TEXTS)
def test_what_people_have_written_is_read_as_json_reads_it_but_for_what_is_no_json(text: str) -> None:
    try:
        wanted = json.loads(text)
    except (ValueError, RecursionError):
        wanted = None
    if wanted is None or text == "NaN":
        with pytest.raises((ValueError, RecursionError)):
            read_json(text)
    else:
        assert read_json(text) == wanted
