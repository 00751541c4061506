"""`cfeval edct sample-size`: its figures are those of the functions tested elsewhere; its docs show what it prints."""

import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import Run

DOCS = (Path(__file__).parents[2] / "docs" / "concepts" / "statistics.md").read_text(encoding="utf-8")


def rows(text: str) -> dict[str, list[str]]:
    """The table's cells, by the first."""
    lines = [re.split(r" {2,}", line.strip()) for line in text.splitlines() if "  " in line]
    return {line[0]: line[1:] for line in lines}


@pytest.fixture
def plan(cfeval: Run) -> object:
    def run(*arguments: object) -> str:
        status, out, err = cfeval("edct", "sample-size", *arguments)
        assert (status, err) == (0, "")
        return out

    return run


def test_the_docs_show_what_it_prints(cfeval: Run) -> None:
    [command], [shown] = (
        re.findall(r"```sh\ncfeval (.*?)\n```", DOCS),
        re.findall(r"```text\n(.*?)```", DOCS, re.DOTALL),
    )
    out = cfeval(*shlex.split(command))[1]
    assert [line.rstrip() for line in out.splitlines()] == shown.splitlines()


def test_every_command_of_the_docs_runs(cfeval: Run) -> None:
    commands = re.findall(r"`cfeval ([^`]+ --[^`]+)`", DOCS)
    assert len(commands) == 3
    assert all(cfeval(*shlex.split(command))[0] == 0 for command in commands)


def test_items_at_hand_tell_apart_what_they_were_planned_for(plan: Run) -> None:
    needed = rows(str(plan("--from", 0.55, "--to", 0.65, "--correlation", 0.4)))
    for name in ("others for each", "the same for both, correlation 0.4"):
        items = needed[name][-1].replace(",", "")
        shown = rows(str(plan("--from", 0.55, "--items", items, "--correlation", 0.4)))
        assert shown[name][-2:] == ["0.650 or more", "0.100"]


def test_alike_targets_on_the_same_items_need_fewer(plan: Run) -> None:
    found = rows(str(plan("--from", 0.6, "--to", 0.55, "--discordance", 0.1)))
    assert found["the same for both"][:1] == ["10.0 %"]
    assert int(found["the same for both"][1]) < 0.3 * int(found["others for each"][0].replace(",", ""))


def test_the_order_of_the_targets_does_not_matter(plan: Run) -> None:
    assert plan("--from", 0.6, "--to", 0.55) == plan("--from", 0.55, "--to", 0.6)


def test_three_items_an_image_that_are_all_alike_need_as_many_images_as_single_ones(plan: Run) -> None:
    single = rows(str(plan("--from", 0.5, "--to", 0.7)))
    out = str(plan("--from", 0.5, "--to", 0.7, "--items-per-image", 3, "--icc", 1))
    found = rows(out)
    assert found["others for each"][-1] == single["others for each"][-1]
    assert "3 of them are worth one" in out
    assert rows(str(plan("--from", 0.5, "--items", 300, "--items-per-image", 3, "--icc", 1))) == rows(
        str(plan("--from", 0.5, "--items", 100))
    )


def test_more_comparisons_need_more_items_and_items_at_hand_show_less(plan: Run) -> None:
    given = ("--from", 0.55, "--to", 0.65, "--correlation", 0.4)
    one, six = (rows(str(plan(*given, "--comparisons", count))) for count in (1, 6))
    name = "the same for both, correlation 0.4"
    items = six[name][-1].replace(",", "")
    assert int(items) > 1.4 * int(one[name][-1].replace(",", ""))
    shown = rows(str(plan("--from", 0.55, "--items", items, "--correlation", 0.4, "--comparisons", 6)))
    assert shown[name][-2:] == ["0.650 or more", "0.100"]
    assert "6 comparisons (Holm: each found where p ≤ 0.0083)" in str(plan(*given, "--comparisons", 6))


def test_too_few_items_show_nothing(plan: Run) -> None:
    assert rows(str(plan("--from", 0.9, "--items", 4)))["others for each"] == ["none"]


