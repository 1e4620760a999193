"""Ways to spoil a journal, as data: a list of them can be printed and played again."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

Mutation = tuple[Any, ...]
"""The name of a way, and what it needs: positions are taken modulo what there is."""

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_VALUE = re.compile(rb'(?<=":)(?:"[^"]*"|-?\d+(?:\.\d+)?|true|false|null)')

NUMBERS = (
    *(b"0", b"-1", b"1.5", b"1e18", b"1e308", b"-1e308", b"1e999", b"NaN", b"-Infinity"),
    *(str(number).encode() for number in (2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**18, -(2**63), 10**40)),
    *(b"9" * 400, b"9" * 5000, b"253402300799999", b"253402300800000"),
)
VALUES = (
    *(b"null", b"true", b"[]", b"{}", b'""', b'"x"', b"7", b"-7", b"1e400", b'"\\ud800"', b'"\\u001b[2J\\u202e"'),
    *(b"[" * 300 + b"]" * 300, b'{"a":' * 150 + b"1" + b"}" * 150, b"[" * 5000 + b"]" * 5000),
    *(
        b'"running"',
        b'"queued"',
        b'"completed"',
        b'"paused_forever"',
        b'"budget"',
        b'"<script>"',
        b'"' + b"w" * 999 + b'"',
    ),
)


def lines_to_insert(other_run: str) -> tuple[bytes, ...]:
    """Whole lines: of another run, of another version, out of order, garbage."""
    session = other_run.rpartition("-")[2]
    return (
        f'{{"type":"created","at":1,"runId":"{other_run}","sessionId":"{session}","name":"thief","prompt":"p",'
        f'"cwd":"/","harness":"pi-json","background":true,"owner":"me"}}'.encode(),
        b'{"type":"started","at":5,"pid":1,"containment":"guard"}',
        b'{"type":"ended","at":6,"status":"completed","reason":"settled"}',
        b'{"type":"ended","at":6,"status":"aborted","reason":"cancelled","message":"Cancelled"}',
        b'{"type":"ended","at":-6,"status":"running","reason":"budget"}',
        b'{"type":"ended","status":{"word":"over"},"reason":7}',
        b'{"type":"checkpoint","at":7,"files":["a"]}',
        b'{"type":"message","role":"assistant","parts":[{"type":"audio","data":"x"},{"type":"text","text":"y"}]}',
        b'{"type":"message","role":"assistant","usage":{"totalTokens":9223372036854775808,"cost":1e308}}',
        b'{"type":"held_back","provider":"p","until":99999999999999999999}',
        b'{"type":"retry_started","delayMs":1e300,"what":"dance"}',
        b'{"type":"delta","kind":"smell","text":"z"}',
        b'{"type":"unknown","kind":"damaged","record":{}}',
        b'{"type":["created"]}',
        b'{"type":"tool_started","id":"1","name":"bash","arguments":' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}",
        *(b"", b"null", b"[]", b"{}", b"\0" * 50, b"\xff\xfe{}", b"[" * 100_000, b'{"type":"message","parts":[null]}'),
    )


_POSITION = 2**16


def some_mutations(random: Random) -> list[Mutation]:
    """One to four of them, chosen by chance."""
    return [_one_mutation(random) for _ in range(random.randint(1, 4))]


def _one_mutation(random: Random) -> Mutation:
    name = random.choice(list(_WAYS))
    one, two = random.randrange(_POSITION), random.randrange(_POSITION)
    needs: dict[str, tuple[Any, ...]] = {
        "flip": (one, random.randint(1, 255)),
        "cut out": (one, random.randint(1, 40)),
        "put in": (one, random.randbytes(random.randint(1, 4))),
        "truncate": (one,),
        "remove line": (one,),
        "number": (one, two, random.choice(NUMBERS)),
        "value": (one, two, random.choice(VALUES)),
    }
    return (name, *needs.get(name, (one, two)))


def spoilt(journal: bytes, mutations: list[Mutation], inserted: tuple[bytes, ...]) -> bytes:
    """The journal after all of the mutations, in order."""
    for name, *details in mutations:
        journal = _WAYS[name](journal, inserted, *details)
    return journal


def _flip(journal: bytes, _inserted: tuple[bytes, ...], position: int, mask: int) -> bytes:
    at = position % (len(journal) or 1)
    return journal[:at] + bytes([byte ^ mask for byte in journal[at : at + 1]]) + journal[at + 1 :]


def _cut_out(journal: bytes, _inserted: tuple[bytes, ...], position: int, length: int) -> bytes:
    at = position % (len(journal) or 1)
    return journal[:at] + journal[at + length :]


def _put_in(journal: bytes, _inserted: tuple[bytes, ...], position: int, data: bytes) -> bytes:
    at = position % (len(journal) + 1)
    return journal[:at] + data + journal[at:]


def _truncate(journal: bytes, _inserted: tuple[bytes, ...], position: int) -> bytes:
    return journal[: position % (len(journal) + 1)]


def _remove_line(journal: bytes, _inserted: tuple[bytes, ...], position: int) -> bytes:
    lines = journal.splitlines(keepends=True) or [b""]
    del lines[position % len(lines)]
    return b"".join(lines)


def _double_line(journal: bytes, _inserted: tuple[bytes, ...], position: int, to: int) -> bytes:
    lines = journal.splitlines(keepends=True) or [b""]
    lines.insert(to % (len(lines) + 1), lines[position % len(lines)])
    return b"".join(lines)


def _swap_lines(journal: bytes, _inserted: tuple[bytes, ...], one: int, two: int) -> bytes:
    lines = journal.splitlines(keepends=True) or [b""]
    one, two = one % len(lines), two % len(lines)
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def _insert_line(journal: bytes, inserted: tuple[bytes, ...], which: int, position: int) -> bytes:
    lines = journal.splitlines(keepends=True)
    lines.insert(position % (len(lines) + 1), inserted[which % len(inserted)] + b"\n")
    return b"".join(lines)


def _replace(pattern: re.Pattern[bytes]) -> Callable[[bytes, tuple[bytes, ...], int, int, bytes], bytes]:
    def replace(journal: bytes, _inserted: tuple[bytes, ...], line: int, which: int, value: bytes) -> bytes:
        lines = journal.splitlines(keepends=True) or [b""]
        line %= len(lines)
        found = list(pattern.finditer(lines[line]))
        if found:
            start, end = found[which % len(found)].span()
            lines[line] = lines[line][:start] + value + lines[line][end:]
        return b"".join(lines)

    return replace


_WAYS: dict[str, Callable[..., bytes]] = {
    "flip": _flip,
    "cut out": _cut_out,
    "put in": _put_in,
    "truncate": _truncate,
    "remove line": _remove_line,
    "double line": _double_line,
    "swap lines": _swap_lines,
    "insert line": _insert_line,
    "number": _replace(_NUMBER),
    "value": _replace(_VALUE),
}
