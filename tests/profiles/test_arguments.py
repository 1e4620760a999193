"""What a profile becomes on the command line, and which extra arguments are refused with which words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pi_subagents.errors import ProfileError
from pi_subagents.harness.pi.arguments import (
    BUILTIN_TOOLS,
    apply_exclude_tools,
    check_extra_args,
    check_tools,
    profile_arguments,
)
from pi_subagents.models import Profile, Secret


def profile(**fields: Any) -> Profile:
    return Profile(name="x", **fields)


def arguments(given: Profile) -> list[str]:
    return profile_arguments(given, system_prompt=None, append_system_prompt=None)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"provider": "anthropic"}, ["--provider", "anthropic"]),
        ({"model": "m"}, ["--model", "m"]),
        ({"thinking_level": "off"}, ["--thinking", "off"]),
        ({"tools": ("read", "bash")}, ["--tools", "read,bash"]),
        ({"tools": ()}, ["--no-tools"]),
        ({"no_tools": True, "tools": ("read",)}, ["--no-tools"]),
        ({"no_extensions": True}, ["--no-extensions"]),
        ({"extensions": ("/a", "/b")}, ["--extension", "/a", "--extension", "/b"]),
        ({"no_skills": True}, ["--no-skills"]),
        ({"suggested_skills": ("/s/SKILL.md", "/t")}, ["--skill", "/s/SKILL.md", "--skill", "/t"]),
        ({"no_context_files": True}, ["--no-context-files"]),
        ({"extra_args": ("--verbose", "")}, ["--verbose", ""]),
        ({"api_key": Secret("sk-test-abc123")}, []),
    ],
)
def test_each_field_has_its_flag(fields: dict[str, Any], expected: list[str]) -> None:
    assert arguments(profile(**fields)) == expected


def test_the_order_is_the_documented_one_and_the_key_is_nowhere() -> None:
    full = profile(
        provider="p",
        model="m",
        thinking_level="high",
        tools=("read",),
        no_extensions=True,
        extensions=("/e",),
        no_skills=True,
        suggested_skills=("/s",),
        no_context_files=True,
        api_key=Secret("sk-secret"),
        extra_args=("--verbose",),
    )
    expected = (
        "--provider p --model m --system-prompt /sp --append-system-prompt /ap --thinking high --tools read "
        "--no-extensions --extension /e --no-skills --skill /s --no-context-files --verbose"
    )
    assert profile_arguments(full, system_prompt="/sp", append_system_prompt="/ap") == expected.split()


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("| ls", "| ls"),
        ("& rm", "& rm"),
        ("; echo", "; echo"),
        ("&& rm", "&& rm"),
        ("|| exit", "|| exit"),
        ("> file", "> file"),
        (">> file", ">> file"),
        ("< file", "< file"),
        ("`whoami`", "`whoami`"),
        ("$HOME", "$HOME"),
        ("\\x", "\\x"),
        ("!x", "!x"),
        (" x", " x"),
        ("--a=1;b", "--a=1;b"),
        ("--prompt=a && b && c && d", "--prompt=a && b && c"),
    ],
)
def test_an_argument_that_looks_like_shell_text_or_has_a_null_byte_is_refused(argument: str, shown: str) -> None:
    with pytest.raises(ProfileError) as caught:
        check_extra_args(profile(extra_args=("--fine", argument)))
    assert str(caught.value) == f"Refusing extraArg: potentially unsafe argument '{shown}...'"
    with pytest.raises(ProfileError, match=r"^Invalid extraArg: contains null byte$"):
        check_extra_args(profile(extra_args=("test\0arg", argument)))


@pytest.mark.parametrize("argument", ["--verbose", "arg$(whoami)", "a|b", "a&b", "a!b", "", "--x=`y`"])
def test_other_arguments_pass(argument: str) -> None:
    check_extra_args(profile(extra_args=(argument,)))


def test_tool_flags_pass_without_a_restriction_and_what_only_begins_like_one_always() -> None:
    check_extra_args(profile(extra_args=("--tools", "-t=read", "--toolset", "-nt")))
    check_extra_args(profile(extra_args=("--tools-file", "-tx"), no_tools=True))


@pytest.mark.parametrize("restriction", [{"no_tools": True}, {"tools": ("a",)}, {"exclude_tools": ("a",)}])
@pytest.mark.parametrize(
    "argument",
    [
        *("--tools", "-t", "--no-tools", "-nt", "--tools=read", "-t=read", "--no-tools=1", "-nt=1", "--tools bash"),
        *("--exclude-tools", "-xt", "--no-mcp", "--no-builtin-tools", "-nbt"),
    ],
)
def test_an_argument_that_would_lift_a_tool_restriction_is_refused(argument: str, restriction: dict[str, Any]) -> None:
    with pytest.raises(ProfileError) as caught:
        check_extra_args(profile(extra_args=(argument, "read"), **restriction))
    assert str(caught.value) == (
        f'Refusing extraArg "{argument}" which would override profile tool restrictions. '
        "Use the dedicated profile fields instead."
    )


def test_allowing_and_excluding_tools_contradict_each_other_unless_there_are_none() -> None:
    check_tools(profile(tools=("read",), exclude_tools=("bash",), no_tools=True))
    with pytest.raises(ProfileError) as caught:
        check_tools(profile(tools=("read",), exclude_tools=("bash",)))
    assert str(caught.value) == (
        'Profile "x" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
        "These are mutually exclusive — choose one or the other."
    )


@pytest.mark.parametrize("entry", ["+codemode", "-bash"])
def test_what_changes_a_default_is_no_name_of_a_tool(entry: str) -> None:
    with pytest.raises(ProfileError, match=re.escape(f'has "{entry}" in "tools"')):
        check_tools(profile(tools=("read", entry)))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"exclude_tools": ("write", "edit", "bash")}, ["--tools", "read,grep,find,ls"]),
        ({"exclude_tools": ("unknown",)}, ["--tools", "read,bash,edit,write,grep,find,ls"]),
        ({"exclude_tools": ("Write", "EDIT", "b*")}, ["--tools", "read,grep,find,ls"]),
        ({"exclude_tools": ("*",)}, ["--no-tools"]),
        ({"exclude_tools": BUILTIN_TOOLS}, ["--no-tools"]),
        ({"exclude_tools": ("bash",), "no_tools": True}, ["--no-tools"]),
    ],
)
def test_an_exclusion_becomes_the_allow_list_that_is_left(fields: dict[str, Any], expected: list[str]) -> None:
    applied = apply_exclude_tools(profile(**fields), BUILTIN_TOOLS)
    assert applied.exclude_tools is None
    assert arguments(applied) == expected


def test_an_exclusion_leaves_nothing_that_leads_to_tools_nobody_could_name() -> None:
    reported = (*BUILTIN_TOOLS, "lint_files", "codemode", "tool_search", "read_mcp_resource", "mcp__notes__write_note")
    applied = apply_exclude_tools(profile(exclude_tools=("bash", "edit", "write")), reported)
    assert applied.tools == ("read", "grep", "find", "ls", "lint_files")


def test_an_exclusion_leaves_no_tool_whose_name_would_bring_back_another() -> None:
    applied = apply_exclude_tools(profile(exclude_tools=("bash",)), ("bash", "read", "x,bash", "b*", "+bash", "-x", ""))
    assert applied.tools == ("read",)


@pytest.mark.parametrize("word", ["bash", "Bash", "ba*"])
def test_whoever_excludes_bash_has_no_other_shell_either(word: str) -> None:
    applied = apply_exclude_tools(profile(exclude_tools=(word,)), ("read", "bash", "powershell"))
    assert applied.tools == ("read",)
    applied = apply_exclude_tools(profile(exclude_tools=("read",)), ("read", "bash", "powershell"))
    assert applied.tools == ("bash", "powershell")
