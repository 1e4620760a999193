"""From one Markdown file to one profile: every field, every kind of mistake with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile, Secret
from pi_subagents.profiles import ProfileFileError, read_profile


def read(tmp_path: Path, frontmatter: str, body: str = "") -> Profile:
    return read_text(tmp_path, f"---\nname: x\n{frontmatter}\n---\n{body}")


def read_text(tmp_path: Path, text: str | bytes) -> Profile:
    path = tmp_path / "x.md"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    profile, _warnings = read_profile(path)
    return profile


@pytest.mark.parametrize(("field", "attribute"), [("tools", "tools"), ("excludeTools", "exclude_tools")])
def test_tools_in_one_entry_of_a_list_are_several(tmp_path: Path, field: str, attribute: str) -> None:
    assert getattr(read(tmp_path, f"{field}:\n  - bash, write\n  - ',+edit'"), attribute) == ("bash", "write", "+edit")


@pytest.mark.parametrize(
    ("line", "attribute", "value"),
    [
        ("description: Finds bugs", "description", "Finds bugs"),
        ("provider: anthropic", "provider", "anthropic"),
        ("model: anthropic/claude-sonnet-4-5", "model", "anthropic/claude-sonnet-4-5"),
        ("model: sonnet:high", "model", "sonnet:high"),
        ("model: 4.10", "model", "4.10"),
        ("model: '  padded '", "model", "padded"),
        ("model: 2024-01-01", "model", "2024-01-01"),
        ("model: true", "model", "true"),
        ("model:", "model", None),
        ("model: ''", "model", None),
        ("model: null", "model", None),
        ("model: 'null'", "model", "null"),
        ("thinkingLevel: off", "thinking_level", "off"),
        ("thinkingLevel: minimal", "thinking_level", "minimal"),
        ("thinkingLevel: low", "thinking_level", "low"),
        ("thinkingLevel: medium", "thinking_level", "medium"),
        ("thinkingLevel: high", "thinking_level", "high"),
        ("thinkingLevel: xhigh", "thinking_level", "xhigh"),
        ("tools: read,bash,grep", "tools", ("read", "bash", "grep")),
        ("tools: ' read , , bash,'", "tools", ("read", "bash")),
        ("tools: [read, bash, ' grep ', '']", "tools", ("read", "bash", "grep")),
        ("tools:\n  - read\n  - bash", "tools", ("read", "bash")),
        ("tools: []", "tools", None),
        ("tools: 1", "tools", ("1",)),
        ("noTools: true", "no_tools", True),
        ("noTools: True", "no_tools", True),
        ("noTools: 'true'", "no_tools", True),
        ("noTools: false", "no_tools", False),
        ('noTools: "false"', "no_tools", False),
        ("excludeTools: write,edit", "exclude_tools", ("write", "edit")),
        ("noExtensions: true", "no_extensions", True),
        ("extensions: /a.js, /b.js", "extensions", ("/a.js", "/b.js")),
        ("noSkills: true", "no_skills", True),
        ("suggestedSkills: [a, b]", "suggested_skills", ("a", "b")),
        ("loadSkills: a", "load_skills", ("a",)),
        ("noContextFiles: true", "no_context_files", True),
        ("appendSystemPrompt: Be brief.", "append_system_prompt", "Be brief."),
        ("appendSystemPrompt: |\n  one\n  two\n", "append_system_prompt", "one\ntwo\n"),
        ("apiKey: 0012345", "api_key", Secret("0012345")),
        ("extraArgs: --verbose, --x", "extra_args", ("--verbose", "--x")),
        ("extraArgs: ['--x=a,b', ' y', '']", "extra_args", ("--x=a,b", " y", "")),
        ('extraArgs: ["a\\0b"]', "extra_args", ("a\0b",)),
    ],
)
def test_each_field_is_read_as_it_is_written(tmp_path: Path, line: str, attribute: str, value: object) -> None:
    assert getattr(read(tmp_path, line), attribute) == value


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ("", None),
        ("\n \n", None),
        ("\n\n You review.\n\n", "You review."),
        ("One\n---\nname: y\n---\nTwo\n", "One\n---\nname: y\n---\nTwo"),
    ],
)
def test_the_trimmed_body_is_the_system_prompt(tmp_path: Path, body: str, prompt: str | None) -> None:
    assert read(tmp_path, "model: m", body).system_prompt == prompt


@pytest.mark.parametrize(
    "text",
    [
        "---\r\nname: x\r\nmodel: m\r\n---\r\nBody\r\n",
        "\ufeff---\nname: x\nmodel: m\n---\nBody",
        "---  \nname: x\nmodel: m\n--- \nBody",
        "---\n# a comment\nname: x # mine\n\nmodel: m\n---\n\nBody\n",
        "---\n{name: x, model: m}\n---\nBody",
    ],
)
def test_editors_may_write_line_endings_marks_and_comments_as_they_like(tmp_path: Path, text: str) -> None:
    profile = read_text(tmp_path, text)
    assert (profile.name, profile.model, profile.system_prompt) == ("x", "m", "Body")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "has no frontmatter"),
        ("# Readme\n", 1, "has no frontmatter"),
        ("---\nname: x\n", 1, "not closed"),
        ("---\n---\n", 1, "has no name"),
        ("---\nmodel: m\n---\n", 1, "has no name"),
        ("---\nname:\n---\n", 1, "has no name"),
        ("---\nmodel: m\nname: a b\n---\n", 3, '"a b" may only contain letters'),
        ("---\nname: ../x\n---\n", 2, "may only contain"),
        ("---\nname: [x]\n---\n", 2, '"name" must be a single text'),
        ("---\nname: x\nmodel: {a: b}\n---\n", 3, '"model" must be a single text'),
        ("---\nname: x\ntools: {a: b}\n---\n", 3, '"tools" must be a comma-separated text or a list'),
        ("---\nname: x\ntools: [[a]]\n---\n", 3, '"tools" must be'),
        ("---\nname: x\nnoTools: yes\n---\n", 3, '"noTools" must be true or false'),
        ("---\nname: x\nnoTools: 1\n---\n", 3, '"noTools" must be true or false'),
        ("---\nname: x\nnoTools: 'True'\n---\n", 3, '"noTools" must be true or false'),
        ("---\nname: x\nnoTools: [true]\n---\n", 3, '"noTools" must be true or false'),
        ("---\n%YAML 1.1\n---\nname: x\n---\n", 2, "not valid YAML"),
        (
            "---\nname: x\n\nthinkingLevel: huge\n---\n",
            4,
            'must be one of off, minimal, low, medium, high, xhigh, not "huge"',
        ),
        ("---\nname: x\nmodel: a\nmodel: b\n---\n", 4, '"model" is already set on line 3'),
        ("---\nname: x\n\tmodel: a\n---\n", 3, "not valid YAML"),
        ("---\nname: x\nmodel: a: b\n---\n", 3, "not valid YAML: mapping values"),
        ("---\nname: x\nmodel: *gone\n---\n", 3, "not valid YAML"),
        ("---\nname: x\nmodel: \x07\n---\n", 3, "control character"),
        ("---\n- name\n---\n", 2, '"key: value" lines'),
        ("---\nname: x\n[a]: b\n---\n", 3, "a key must be a word"),
        ('---\nname: x\nmodel: "a\\0b"\n---\n', 3, '"model" contains a null byte'),
        (b"---\nname: x\nmodel: \xff\n---\n", 3, "not UTF-8"),
        ("---\nname: x\nmodel: " + "[" * 500 + "\n---\n", 2, "nested too deeply"),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_sentence(
    tmp_path: Path, text: str | bytes, line: int, words: str
) -> None:
    with pytest.raises(ProfileFileError) as caught:
        read_text(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/x.md:{line}: ")
    assert words in str(caught.value)


def test_no_message_repeats_an_api_key(tmp_path: Path) -> None:
    with pytest.raises(ProfileFileError) as caught:
        read(tmp_path, "apiKey: [sk-secret-value]")
    assert "sk-secret" not in str(caught.value)


def test_what_is_ignored_is_a_warning_with_its_line_and_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\nname: x\nnoTools:\nnoSkills: ''\nthinking_level: low\ncolour: red\ntools: ''\n---\n")
    profile, warnings = read_profile(path, "project")
    assert (profile.scope, profile.path, profile.no_tools, profile.no_skills) == ("project", path, False, False)
    assert warnings == [
        f'{path}:3: "noTools" has no value and is ignored; write "noTools: true"',
        f'{path}:4: "noSkills" has no value and is ignored; write "noSkills: true"',
        f'{path}:5: unknown field "thinking_level" is ignored; did you mean thinkingLevel?',
        f'{path}:6: unknown field "colour" is ignored',
        f'{path}:7: "tools" is empty and ignored; to allow no tools, write "noTools: true"',
    ]


def test_a_pipe_with_a_profiles_name_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.md")
    with pytest.raises(ProfileFileError, match="not a regular file"):
        read_profile(tmp_path / "x.md")


_YAML_BITS = st.lists(
    st.sampled_from(
        [*"-:[]{}#&*!|>'\"%@`,?\n \t\r", "name: x\n", "---\n", "...\n", "<<: ", "tools:", "\\", "\x85", "ü"]
    )
).map("".join)


@given(content=st.one_of(st.binary(), st.text().map(str.encode), _YAML_BITS.map(str.encode)))
def test_whatever_a_file_holds_the_only_error_is_a_profile_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.md"
    for data in (content, b"---\nname: x\n" + content + b"\n---\n", b"---\n" + content + b"\n---\n"):
        path.write_bytes(data)
        try:
            profile, _ = read_profile(path)
        except ProfileError:
            continue
        assert profile.name
