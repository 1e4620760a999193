"""When memory counts as short: on the machine, or in any control group around us."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.agents.memory import is_short, memory_is_short

MB, GB = 10**6, 10**9


@pytest.mark.parametrize(
    ("total", "available", "short"),
    [
        (2 * GB, 199 * MB, True),
        (2 * GB, 201 * MB, False),
        (64 * GB, 2 * GB, False),
        (64 * GB, 999 * MB, True),
        (2 * GB, -5 * MB, True),
    ],
    ids=["less than a tenth", "more than a tenth", "plenty, though no tenth", "little on a large machine", "over it"],
)
def test_memory_is_short_when_little_of_it_can_be_had(total: int, available: int, short: bool) -> None:
    assert is_short(total, available) is short


def machine(root: Path, available: int, group: str = "", **files: str) -> Path:
    """What the kernel of a machine with 8 GiB tells; `files` are those of the group `work`."""
    kernel = {
        "proc/meminfo": f"MemTotal:        8388608 kB\nMemFree:  1 kB\nMemAvailable:   {available // 1024} kB\n",
        "proc/self/cgroup": f"1:cpu:/\n0::/{group}\n",
        **{f"sys/fs/cgroup/work/{name.replace('_', '.')}": text for name, text in files.items()},
    }
    for name, text in kernel.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_machine_is_asked_what_it_could_give(tmp_path: Path) -> None:
    assert not memory_is_short(machine(tmp_path, available=4 * GB))
    assert memory_is_short(machine(tmp_path, available=300 * MB))


@pytest.mark.parametrize("group", ["work", "work/deeper/down"])
def test_a_group_with_a_limit_of_its_own_is_short_before_the_machine_is(tmp_path: Path, group: str) -> None:
    def lacks(used: int, unread: int) -> bool:
        stat = f"anon 1\ninactive_file {unread}\nactive_file 7\n"
        files = {"memory_max": f"{GB}\n", "memory_current": f"{used}\n", "memory_stat": stat}
        return memory_is_short(machine(tmp_path, 4 * GB, group, **files))

    assert not lacks(used=800 * MB, unread=0)
    assert lacks(used=950 * MB, unread=0)
    assert not lacks(used=950 * MB, unread=400 * MB), "files that nobody reads make room by themselves"


def test_a_group_without_a_limit_and_a_kernel_that_tells_nothing_mean_no_shortage(tmp_path: Path) -> None:
    assert not memory_is_short(machine(tmp_path, 4 * GB, "work", memory_max="max\n", memory_current="5\n"))
    assert not memory_is_short(tmp_path / "nowhere")
