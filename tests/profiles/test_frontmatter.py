"""Frontmatter that was made to keep its readers busy."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.profiles import frontmatter
from pi_subagents.profiles.frontmatter import FrontmatterError, parse_frontmatter
from pi_subagents.skills import discover_skills
from tests.profiles.kit import Place


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\n".join(f"k{number}: 1" for number in range(2002)), "the frontmatter has more than 2,000 entries"),
        ("tools: [" + "a," * 2001 + "]", "the frontmatter has more than 2,000 entries"),
        ("description: " + "b " * 40_000, "the frontmatter is longer than 65,536 characters; use the body below it"),
        (
            "x: [" + ", ".join(f"&a{number} b" for number in range(101)) + "]",
            "the frontmatter has more than 100 anchors",
        ),
        ("a: " + "[" * 51, "not valid YAML: nested too deeply"),
        ("a: " + "{b: [" * 26, "not valid YAML: nested too deeply"),
    ],
    ids=["keys", "items", "length", "anchors", "depth", "mixed depth"],
)
def test_what_no_person_wrote_is_refused_before_it_is_read(
    text: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ruamel.yaml.YAML", None)  # nobody may ask it
    with pytest.raises(FrontmatterError) as caught:
        parse_frontmatter(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "text",
    [
        'x: "\\U00110000"',
        'x: "\\UFFFFFFFF"',
        "%YAML 1.7\n---\nx: 1",
        "%YAML 1.5\n--- {a: b}",
        "&x \n%YAML 1.5\n: *x",
        "x:\n" + "- " * 30_000,
        'x: "\\uD800"',
        '"\\uD800": x',
        'x: [a, "\\uDFFF"]',
    ],
)
def test_what_the_parser_did_not_think_of_is_an_error_like_any_other(text: str) -> None:
    with pytest.raises(FrontmatterError, match=r"^not valid YAML: ."):
        parse_frontmatter(text)


def test_what_people_write_is_read() -> None:
    text = "\n".join(
        ["name: x", "tools: [a, b]", "description: |", *("  R&D {see [1]} & more, [ open" for _ in range(40))]
    )
    assert [entry.key for entry in parse_frontmatter(text)] == ["name", "tools", "description"]


@pytest.fixture
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long for a megabyte is the same for less."""
    assert frontmatter.MAX_TOGETHER == 1024 * 1024
    monkeypatch.setattr(frontmatter, "MAX_TOGETHER", 10 * 1024)


@pytest.mark.usefixtures("_little_patience")
def test_many_files_together_are_read_up_to_a_bound(place: Place) -> None:
    for number in range(20):
        place.write(f"---\nname: p{number:02}\ndescription: {'b' * 570}\n---\n", f"p{number:02}.md")
    catalog = place.load()
    assert sorted(catalog.profiles) == [f"p{number:02}" for number in range(17)]
    assert {problem.message for problem in catalog.broken} == {
        "is skipped: the files before it have too much frontmatter"
    }


@pytest.mark.usefixtures("_little_patience")
def test_many_skills_together_are_read_up_to_a_bound_and_those_of_the_user_nevertheless(tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    places = {tmp_path / "project" / ".pi" / "skills": 20, tmp_path / "agent" / "skills": 1}
    for place, count in places.items():
        for number in range(count):
            folder = place / f"s{number:02}-{place.parent.name.strip('.')}"
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(f"---\ndescription: {'b' * 580}\n---\n")
    found = discover_skills(tmp_path / "project", tmp_path / "agent", home=tmp_path)
    assert len([name for name in found if name.endswith("-pi")]) == 17
    assert "s00-agent" in found
