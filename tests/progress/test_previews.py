"""Every row of the preview table, with whole, missing and malformed arguments."""

from __future__ import annotations

from typing import Any

import pytest

from pi_subagents.progress import preview_tool_call, summarise_tool_result
from pi_subagents.text import cell_width

CWD = "/home/ann/project"
HOME = "/home/ann"
SESSION = "a3f7b9c2d1e8f4a1"
EDIT = {"oldText": "one\n\n  \ntwo", "newText": "1\n2\n3\n"}


def preview(name: str, arguments: object, width: int = 100) -> str:
    return preview_tool_call(name, arguments, width=width, cwd=CWD)


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("edit", {"path": f"{CWD}/src/a.ts", "edits": [EDIT]}, "edit → src/a.ts (1 edit) +3/-2"),
        ("edit", {"path": "a.ts", "edits": [EDIT, EDIT]}, "edit → a.ts (2 edits) +6/-4"),
        ("edit", {"path": "a.ts", **EDIT}, "edit → a.ts (1 edit) +3/-2"),
        ("edit", {"path": "a.ts", "edits": [EDIT], **EDIT}, "edit → a.ts (2 edits) +6/-4"),
        ("edit", {"path": "a.ts", "edits": '[{"oldText":"a","newText":""}]'}, "edit → a.ts (1 edit) +0/-1"),
        ("edit", {"path": "a.ts", "edits": EDIT}, "edit → a.ts (1 edit) +3/-2"),
        ("edit", {"file_path": "a.ts"}, "edit → a.ts"),
        ("write", {"path": "a.md", "content": "one\n\ntwo\n"}, "write → a.md +2"),
        ("write", {"path": "a.md", "content": ""}, "write → a.md +0"),
        ("grep", {"pattern": "auth", "glob": "*.ts", "path": "src"}, "grep → /auth/ → *.ts"),
        ("grep", {"pattern": "auth", "path": f"{CWD}/src"}, "grep → /auth/ → src"),
        ("grep", {"pattern": "auth"}, "grep → /auth/"),
        ("ls", {"path": "src/"}, "ls → src/"),
        ("ls", {}, "ls → ."),
        ("ls", {"path": ""}, "ls → ."),
        ("ls", {"path": CWD}, "ls → ."),
        ("find", {"pattern": "*.ts", "path": "src/"}, "find → *.ts in src/"),
        ("find", {"pattern": "*.ts"}, "find → *.ts"),
        ("bash", {"command": "npm test"}, "bash → npm test"),
        ("powershell", {"command": "npm test"}, "powershell → npm test"),
        ("tool_search", {"query": "write notes"}, "tool_search → write notes"),
        ("read_mcp_resource", {"server": "notes", "uri": "note://1"}, "read_mcp_resource → note://1"),
        ("mcp__notes__write_note", {"text": "x"}, 'mcp__notes__write_note {"text":"x"}'),
        ("bash", {"command": f"cd {CWD} && npm test"}, "bash → npm test"),
        ("bash", {"command": "cat <<EOF\nhello\nEOF"}, "bash → cat <<EOF …"),
        ("read", {"path": "~/a.ts", "offset": 10, "limit": 50}, "read → ~/a.ts:10+50 (50 lines)"),
        ("read", {"path": f"{HOME}/a.ts", "offset": 10}, "read → ~/a.ts:10"),
        ("read", {"path": "a.ts", "limit": 1}, "read → a.ts+1 (1 line)"),
        ("read", {"path": "a.ts", "limit": 20.0}, "read → a.ts+20 (20 lines)"),
        ("read", {"path": "a.ts"}, "read → a.ts"),
        (
            "delegate_to_subagents",
            {"tasks": [{"profile": "writer"}, {}, {"profile": "writer"}], "profile": "researcher"},
            "delegate_to_subagents → 3 tasks [writer, researcher]",
        ),
        ("delegate_to_subagents", {"tasks": [{"name": "x"}]}, "delegate_to_subagents → 1 task"),
        ("write_todos", {"todos": ["a", "b"]}, "write_todos → 2 todos written"),
        ("write_todos", {"todos": []}, "write_todos → 0 todos written"),
        ("edit_todos", {"action": "complete", "indices": [0, 2]}, "edit_todos → complete [0,2]"),
        ("edit_todos", {"action": "clear"}, "edit_todos → clear"),
        ("edit_todos", {"action": "edit", "description": "Ship it", "indices": [1]}, "edit_todos → Ship it"),
        ("edit_todos", {"action": "add", "todos": ["Write tests", "Fix it"]}, "edit_todos → Write tests, Fix it"),
        ("edit_todos", {"action": "add", "todos": [{"text": "Write tests"}]}, "edit_todos → Write tests"),
        ("list_todos", {}, "list_todos"),
        ("lsp_diagnostics", {"file": f"{CWD}/a.ts"}, "lsp_diagnostics → a.ts"),
        ("lsp_hover", {"file": "a.ts", "line": 3, "column": 7}, "lsp_hover → a.ts:3:7"),
        ("lsp_find_references", {"path": "a.ts", "line": 3}, "lsp_find_references → a.ts:3"),
        ("lsp_find_symbol", {"file": "a.ts"}, "lsp_find_symbol → a.ts"),
        ("lsp_find_symbol", {"query": "Auth", "file": "a.ts"}, "lsp_find_symbol → Auth"),
        (
            "lsp_refactor_symbol",
            {"file": "a.ts", "line": 3, "column": 7, "newName": "login"},
            "lsp_refactor_symbol → a.ts:3:7 → login",
        ),
        ("lint_files", {"files": ["a.ts", f"{CWD}/b.ts"]}, "lint → a.ts, b.ts"),
        ("lint_files", {"files": ["a", "b", "c", "d", "e"]}, "lint → a, b, c +2 more"),
        ("lint_files", {"files": "a.ts"}, "lint → a.ts"),
        ("lint_files", {}, "lint → (all)"),
        ("lint_files", {"files": []}, "lint → (all)"),
        ("fetch_content", {"url": "https://example.org/a"}, "fetch_content → https://example.org/a"),
        ("fetch_content", {"urls": ["https://a.org", "b", "c"]}, "fetch_content → https://a.org +2 more"),
        ("web_search", {"query": "python cells"}, "web_search → python cells"),
        ("fetch_repo", {"url": "https://github.com/a/b"}, "fetch_repo → https://github.com/a/b"),
        ("get_subagent_output", {"sessionId": SESSION}, f"get_subagent_output → {SESSION}"),
        ("get_subagent_session", {"sessionId": SESSION}, f"get_subagent_session → {SESSION}"),
        ("get_subagent_session", {}, "get_subagent_session"),
        ("list_subagent_profiles", {}, "list_subagent_profiles"),
        ("workflow_step", {"action": "next"}, "workflow_step → next"),
        ("deploy", {"to": "prod", "n": [1, True, None]}, 'deploy {"to":"prod","n":[1,true,null]}'),
        ("deploy", {}, "deploy"),
        ("deploy", {"file": "a.ts"}, 'deploy {"file":"a.ts"}'),
        ("deploy", {"to": "köln"}, 'deploy {"to":"köln"}'),
    ],
)
def test_a_call_is_shown_as_documented(name: str, arguments: dict[str, Any], line: str) -> None:
    assert preview(name, arguments) == line


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("edit", {}, "edit"),
        ("edit", {"path": 7}, 'edit {"path":7}'),
        ("edit", {"path": "a.ts", "edits": 7}, "edit → a.ts"),
        ("edit", {"path": "a.ts", "edits": [None, {"oldText": 1, "newText": "x"}]}, "edit → a.ts"),
        ("edit", {"path": "a.ts", "edits": "[not json"}, "edit → a.ts"),
        ("edit", {"path": "a.ts", "edits": "[" * 100_000}, "edit → a.ts"),
        ("edit", {"path": "a.ts", "oldText": "x"}, "edit → a.ts"),
        ("write", {"content": "x"}, 'write {"content":"x"}'),
        ("write", {"path": "a.ts", "content": None}, "write → a.ts"),
        ("grep", {"path": "src"}, 'grep {"path":"src"}'),
        ("grep", {"pattern": "x", "glob": 5, "path": []}, "grep → /x/"),
        ("ls", {"path": 5}, 'ls {"path":5}'),
        ("find", {"path": "src"}, 'find {"path":"src"}'),
        ("bash", {}, "bash"),
        ("bash", {"command": ["ls"]}, 'bash {"command":["ls"]}'),
        ("bash", {"command": "  \n "}, 'bash {"command":"  \\n "}'),
        ("read", {"path": None}, 'read {"path":null}'),
        ("read", {"path": "a", "offset": "x", "limit": True}, "read → a"),
        ("read", {"path": "a", "offset": 0, "limit": 1.5}, "read → a:0"),
        ("read", {"path": "a", "offset": -1, "limit": float("nan")}, "read → a"),
        ("read", {"path": "a", "offset": 10**400, "limit": float("inf")}, "read → a"),
        ("delegate_to_subagents", {"tasks": "x"}, 'delegate_to_subagents {"tasks":"x"}'),
        ("delegate_to_subagents", {"tasks": [1, None]}, "delegate_to_subagents → 2 tasks"),
        ("delegate_to_subagents", {"tasks": [{"profile": 5}]}, "delegate_to_subagents → 1 task"),
        ("lsp_\x1b[2J", {"query": "x"}, "lsp_ → x"),
        ("write_todos", {"todos": 3}, 'write_todos {"todos":3}'),
        ("edit_todos", {"indices": [1]}, 'edit_todos {"indices":[1]}'),
        ("edit_todos", {"action": "complete", "indices": "all"}, "edit_todos → complete"),
        ("lsp_hover", {"file": "a.ts", "column": 7}, "lsp_hover → a.ts"),
        ("lsp_hover", {"line": 1}, 'lsp_hover {"line":1}'),
        ("lint_files", {"files": 5}, 'lint_files {"files":5}'),
        ("lint_files", {"files": [None, 5]}, 'lint_files {"files":[null,5]}'),
        ("fetch_content", {"url": {}}, 'fetch_content {"url":{}}'),
        ("get_subagent_output", {"sessionId": 5}, 'get_subagent_output {"sessionId":5}'),
        ("workflow_step", None, "workflow_step"),
        ("read", ["a.ts"], 'read ["a.ts"]'),
        ("read", "a.ts", 'read "a.ts"'),
        ("deploy", {"n": 10**5000}, "deploy"),
        ("", {}, "tool"),
        ("\x1b[31mred", {}, "red"),
    ],
)
def test_arguments_that_make_no_sense_are_shown_as_they_are(name: str, arguments: object, line: str) -> None:
    assert preview(name, arguments) == line