def test_correlations_that_the_shares_rule_out_are_not_shown(plan: Run) -> None:
    assert set(rows(str(plan("--from", 0.5, "--to", 0.9)))) == {
        "items",
        "others for each",
        "the same for both, correlation 0",
        "the same for both, correlation 0.3",
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--from 1.2 --to .5", "--from: must be more than 0 and less than 1, but got 1.2"),
        ("--from nan --to .5", "--from: must be more than 0"),
        ("--from .5 --to 0", "--to: must be more than 0"),
        ("--from .5 --to .6 --power 1", "--power: must be from 0.5 to less than 1, but got 1"),
        ("--from .5 --items 60 --power .02", "--power: must be from 0.5"),
        ("--from .5 --to .6 --level 95", "--level: must be more than 0 and less than 1, but got 95"),
        ("--from .5", "give --to"),
        ("--from .5 --to .6 --comparisons 0", "--comparisons: must be at least 1, but got 0"),
        ("--from .5 --to .6 --items 10", "give --to"),
        ("--from .5 --to .5", "must differ from --from"),
        ("--from .5 --items 1", "--items: must be at least 2"),
        ("--from .5 --to .6 --items-per-image .5", "--items-per-image: must be at least 1"),
        ("--from .5 --to .6 --icc -0.1", "--icc: must be from 0 to 1"),
        ("--from .5 --to .6 --discordance .3 --correlation .2", "--discordance or --correlation"),
        ("--from .5 --to .7 --discordance .1", "differ on 0.2 to 0.8 of the items, but got 0.1"),
        ("--from .99 --items 50 --discordance .1", "differ on 0 to 0.02 of the items"),
        ("--from .5 --to .9 --correlation .6", "--correlation: that of targets with these shares is from 0 to 0.333"),
        ("--from .5 --items 50 --correlation 1", "--correlation"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(cfeval: Run, arguments: str, told: str) -> None:
    status, out, err = cfeval("edct", "sample-size", *arguments.split())
    assert (status, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def card_rows(out: str) -> dict[tuple[str, str], list[int]]:
    """Percentages of right, open and wrong, by items and what the card should say."""
    found = re.findall(r"^(\S+) .*faithful: (trust|do not trust) +(\d+) % +(\d+) % +(\d+) %", out, re.MULTILINE)
    return {(items, should): [int(each) for each in shares] for items, should, *shares in found}


def test_a_card_is_planned_with_the_same_figures_every_time_and_more_items_decide_more(plan: Run) -> None:
    out = str(plan("--card", "--draws", 12))
    assert out == str(plan("--card", "--draws", 12))
    table = card_rows(out)
    assert len(table) == 8
    assert all(98 <= sum(shares) <= 102 for shares in table.values())
    assert table["400", "trust"][0] >= 80 > table["60", "trust"][0]
    assert table["120", "do not trust"][0] >= 90
    assert max(wrong for _, _, wrong in table.values()) <= 10


@pytest.mark.parametrize("given", [("--rejects", 0), ("--failed", 0.7)])
def test_no_number_of_items_helps_where_the_edits_are_not_known_to_be_made(
    plan: Run, given: tuple[object, ...]
) -> None:
    table = card_rows(str(plan("--card", "--items", 200, "--draws", 8, *given)))
    assert table["200", "trust"] == [0, 100, 0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", "--from: not given; give --from and --to, --from and --items, or --card"),
        ("--card --from .5", "--card: plans no comparison; leave --from and --to out"),
        ("--card --items 0", "--items: must be from 1 to 5,000, but got 0"),
        ("--card --draws 100000", "--draws: must be from 1 to 1,000"),
        ("--card --faithful 1.2", "--faithful: must be from 0 to 1, but got 1.2"),
        ("--card --rejects nan", "--rejects: must be from 0 to 1, but got nan"),
        ("--card --seed -1", "--seed: must be at least 0, but got -1"),
    ],
)
def test_a_plan_of_a_card_that_cannot_be_is_one_line(cfeval: Run, arguments: str, told: str) -> None:
    status, out, err = cfeval("edct", "sample-size", *arguments.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert told in err
