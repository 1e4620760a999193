"""Whatever people may have written into a file: our entry comes and goes, all else stays as it is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pi_subagents.installing.formats import CannotEdit, Format
from pi_subagents.installing.jsonc import Jsonc
from pi_subagents.installing.toml import Toml
from tests.installing.kit import User

PATCH = {"mcpServers": {"pi-subagents": {"command": "x", "args": ["mcp"], "env": {"A": "b"}}}}
FEW = settings().max_examples // 5
"""Writing files takes its time, and what is written was looked at a hundred times already."""
PLACE = ("mcpServers", "pi-subagents")

names = st.sampled_from(["a", "b c", "mcpServers", "é", 'q"', "//no", "{", "}"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(["", "// no", "/* no */", "é", "a\\b", ",]"])
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
servers = st.dictionaries(names, values, max_size=3)
gaps = st.sampled_from(["", "", " ", "\n", "\n    ", "\n\t", " // c1\n", "/* c2 */", "\r\n", " // {\r\n  "])
Draw = Callable[[st.SearchStrategy[Any]], Any]


def written(draw: Draw, value: Any) -> str:
    """A value as somebody may have typed it, with blanks, comments and commas wherever they may be."""

    def gap() -> str:
        return str(draw(gaps))

    if not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        items = [json.dumps(key) + gap() + ":" + gap() + written(draw, one) for key, one in value.items()]
    else:
        items = [written(draw, one) for one in value]
    comma = gap() + "," if items and draw(st.booleans()) else ""
    return opening + gap() + (gap() + "," + gap()).join(items) + comma + gap() + closing


@st.composite
def json_texts(draw: Draw) -> str:
    document = draw(st.dictionaries(names, values, max_size=3))
    document.pop("mcpServers", None)
    if draw(st.booleans()):
        document["mcpServers"] = draw(servers)
    head = draw(st.sampled_from(["", "\ufeff", "// head\n", "\n"]))
    tail = draw(st.sampled_from(["", "\n", "// end", "\r\n"]))
    indent = draw(st.sampled_from([None, 0, 2, 4, "\t"]))
    return f"{head}{json.dumps(document, indent=indent) if draw(st.booleans()) else written(draw, document)}{tail}"


TOML_PIECES = [
    'title = "x"\n',
    "list = [ # c1\n  1,\n  [2, 3], # c2\n]\n",
    'text = """\n[mcp_servers.pi-subagents]\n# no "comment"\n"""\n',
    "raw = '''\n[no]'''\n",
    "[a]\nb = 1 # c3\n",
    "# c4\n\n[a.'b.c']\nd = { e = [1] }\n",
    "[[many]]\nx = 1979-05-27\n[[many]]\nx = 2\n",
    '[mcp_servers.other]\ncommand = "o"\n\n',
    "[mcp_servers]\n",
    "[mcp_servers.other.env]\nK = 'v'\n# c5\n",
    "\n[z]\n[ y . x ]\n",
]


@st.composite
def toml_texts(draw: Draw) -> str:
    chosen = draw(st.lists(st.sampled_from(range(len(TOML_PIECES))), unique=True))
    # Values without a table must come first.
    text = "".join(TOML_PIECES[number] for number in sorted(chosen, key=lambda number: number > 3))
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return str(text.rstrip("\r\n") if draw(st.booleans()) else text)


def comments(text: str) -> list[str]:
    return [mark for mark in ("// c1", "/* c2 */", "// {", "// head", "// end", "# c1", "# c3", "# c4") if mark in text]


def check_coming_and_going(file_format: Format, text: str, patch: dict[str, Any], place: tuple[str, str]) -> None:
    def values(of: str) -> dict[str, Any]:
        return {place[0]: {}, **file_format.parse(of)}

    merged = file_format.merge(text, patch)
    assert file_format.merge(merged, patch) == merged
    removed = file_format.remove(merged, place)
    assert [mark for mark in comments(text) if mark not in merged or mark not in removed] == []
    assert values(removed) == values(text)


def check_bytes(text: str, client: str, file: str) -> None:
    with TemporaryDirectory() as folder:
        user = User(Path(folder))
        path = user.home / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        before = user.files()
        user.install(client)
        assert user.files() != before
        user.uninstall(client)
        assert user.files() == before


@given(json_texts())
@example('{"mcpServers":{ // {\r\n  }}')
def test_an_entry_comes_into_any_json_and_goes(text: str) -> None:
    check_coming_and_going(Jsonc(), text, PATCH, PLACE)


@given(toml_texts())
def test_an_entry_comes_into_any_toml_and_goes(text: str) -> None:
    check_coming_and_going(Toml(), text, {"mcp_servers": PATCH["mcpServers"]}, ("mcp_servers", "pi-subagents"))


@settings(max_examples=FEW)
@given(st.one_of(json_texts(), st.just("")))
def test_uninstalling_gives_back_every_byte_of_json(text: str) -> None:
    check_bytes(text, "claude", ".claude.json")


