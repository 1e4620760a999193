"""Framing: the same records whatever the chunks, within a fixed amount of memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.jsonl import Frame, Framer, Oversized

LIMIT = 12


def frames(stream: bytes, sizes: list[int] | None = None, limit: int = LIMIT) -> list[Frame]:
    """What a framer makes of a stream that arrives in chunks of these sizes, the last of them repeating."""
    framer = Framer(limit)
    found: list[Frame] = []
    sizes = list(sizes or [len(stream) or 1])
    while stream:
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        found += framer.feed(stream[:size])
        stream = stream[size:]
    return [*found, *framer.finish()]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b"no ending", [b"no ending"]),
        (b"\n\n \t\n\r\nx\n", [b"x"]),
        (b"a\r\nb\r\r\n", [b"a", b"b\r"]),
        (b"a\rb\n", [b"a\rb"]),
        ("a\u2028\u2029\x85b\n".encode(), ["a\u2028\u2029\x85b".encode()]),
        (b"\0\xff\xfe\n", [b"\0\xff\xfe"]),
        (b"", []),
    ],
)
def test_only_a_line_feed_ends_a_record(stream: bytes, expected: list[bytes]) -> None:
    assert frames(stream) == expected


def test_a_record_beyond_the_limit_is_dropped_and_the_next_one_is_not() -> None:
    assert frames(b"x" * 12 + b"\n" + b"y" * 13 + b"\nz\n") == [b"x" * 12, Oversized(13, b"y" * 12), b"z"]
    assert frames(b"y" * 400, limit=300) == [Oversized(400, b"y" * 256)]


@given(st.binary(max_size=200) | st.text("ab\n\r é\u2028", max_size=200).map(str.encode), st.data())
def test_any_chunking_gives_the_same_frames(stream: bytes, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 40), min_size=1))
    assert frames(stream, sizes) == frames(stream)


@given(st.lists(st.binary(max_size=2 * LIMIT).map(lambda line: line.replace(b"\n", b"")), max_size=20))
def test_no_byte_of_a_record_is_lost(lines: list[bytes]) -> None:
    expected = [line.removesuffix(b"\r") if len(line) <= LIMIT else len(line) for line in lines]
    found = [frame.size if isinstance(frame, Oversized) else frame for frame in frames(b"\n".join(lines))]
    assert found == [frame for frame in expected if isinstance(frame, int) or frame.strip()]


def test_a_record_that_arrives_byte_by_byte_takes_no_more_memory_than_its_size() -> None:
    tracemalloc = pytest.importorskip("tracemalloc")
    framer = Framer()
    tracemalloc.start()
    try:
        for _ in range(50_000):
            list(framer.feed(b"x"))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000
    assert list(framer.finish()) == [b"x" * 50_000]
