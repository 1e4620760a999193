"""Splits a Markdown file into frontmatter and body, and reads the frontmatter without interpreting it.

Values stay the text their author wrote (`4.10`, `off`, `007`), because YAML's own types would lose it; every
entry knows its line in the file. Whatever the bytes are, the only exception is `FrontmatterError`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from pi_subagents.text.patterns import pattern

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, Node

FENCE = "---"
MAX_ENTRIES = 2000
"""Lines and items; what a person did not write would take YAML a minute to read."""
MAX_CHARACTERS = 64 * 1024
MAX_TOGETHER = 1024 * 1024
"""Characters of all files that are read in one go."""
MAX_ANCHORS = 100
MAX_DEPTH = 50
_ANCHOR = pattern(r"(?:^|(?<=[\s\[{,]))&\w", re.MULTILINE)
_TABS = pattern(r"^([\w-]+:)(\t+)", re.MULTILINE)
_BRACKET = pattern(r"[\[\]{}]")
_SURROGATE = pattern("[\ud800-\udfff]")
ScalarKind = Literal["text", "bool", "null", "number"]
_KINDS: dict[str, ScalarKind] = {"bool": "bool", "null": "null", "int": "number", "float": "number"}


class FrontmatterError(Exception):
    """Frontmatter that is no YAML mapping of words; `line` counts from 1 in the file."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line


class Scalar(msgspec.Struct, frozen=True):
    """A single value as written; only an unquoted one can be anything but text."""

    text: str
    kind: ScalarKind = "text"


class Entry(msgspec.Struct, frozen=True):
    """One key of the frontmatter; `value` is None for what is neither a scalar nor a list of scalars."""

    key: str
    line: int
    value: Scalar | tuple[Scalar, ...] | None


class Split(msgspec.Struct, frozen=True):
    """The two parts of a file; `frontmatter` is None when there is none, and begins at line 2 otherwise."""

    frontmatter: str | None
    body: str
    closed: bool = True


class Effort:
    """How much frontmatter is read in one go, in however many files it stands."""

    def __init__(self) -> None:
        self._left = MAX_TOGETHER

    def spend(self, frontmatter: str) -> None:
        """Raise FrontmatterError where there has been more than people write."""
        self._left -= len(frontmatter)
        if self._left < 0:
            raise FrontmatterError(1, "is skipped: the files before it have too much frontmatter")


def split_frontmatter(text: str) -> Split:
    """Cut a file at its fences: lines that are exactly `---`. Line endings become LF, a leading BOM goes."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return Split(None, text)
    for index, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            return Split("\n".join(lines[1:index]), "\n".join(lines[index + 1 :]))
    return Split(None, text, closed=False)


def parse_frontmatter(frontmatter: str) -> list[Entry]:
    """The entries in their order; raises FrontmatterError with the line in the file."""
    node = compose_frontmatter(frontmatter)
    if node is None:
        return []
    entries: dict[str, Entry] = {}
    for key_node, value_node in node.value:
        entry = _entry(key_node, value_node)
        if entry.key in entries:
            raise FrontmatterError(
                entry.line, f'"{entry.key}" is already set on line {entries[entry.key].line}; keep one of them'
            )
        entries[entry.key] = entry
    return list(entries.values())


def compose_frontmatter(frontmatter: str) -> MappingNode | None:
    """The YAML nodes of the frontmatter with their marks, None when it is empty."""
    _check_effort(frontmatter)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.nodes import MappingNode
    from ruamel.yaml.reader import ReaderError

    try:
        # YAML allows tabs after a key's colon, ruamel does not; blanks in their place keep all positions.
        untabbed = _TABS.sub(lambda found: found[1] + " " * len(found[2]), frontmatter)
        node = YAML(typ="safe", pure=True).compose(untabbed)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be parsed"
        raise FrontmatterError(_file_line(mark), f"not valid YAML: {problem}") from None
    except ReaderError as error:
        line = frontmatter.count("\n", 0, error.position) + 2
        raise FrontmatterError(line, "not valid YAML: a control character is not allowed") from None
    except RecursionError:
        raise FrontmatterError(2, "not valid YAML: nested too deeply") from None
    except Exception as error:  # noqa: BLE001 - besides its own errors it fails with assertions, missing keys and more
        raise FrontmatterError(2, f"not valid YAML: {error}") from None
    if node is not None and not isinstance(node, MappingNode):
        raise FrontmatterError(_file_line(node.start_mark), 'the frontmatter must be "key: value" lines')
    return node


def _check_effort(frontmatter: str) -> None:
    """Refuse what no person wrote and YAML would take long to read; it is the same for everybody who asks."""
    if len(frontmatter) > MAX_CHARACTERS:
        raise FrontmatterError(
            2, f"the frontmatter is longer than {MAX_CHARACTERS:,} characters; use the body below it"
        )
    if sum(map(frontmatter.count, "\n,[{")) > MAX_ENTRIES:
        raise FrontmatterError(2, f"the frontmatter has more than {MAX_ENTRIES:,} entries")
    if len(_ANCHOR.findall(frontmatter)) > MAX_ANCHORS:
        raise FrontmatterError(2, f"the frontmatter has more than {MAX_ANCHORS} anchors")
    depth = 0
    for bracket in _BRACKET.findall(frontmatter):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        if depth > MAX_DEPTH:
            raise FrontmatterError(2, "not valid YAML: nested too deeply")


def _entry(key_node: Node, value_node: Node) -> Entry:
    from ruamel.yaml.nodes import ScalarNode, SequenceNode

    line = _file_line(key_node.start_mark)
    if not isinstance(key_node, ScalarNode):
        raise FrontmatterError(line, "a key must be a word")
    key = _scalar(key_node).text
    if isinstance(value_node, SequenceNode):
        items = tuple(_scalar(item) for item in value_node.value if isinstance(item, ScalarNode))
        return Entry(key, line, items if len(items) == len(value_node.value) else None)
    return Entry(key, line, _scalar(value_node) if isinstance(value_node, ScalarNode) else None)


def _scalar(node: Node) -> Scalar:
    if _SURROGATE.search(node.value):
        raise FrontmatterError(_file_line(node.start_mark), "not valid YAML: half of a character (a lone surrogate)")
    return Scalar(node.value, _KINDS.get(str(node.tag).removeprefix("tag:yaml.org,2002:"), "text"))


def _file_line(mark: object) -> int:
    # The frontmatter begins on the second line of the file, and marks count from zero.
    line: int = getattr(mark, "line", 0)
    return line + 2