def test_a_long_path_gives_way_to_the_figures() -> None:
    line = preview("edit", {"path": "src/" + "deep/" * 20 + "file.ts", "edits": [EDIT]}, width=40)
    assert line == "edit → …deep/deep/file.ts (1 edit) +3/-2"


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("edit", {"path": "a-long-name.ts", "edits": [EDIT]}, "edit → a-long-name.…"),
        ("grep", {"pattern": "a-very-long-pattern"}, "grep → /a-very-long…"),
        ("find", {"pattern": "a-very-long-pattern"}, "find → a-very-long-…"),
        ("edit_todos", {"action": "add", "todos": ["Write tests"]}, "edit_todos → Write …"),
        ("list_todos", {}, "list_todos"),
        ("get_subagent_output", {"sessionId": "abc"}, "get_subagent_output…"),
    ],
)
def test_in_a_narrow_window_every_line_is_cut(name: str, arguments: dict[str, Any], line: str) -> None:
    assert preview(name, arguments, width=20) == line
    assert cell_width(preview(name, arguments, width=5)) == 5


def test_a_long_address_is_cut_at_its_end() -> None:
    line = preview("fetch_content", {"url": "https://example.org/" + "x" * 100}, width=40)
    assert line.startswith("fetch_content → https://example.org/")
    assert line.endswith("…")
    assert cell_width(line) == 40
    several = preview("fetch_content", {"urls": ["https://example.org/" + "x" * 100, "b"]}, width=40)
    assert several == "fetch_content → https://example…" + " +1 more"


