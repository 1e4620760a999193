"""Frontmatter that was made to keep its readers busy."""

from __future__ import annotations

import pytest

from pi_subagents.profiles.frontmatter import FrontmatterError, parse_frontmatter


@pytest.mark.parametrize(
    "text",
    ["\n".join(f"k{number}: 1" for number in range(10_002)), "tools: [" + "a," * 400_000 + "]", "a: " + "[" * 20_000],
    ids=["keys", "items", "depth"],
)
def test_what_no_person_wrote_is_refused_before_it_is_read(text: str) -> None:
    with pytest.raises(FrontmatterError, match="the frontmatter has more than 10,000 entries"):
        parse_frontmatter(text)


@pytest.mark.parametrize(
    "text", ["%YAML 1.5\n--- {a: b}", 'a: "\\U00110000"', 'a: "\\Uffffffff"', "&x \n%YAML 1.5\n: *x"]
)
def test_what_yaml_itself_stumbles_over_is_an_error_of_the_file(text: str) -> None:
    with pytest.raises(FrontmatterError, match=r"not valid YAML: ."):
        parse_frontmatter(text)
