"""One-line previews of tool calls, as windows show them: one row of a table per tool.

A row that cannot read its arguments gives way to the generic form, which shows them as they came: a preview
never raises and never says what the call did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pi_subagents.progress.arguments import Arguments, compact_json, first_line, layout, parse_json, text_of
from pi_subagents.text import cell_width, clean, clip, clip_start, counted
from pi_subagents.text.patterns import pattern

ARROW = " → "
_NARROW = 8
"""With fewer cells than this left for the subject, the line is cut at its end like any other text."""
_MAX_NAMED = 3
_NON_EMPTY_LINE = pattern(r"\S[^\n]*")
_MAX_CHARACTERS = 1024 * 1024
"""`pi` cuts its lists long before; what is larger is not counted line by line."""
_FIRST_LINES, _LAST_LINES = 8, 12
"""The end of an output tells how it went, its beginning what it is about."""
_MAX_CELLS = 500
_NOTHING = {"ls": "(empty directory)", "find": "No files found matching pattern"}

Row = Callable[[str, Arguments, int], str | None]


def preview_tool_call(name: str, arguments: object, *, width: int, cwd: str | None = None) -> str:
    """What a tool is called for, in lines of at most `width` cells; only a long command has several."""
    if isinstance(arguments, Mapping):
        row = _ROWS.get(name) or (_lsp if name.startswith("lsp_") else None)
        preview = row(name, Arguments(arguments, cwd), width) if row else None
        if preview is not None:
            return preview
    return _generic(name, arguments, width)


def count_non_empty_lines(text: str) -> int:
    """How many lines hold more than white space."""
    return sum(1 for _ in _NON_EMPTY_LINE.finditer(text))


def _generic(name: str, arguments: object, width: int) -> str:
    label = text_of(name) or "tool"
    shown = "" if arguments is None or arguments == {} else compact_json(arguments, width)
    return clip(f"{label} {shown}".rstrip(), width)


def _line(name: str, subject: str, width: int) -> str:
    return clip(f"{clean(name)}{ARROW}{subject}", width)


def _path_line(name: str, path: str, tail: str, width: int) -> str:
    """A path between a name and figures that both matter more than the path's beginning."""
    room = width - cell_width(name + ARROW + tail)
    if room < _NARROW:
        return clip(f"{name}{ARROW}{path}{tail}", width)
    return f"{name}{ARROW}{clip_start(path, room)}{tail}"


def _file(figures: Callable[[Arguments], str]) -> Row:
    """A row for a tool that works on one file: its path, and what is done to it in figures."""

    def row(name: str, arguments: Arguments, width: int) -> str | None:
        path = arguments.path("path", "file_path")
        return None if path is None else _path_line(name, path, figures(arguments), width)

    return row


def _edited(arguments: Arguments) -> str:
    edits = list(_edits(arguments))
    added = sum(count_non_empty_lines(new) for _, new in edits)
    removed = sum(count_non_empty_lines(old) for old, _ in edits)
    return f" ({counted(len(edits), 'edit')}) +{added}/-{removed}" if edits else ""


def _edits(arguments: Arguments) -> Iterator[tuple[str, str]]:
    """Pairs of old and new text, from every shape that pi itself accepts."""
    given = arguments.values.get("edits")
    value = parse_json(given) if isinstance(given, str) else given
    candidates = list(value) if isinstance(value, (list, tuple)) else [value]
    for edit in [*candidates, arguments.values]:
        if isinstance(edit, Mapping):
            old, new = edit.get("oldText"), edit.get("newText")
            if isinstance(old, str) and isinstance(new, str):
                yield old, new


def _written(arguments: Arguments) -> str:
    content = arguments.values.get("content")
    return f" +{count_non_empty_lines(content)}" if isinstance(content, str) else ""


def _range(arguments: Arguments) -> str:
    offset, limit = arguments.number("offset"), arguments.number("limit")
    return ("" if offset is None else f":{offset}") + ("" if limit is None else f"+{limit} ({counted(limit, 'line')})")


def _grep(name: str, arguments: Arguments, width: int) -> str | None:
    pattern, where = arguments.text("pattern"), arguments.text("glob") or arguments.path("path")
    if pattern is None:
        return None
    return _line(name, f"/{pattern}/{ARROW}{where}" if where else f"/{pattern}/", width)


def _find(name: str, arguments: Arguments, width: int) -> str | None:
    pattern, path = arguments.text("pattern"), arguments.path("path")
    if pattern is None:
        return None
    return _line(name, f"{pattern} in {path}" if path else pattern, width)


def _ls(name: str, arguments: Arguments, width: int) -> str | None:
    path = "." if arguments.values.get("path") in (None, "") else arguments.path("path")
    return None if path is None else _path_line(name, path, "", width)


def _bash(name: str, arguments: Arguments, width: int) -> str | None:
    command = arguments.values.get("command")
    line = first_line(command, cwd=arguments.cwd) if isinstance(command, str) else ""
    return "\n".join(layout(line, head=name + ARROW, width=width)) if line else None


def _delegate(name: str, arguments: Arguments, width: int) -> str | None:
    tasks, default = arguments.items("tasks"), arguments.text("profile")
    if tasks is None:
        return None
    given = (text_of(task.get("profile")) if isinstance(task, Mapping) else None for task in tasks)
    profiles = dict.fromkeys(profile for each in given if (profile := each or default))
    listed = f" [{', '.join(profiles)}]" if profiles else ""
    return _line(name, counted(len(tasks), "task") + listed, width)


def _write_todos(name: str, arguments: Arguments, width: int) -> str | None:
    todos = arguments.items("todos")
    return None if todos is None else _line(name, f"{counted(len(todos), 'todo')} written", width)