def test_generic_arguments_are_cut_at_the_width() -> None:
    line = preview("deploy", {"script": "x" * 100}, width=30)
    assert line == 'deploy {"script":"' + "x" * 11 + "…"


def test_a_value_longer_than_any_line_is_not_written_out_however_wide_the_line() -> None:
    huge = "x" * 1_000_000
    assert preview("deploy", {"script": huge}, width=10**7) == 'deploy {"script":"' + "x" * 4096 + '…"}'
    assert preview("deploy", huge, width=10**7) == 'deploy "' + "x" * 4096 + '…"'
    assert preview("workflow_step", {"action": huge}, width=10**7) == "workflow_step → " + "x" * 4096 + "…"
    assert preview("bash", {"command": huge}, width=10**7) == "bash → " + "x" * 4096 + "…"


def test_fewer_files_are_named_where_there_is_no_room_for_three() -> None:
    files = ["source/one.ts", "source/two.ts", "source/three.ts"]
    assert preview("lint_files", {"files": files}, width=43) == "lint → source/one.ts, source/two.ts +1 more"
    assert preview("lint_files", {"files": files}, width=30) == "lint → source/one.ts +2 more"


def test_text_for_a_terminal_to_obey_is_taken_out_of_every_argument() -> None:
    assert preview("read", {"path": "a\x1b]0;x\x07\n.ts"}) == "read → a .ts"
    assert preview("grep", {"pattern": "a\u202eb"}) == "grep → /ab/"
    assert preview("bash", {"command": "echo \x1b[31mred"}) == "bash → echo red"
    assert "\u202e" not in preview("deploy", {"x\u202e": "\u202e\x9b"})


