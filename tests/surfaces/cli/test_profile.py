"""`profile list` and `profile show`."""

from __future__ import annotations

import json

from pi_subagents.offline import Script
from tests.pi.stage import Play, Stage

KEY = "sk-test-abc123"


def stage_with_profiles(play: Play) -> Stage:
    stage = play(Script())
    stage.write_profile("good", "model: offline/scripted", f"apiKey: {KEY}", "tools: [read, ls]", body="Two\nlines.")
    stage.write(".pi/agent-profiles/broken.md", "---\nname: broken\ntools: {a: b}\n---\n")
    return stage


def test_the_list_has_a_line_for_each_profile_and_names_a_broken_file_with_its_line(play: Play) -> None:
    stage = stage_with_profiles(play)
    done = stage.command("profile", "list")
    line = "profile: good, model=offline/scripted, custom-system-prompt, tools=[read,ls]  [project]"
    assert done.stdout.splitlines() == [line]
    assert f"{stage.project}/.pi/agent-profiles/broken.md:3: " in done.stderr
    assert done.returncode == 0


def test_the_list_as_json_has_the_same(play: Play) -> None:
    document = json.loads(stage_with_profiles(play).command("profile", "list", "--json").stdout)
    assert [profile["name"] for profile in document["profiles"]] == ["good"]
    assert [problem["line"] for problem in document["broken"]] == [3]


def test_without_profiles_the_list_says_where_to_put_them(play: Play) -> None:
    done = play(Script()).command("profile", "list")
    assert done.stdout == (
        "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.\n"
    )
    assert done.returncode == 0


def test_showing_a_profile_masks_its_key(play: Play) -> None:
    stage = stage_with_profiles(play)
    for arguments in (("profile", "show", "good"), ("profile", "show", "good", "--json")):
        done = stage.command(*arguments)
        assert "sk-t****bc123" in done.stdout
        assert KEY not in done.stdout + done.stderr
        assert "offline/scripted" in done.stdout
        assert done.returncode == 0


def test_showing_what_is_broken_or_not_there_is_one_sentence_and_exit_code_one(play: Play) -> None:
    stage = stage_with_profiles(play)
    broken, missing = stage.command("profile", "show", "broken"), stage.command("profile", "show", "nobody")
    assert (broken.returncode, missing.returncode) == (1, 1)
    assert f'error: Profile "broken" cannot be used: {stage.project}/.pi/agent-profiles/broken.md:3: ' in broken.stderr
    assert missing.stderr == 'error: Unknown profile: "nobody". Available profiles: good\n'
    assert broken.stdout + missing.stdout == ""
