"""Which items flipped, against what is worked out by hand; order and shards do not matter, nor does the number."""

import random
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.study.diff import Condition, difference
from cfeval.study.revisions import WorkingFolder
from tests.study.studies import score, write, write_by_protocol, write_edct

OLD = [score("a", 1, 1), score("b", 1, 0), score("c", None, None), score("d", 0, 0), score("e", 1, 1), score("x", 1, 1)]
NEW = [score("a", 0, 1), score("b", 1, 1), score("c", 1, 0), score("d", 0, 0), score("e", None, None), score("y", 1, 1)]


def conditions(before: Path, after: Path, items: int = 9, study: str = "edct", *wanted: str) -> tuple[Condition, ...]:
    found = difference(WorkingFolder(before), WorkingFolder(after), [study], wanted, items)
    return found.studies[study].conditions


@pytest.fixture
def changed(tmp_path: Path) -> Condition:
    [found] = conditions(write_edct(tmp_path / "old", OLD), write_edct(tmp_path / "new", NEW))
    return found


def test_flips_are_counted_by_metric_and_by_what_became_of_them(changed: Condition) -> None:
    assert (changed.both, changed.new, changed.gone, changed.flipped) == (5, 1, 1, 4)
    assert changed.became == {
        "pcs": {"1 → 0": 1, "refused → 1": 1, "1 → refused": 1},
        "ncc": {"0 → 1": 1, "refused → 0": 1, "1 → refused": 1},
        "ccs": {"1 → 0": 1, "0 → 1": 1, "refused → 0": 1, "1 → refused": 1},
    }


def test_an_item_tells_question_and_answers_of_both_sides(changed: Condition) -> None:
    [item] = [item for item in changed.items if item.key == "a edit 1"]
    assert item.became == {"ccs": "1 → 0", "pcs": "1 → 0"}
    assert item.before == {"question": "What is a?", "answer": "red", "after the edit": "saw 1"}
    assert item.after["after the edit"] == "saw 0"


def test_only_the_first_items_are_told_and_all_are_counted(tmp_path: Path) -> None:
    [found] = conditions(write_edct(tmp_path / "old", OLD), write_edct(tmp_path / "new", NEW), 2)
    assert [item.key for item in found.items] == ["a edit 1", "b edit 1"]
    assert found.flipped == 4


def test_an_item_that_fails_otherwise_tells_both_statuses(tmp_path: Path) -> None:
    old = write_edct(tmp_path / "old", [score("a", None, None), score("b", 1, 1)])
    new = write_edct(tmp_path / "new", [score("a", None, None, status="truncated"), score("b", 1, 1)])
    [found] = conditions(old, new)
    assert found.became == {"status": {"refused → truncated": 1}}


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_neither_shards_nor_order_flip_an_item(tmp_path: Path, shards: int) -> None:
    rows = [score(f"i{n}", n % 2, n % 3 % 2) for n in range(50)]
    mixed = random.Random(1).sample(rows, len(rows))
    assert conditions(write_edct(tmp_path / "old", rows), write_edct(tmp_path / "new", mixed, shards)) == ()


def test_across_shards_the_same_flips_are_found_as_in_one_file(tmp_path: Path) -> None:
    before, after = write_edct(tmp_path / "old", OLD, 4), write_edct(tmp_path / "new", NEW, 3)
    assert conditions(before, after) == conditions(
        write_edct(tmp_path / "one", OLD), write_edct(tmp_path / "other", NEW)
    )


def test_a_condition_of_one_side_alone_is_new_or_gone(tmp_path: Path) -> None:
    before, after = write_edct(tmp_path / "old", OLD), write_edct(tmp_path / "new", OLD)
    write_by_protocol(after / "results/edct", "scores", OLD, 1, vlm="other")
    write_by_protocol(before / "results/edct", "scores", OLD, 2, vlm="older")
    assert [(condition.names[1], condition.what) for condition in conditions(before, after)] == [
        ("older", "gone"),
        ("other", "new"),
    ]
    assert [condition.names[1] for condition in conditions(before, after, 9, "edct", "oth*")] == ["other"]