def _edit_todos(name: str, arguments: Arguments, width: int) -> str | None:
    if description := arguments.text("description"):
        return _line(name, description, width)
    if texts := [text for todo in arguments.items("todos") or [] if (text := _todo_text(todo))]:
        return _several(name, texts, width) or _first_of(name, texts, width)
    action, indices = arguments.text("action"), arguments.items("indices")
    if action is None:
        return None
    return _line(name, f"{action} {compact_json(indices, width)}" if indices else action, width)


def _todo_text(todo: object) -> str | None:
    """What is to be done; some tools take texts, some objects that hold one."""
    if isinstance(todo, Mapping):
        return Arguments(todo).text("text", "content", "title", "description")
    return text_of(todo)


def _lsp(name: str, arguments: Arguments, width: int) -> str | None:
    file = arguments.path("file", "path", "filePath")
    if file is None:
        query = arguments.text("query")
        return None if query is None else _line(name, query, width)
    line, column = arguments.number("line"), arguments.number("column", "character", "col")
    tail = "" if line is None else f":{line}"
    tail += "" if line is None or column is None else f":{column}"
    new_name = arguments.text("newName")
    return _path_line(clean(name), file, tail + (f"{ARROW}{new_name}" if new_name else ""), width)


def _find_symbol(name: str, arguments: Arguments, width: int) -> str | None:
    query = arguments.text("query")
    return _lsp(name, arguments, width) if query is None else _line(name, query, width)


def _lint(_name: str, arguments: Arguments, width: int) -> str | None:
    if files := arguments.paths("files"):
        return _several("lint", files, width) or _path_line("lint", files[0], _more(files, 1), width)
    return _line("lint", "(all)", width) if arguments.values.get("files") in (None, "", []) else None


def _several(name: str, subjects: list[str], width: int) -> str | None:
    """As many subjects as fit, and how many more there are; None if not even two fit."""
    for shown in range(min(len(subjects), _MAX_NAMED), 1, -1):
        line = f"{name}{ARROW}{', '.join(subjects[:shown])}{_more(subjects, shown)}"
        if cell_width(line) <= width:
            return line
    return None


def _more(subjects: list[str], shown: int) -> str:
    return f" +{len(subjects) - shown} more" if len(subjects) > shown else ""


def _subject(single: str, several: str = "") -> Row:
    """A row that shows one text, or the first of several."""

    def row(name: str, arguments: Arguments, width: int) -> str | None:
        subjects = [text] if (text := arguments.text(single)) else arguments.texts(several)
        return _first_of(name, subjects, width) if subjects else None

    return row


def _first_of(name: str, subjects: list[str], width: int) -> str:
    """The first of some texts, and how many more there are."""
    head, more = name + ARROW, _more(subjects, 1)
    return clip(head + clip(subjects[0], width - cell_width(head + more)) + more, width)


_ROWS: dict[str, Row] = {
    "edit": _file(_edited),
    "write": _file(_written),
    "read": _file(_range),
    "grep": _grep,
    "find": _find,
    "ls": _ls,
    "bash": _bash,
    "powershell": _bash,
    "codemode": _subject("code"),
    "tool_search": _subject("query"),
    "read_mcp_resource": _subject("uri"),
    "delegate_to_subagents": _delegate,
    "write_todos": _write_todos,
    "edit_todos": _edit_todos,
    "list_todos": lambda name, arguments, width: clip(name, width),
    "lsp_find_symbol": _find_symbol,
    "lint_files": _lint,
    "fetch_content": _subject("url", "urls"),
    "web_search": _subject("query", "queries"),
    "fetch_repo": _subject("url"),
    "get_subagent_output": _subject("sessionId"),
    "get_subagent_session": _subject("sessionId"),
    "workflow_step": _subject("action"),
}


def summarise_tool_result(name: str, text: str, *, was_cut: bool = False) -> str | None:
    """`2 files, 1 dir`, `(empty)`, `3 matches`, with `+` if the list was cut; None for every other tool."""
    if name not in _NOTHING or len(text) > _MAX_CHARACTERS:
        return None
    listed, noticed = _split_notice(text)
    found = "" if listed.strip() == _NOTHING[name] else listed
    entries = [line for line in found.split("\n") if line.strip()]
    summary = _files_and_dirs(entries) if name == "ls" else counted(len(entries), "match", "matches")
    return summary + ("+" if noticed or was_cut else "")


def output_lines(text: str) -> list[str]:
    """What a tool returned, in some twenty lines at most; of a longer output the beginning and the end."""
    text = text.strip("\r\n").rstrip()
    if not text:
        return []
    lines = text.split("\n", _FIRST_LINES)
    if len(lines) > _FIRST_LINES:  # only as much is taken apart as is shown: an output may have millions of lines
        middle, *last = lines.pop().rsplit("\n", _LAST_LINES)
        hidden = middle.count("\n") + 1
        lines += [middle if hidden == 1 else f"... ({counted(hidden, 'more line')})", *last]
    # No character takes less than a cell often enough to matter: what lies beyond is not looked at.
    return [clip(clean(line[: 4 * _MAX_CELLS]).rstrip(), _MAX_CELLS) for line in lines]


def _split_notice(text: str) -> tuple[str, bool]:
    """The list without the paragraph in brackets with which pi says that it cut it."""
    listed, gap, last = text.rstrip().rpartition("\n\n")
    noticed = gap and last.startswith("[") and last.endswith("]") and "limit reached" in last
    return (listed, True) if noticed and "\n" not in last else (text, False)


def _files_and_dirs(entries: list[str]) -> str:
    dirs = sum(entry.rstrip().endswith("/") for entry in entries)
    files = len(entries) - dirs
    parts = [counted(files, "file")] if files else []
    return ", ".join(parts + ([counted(dirs, "dir")] if dirs else [])) or "(empty)"