@settings(max_examples=FEW)
@given(toml_texts())
def test_uninstalling_gives_back_every_byte_of_toml(text: str) -> None:
    check_bytes(text, "codex", ".codex/config.toml")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a":1}', '{"a":1,"s":{"n":[1,2]}}'),
        ('{"a": 1}\n', '{"a": 1, "s": {"n": [1, 2]}}\n'),
        ("{}", '{\n  "s": {\n    "n": [\n      1,\n      2\n    ]\n  }\n}'),
        ('{\n\t"s": {}\n}', '{\n\t"s": {\n\t\t"n": [\n\t\t\t1,\n\t\t\t2\n\t\t]\n\t}\n}'),
        ('{\r\n "a": 1\r\n}', '{\r\n "a": 1,\r\n "s": {\r\n  "n": [\r\n   1,\r\n   2\r\n  ]\r\n }\r\n}'),
        ('{\n  "s": {"n": 1, "m": 2}\n}', '{\n  "s": {"n": [1, 2], "m": 2}\n}'),
    ],
)
def test_what_is_added_is_laid_out_like_the_rest(text: str, wanted: str) -> None:
    assert Jsonc().merge(text, {"s": {"n": [1, 2]}}) == wanted


def test_a_name_that_is_there_twice_does_not_come_back_to_life() -> None:
    assert Jsonc().remove('{"s": {"n": 1, "m": 2, "n": 3}}', ("s", "n")) == '{"s": { "m": 2}}'


def test_a_comment_does_not_swallow_what_follows_our_entry() -> None:
    assert Jsonc().remove('{"s": { // mine\n "n": 1}}', ("s", "n")) == '{"s": { // mine\n }}'


def test_an_edit_that_would_change_anything_else_is_refused() -> None:
    class Careless(Jsonc):
        def put(self, text: str, patch: Any) -> str:
            return json.dumps(patch)

    with pytest.raises(CannotEdit):
        Careless().merge('{"mine": 1}', PATCH)


@pytest.mark.parametrize(
    "text", ["{" * 100_000, '{"a": ' * 100_000, "[" * 100_000, '{"a": NaN}', '{"a": 01}', "/* open"]
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        Jsonc().parse(text)


def test_strings_are_written_so_that_toml_reads_them_back() -> None:
    value = 'quote " backslash \\ tab \t é 😀 \x7f'
    assert tomllib.loads(Toml().merge("", {"t": {"a.b": value}})) == {"t": {"a.b": value}}


ENTRY = {"t": {"us": {"command": "x", "env": {"A": "b"}}}}
ADDED = '[t.us]\ncommand = "x"\n\n[t.us.env]\nA = "b"\n'


@pytest.mark.parametrize(
    "text",
    [
        "[t.a]\nx=1\n\n[b]\ny=1\n\n[t.c]\nz=1\n",
        "t.a.x = 1\nb=1\n[c]\n",
        "[[many]]\nx=1\n[[many]]\nx=2\n[many.sub]\ny=1\n",
        "\ufeffa=1\n",
        "a=1",
        "# no value at all",
        "[a]   \nb   =   0x1F   # c   \n\t\n",
        "a=1\r\n\r\n[b]\r\nc=1\r\n",
        "a=1\r\nb=2\n[c]\r\nd=1\n",
    ],
)
def test_a_new_toml_table_leaves_every_byte_before_it(text: str) -> None:
    newline = "\r\n" if "\r\n" in text else "\n"
    end = "" if text.endswith("\n") else newline
    assert Toml().merge(text, ENTRY) == text + end + newline + ADDED.replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "updated", "removed"),
    [
        pytest.param(
            '["t"."us"]\n"command" = "old" # c\nmine = [1,\n 2]\n\n# of a\n[a]\nb  =  1\n',
            '["t"."us"]\ncommand = "x"\nmine = [1,\n 2]\n\n[t.us.env]\nA = "b"\n\n# of a\n[a]\nb  =  1\n',
            "\n# of a\n[a]\nb  =  1\n",
            id="quoted names",
        ),
        pytest.param(
            '[t.us]\ncommand = "x"\n[t.us.env]\nZ="q"\n\n# of a\n[a]\n',
            '[t.us]\ncommand = "x"\n[t.us.env]\nZ="q"\nA = "b"\n\n# of a\n[a]\n',
            "\n# of a\n[a]\n",
            id="a comment of the next table",
        ),
        pytest.param(
            '[t.us.env]\nA="b"\n[x]\n[t.us]\ncommand="q"\n[y]\nk=1\n',
            '[t.us.env]\nA="b"\n[x]\n[t.us]\ncommand = "x"\n[y]\nk=1\n',
            "[x]\n[y]\nk=1\n",
            id="in two places",
        ),
    ],
)
def test_a_toml_table_changes_and_goes_without_what_stands_around_it(text: str, updated: str, removed: str) -> None:
    assert Toml().merge(text, ENTRY) == updated
    assert Toml().remove(text, ("t", "us")) == removed


@pytest.mark.parametrize(
    "text", ['t.us.command = "old"\n[a]\n', '[t]\nus = { command = "old" } # c\n', 't = { us = { command = "old" } }\n']
)
def test_an_entry_without_a_table_of_its_own_is_left_and_no_line_is_named_that_is_not_there(text: str) -> None:
    reason = "^its layout is not supported$"
    with pytest.raises(CannotEdit, match=reason):
        Toml().merge(text, ENTRY)
    with pytest.raises(CannotEdit, match=reason):
        Toml().remove(text, ("t", "us"))