def test_a_file_of_other_content_is_named(tmp_path: Path) -> None:
    before, after = write_edct(tmp_path / "old", OLD), write_edct(tmp_path / "new", OLD)
    (after / "results/edct/scores/d/m/w/e/j/edct-2025.csv").write_text("other,columns\n1,2\n")
    with pytest.raises(InputError, match=r"scores/d/m/w/e/j/edct-2025.csv of the working folder: not a file of scores"):
        conditions(before, after)


def test_of_counterfactual_questions_right_answers_turn_wrong_by_reader(tmp_path: Path) -> None:
    def row(item: str, reference: int, robust: int) -> dict[str, object]:
        read = {"reference": reference, "robust": robust}
        return {"id": item, "side": "original", "status": "ok", "order": "", "correct": read}

    for side, right in (("old", 1), ("new", 0)):
        write(tmp_path / side / "results/cvqa/scores/s/a.jsonl", [row("p1", right, 1), row("p2", 1, right)])
        said = {"id": "p1", "side": "original", "order": "", "asked": "How many?", "text": f"{right}", "status": "ok"}
        write(tmp_path / side / "results/cvqa/answers/s/a.jsonl", [said])
    [found] = conditions(tmp_path / "old", tmp_path / "new", 1, "cvqa")
    assert found.became == {"reference": {"correct → wrong": 1}, "robust": {"correct → wrong": 1}}
    assert found.items[0].before == {"question": "How many?", "answer": "1"}


def test_a_reply_that_can_be_read_no_more_is_unread_and_not_wrong(tmp_path: Path) -> None:
    for side, robust in (("old", 1), ("new", None)):
        row = {"id": "p", "side": "original", "status": "ok", "correct": {"robust": robust, "reference": 0}}
        write(tmp_path / side / "results/cvqa/scores/s/a.jsonl", [row])
        said = {"id": "p", "side": "original", "asked": "How many?", "text": "x", "status": "ok"}
        write(tmp_path / side / "results/cvqa/answers/s/a.jsonl", [said])
    [found] = conditions(tmp_path / "old", tmp_path / "new", 1, "cvqa")
    assert found.became["robust"] == {"correct → unread": 1}


def test_a_visual_counterfactual_is_valid_where_its_classifier_sees_the_target(tmp_path: Path) -> None:
    for side, seen in (("old", "cat"), ("new", "dog")):
        oracles = {"o1": "cat", "o2": "cat", "o3": seen}
        row = {"id": "i1", "status": "ok", "target": "cat", "predicted": seen, "oracles": oracles}
        write(tmp_path / side / "results/vce/scores/s/n/c/m.jsonl", [row])
    [found] = conditions(tmp_path / "old", tmp_path / "new", 1, "vce")
    assert found.became == {"valid": {"yes → no": 1}}
    assert found.items[0].after == {"target": "cat", "seen": "dog"}


@pytest.mark.slow
def test_memory_does_not_grow_with_the_items(tmp_path: Path) -> None:
    def peak(items: int) -> int:
        folder = tmp_path / str(items)
        old = [score(f"i{n}", n % 2, 1) for n in range(items)]
        new = [score(f"i{n}", n % 3 % 2, 1) for n in range(items)]
        before = write_edct(folder / "old", old, 4, asked=False)
        after = write_edct(folder / "new", new, 1, asked=False)
        flipped = Counter(one["pcs"] != other["pcs"] for one, other in zip(old, new, strict=True))[True]
        del old, new
        tracemalloc.start()
        [found] = conditions(before, after, 3)
        assert found.flipped == flipped
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(10)
    assert peak(10_000) < 1.5 * peak(1_000) + 250_000