LS_NOTICE = "\n\n[500 entries limit reached. Use limit=1000 for more]"
FIND_NOTICE = "\n\n[2 results limit reached. Use limit=4 for more, or refine pattern. 50.0KB limit reached]"


@pytest.mark.parametrize(
    ("name", "text", "summary"),
    [
        ("ls", "a.ts\nb.ts\nsrc/", "2 files, 1 dir"),
        ("ls", "a.ts", "1 file"),
        ("ls", "lib/\nsrc/\n", "2 dirs"),
        ("ls", "(empty directory)", "(empty)"),
        ("ls", "", "(empty)"),
        ("ls", "\n".join([f"f{n}" for n in range(500)] + ["a/", "b/", "c/"]) + LS_NOTICE, "500 files, 3 dirs+"),
        ("ls", "a\n\n[50.0KB limit reached]", "1 file+"),
        ("ls", "[limit reached]", "1 file"),
        ("ls", "a\n[x]", "2 files"),
        ("ls", "a\n\nb", "2 files"),
        ("ls", "a\n\n[x\nlimit reached]", "3 files"),
        ("find", "a.ts\nb.ts\nsrc/", "3 matches"),
        ("find", "a.ts", "1 match"),
        ("find", "No files found matching pattern", "0 matches"),
        ("find", "", "0 matches"),
        ("find", "a.ts\nb.ts" + FIND_NOTICE, "2 matches+"),
        ("read", "a\nb", None),
        ("bash", "", None),
    ],
)
def test_a_list_is_counted(name: str, text: str, summary: str | None) -> None:
    assert summarise_tool_result(name, text) == summary


def test_a_list_may_be_known_to_be_cut() -> None:
    assert summarise_tool_result("ls", "a", was_cut=True) == "1 file+"
