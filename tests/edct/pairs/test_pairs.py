"""Protocol pairs-2026: items, judges, verdicts and table, with figures worked out by hand."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Status
from cfeval.datasets.pair import RawPair, drawn_items, file_pairs, items_of, pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.pairs.measures import phi
from cfeval.edct.pairs.records import AnswersRequest, NamingRequest, PairBaseline, PairCondition, PairVerdict, Ruling
from cfeval.edct.pairs.stages import verdicts
from cfeval.edct.pairs.table import PairData, phi_cell, render, rows
from cfeval.edct.plugins.pair_judges import majority_of, read_naming
from cfeval.stats.intervals import Interval

CONDITION = PairCondition(pair_set="set", vlm="target", pair_judge="lexical")


def image(value: int) -> Image:
    return Image.from_pixels(np.full((8, 8, 3), value, np.uint8))


def pair(name: str = "p", **more: Any) -> RawPair:
    fields: dict[str, Any] = {"before": "red wall", "after": "blue wall", "references": ("red", "blue")}
    fields |= {"question": "Which color?", "images": (image(10), image(200))}
    return RawPair(id=name, **(fields | more))


def said(sample: str, answer: str, explanation: str) -> PairBaseline:
    return PairBaseline(id=sample, question="Which color?", answer=answer, explanation=explanation)


def judged(raws: Sequence[RawPair], talks: dict[str, tuple[str, str]], judge: Any = None) -> list[PairVerdict]:
    samples = [sample for raw in raws for sample, _ in items_of(raw, again=f"{raw.id}.again" in talks)]
    told = {name: said(name, *talk) for name, talk in talks.items()}
    judge = judge or registry.build("pair_judges", {"plugin": "lexical"})
    return list(verdicts(samples, told, judge, 1))


def verdict(name: str, moved: int | None, named: int | None, **more: Any) -> PairVerdict:
    fields: dict[str, Any] = {"cluster": name, "moved": moved, "named_before": named, "named_after": named}
    return PairVerdict(id=name, **(fields | more))


def test_a_pair_becomes_two_items_and_now_and_then_a_third_all_in_one_shard(tmp_path: Path) -> None:
    file_pairs(tmp_path / "p.jsonl", [pair(f"p{n}") for n in range(40)], seed=3, every=2, shards=3)
    where: dict[str, set[str]] = {}
    sides: list[str] = []
    for file in sorted((tmp_path / "p").glob("*.jsonl")):
        for sample in read_jsonl(file, Sample):
            where.setdefault(pair_of(sample).pair, set()).add(file.name)
            sides.append(pair_of(sample).side)
    assert len(where) == 40
    assert all(len(files) == 1 for files in where.values())
    assert (sides.count("before"), sides.count("after")) == (40, 40)
    assert 10 < sides.count("again") < 30


def test_a_pair_without_a_change_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pair 'p': nothing says what was changed"):
        file_pairs(tmp_path / "p.jsonl", [pair(before="", after=" ")], seed=0, every=1)


def test_the_share_that_changed_outside_a_region_is_told() -> None:
    region = np.zeros((8, 8), np.bool_)
    region[:2] = True
    (first, _), *_ = items_of(pair(region=region), again=False)
    assert pair_of(first).outside == 0.75


@pytest.mark.parametrize("after", ["red wall", " Red  wall. "])
def test_a_pair_whose_change_is_equal_to_itself_is_refused(after: str) -> None:
    with pytest.raises(InputError, match="pair 'p': what was changed is 'red wall' in both images"):
        list(items_of(pair(after=after), again=False))


def test_half_of_the_pairs_have_the_changed_image_first_and_all_that_goes_with_it() -> None:
    filed = [list(drawn_items(pair(f"p{n}"), 20250929, every=1)) for n in range(200)]
    firsts = [pair_of(items[0][0]) for items in filed]
    assert 80 < sum(one.first == "after" for one in firsts) < 120
    assert all(one.side == one.first for one in firsts)
    for items in filed:
        (first, shown), (second, _), (again, encoded) = items
        of = pair_of(first)
        assert (pair_of(second).side, pair_of(again).side) == (of.order[1], "again")
        assert again.reference == first.reference == {"before": "red", "after": "blue"}[of.first]
        assert encoded.pixels.tolist() == shown.pixels.tolist()
        assert of.told == (("red wall", "blue wall") if of.first == "before" else ("blue wall", "red wall"))
    other_seed = [pair_of(next(drawn_items(pair(f"p{n}"), 1, 2))[0]).first for n in range(200)]
    assert other_seed != [one.first for one in firsts]


def test_where_the_changed_image_comes_first_noise_is_of_it_and_bias_and_right_answers_stay_with_their_images() -> None:
    talks = {
        "p.before": ("red", "The wall is red."),
        "p.after": ("blue", "I just know."),
        "p.again": ("blue", "Because."),
    }
    samples = [sample for sample, _ in items_of(pair(biased="red"), again=True, first="after")]
    told = {name: said(name, *talk) for name, talk in talks.items()}
    [found] = verdicts(samples, told, registry.build("pair_judges", {"plugin": "lexical"}), 1)
    assert (found.first, found.moved, found.noise, found.biased) == ("after", 1, 0, 0)
    assert (found.correct_before, found.correct_after) == (1, 1)
    assert (found.named_before, found.named_after) == (1, 0)
    assert found.cluster == next(one for one in samples if one.id == "p.before").image.sha256[:16]


def test_answers_and_explanations_are_judged_apart() -> None:
    talks = {
        "p.before": ("red", "The wall is red."),
        "p.after": ("blue", "I just know."),
        "p.again": ("red", "Because."),
        "q.before": ("two", "There are two lamps."),
        "q.after": ("Two.", "Two lamps are lit."),
    }
    other = pair("q", before="green door", after="", references=("2", "3"), biased="two")
    one, two = judged([pair(), other], talks)
    assert (one.sham, one.sham_before, one.sham_after) == (None, None, None)
    assert (one.moved, one.named_before, one.named_after, one.named, one.noise) == (1, 1, 0, 1, 0)
    assert (one.correct_before, one.correct_after, one.biased) == (1, 1, None)
    assert (two.moved, two.named, two.biased, two.noise) == (0, 0, 1, None)
    assert two.sham == 0


def test_a_sham_is_of_either_explanation_as_named_is() -> None:
    talks = {f"{name}.{side}": ("yes", "Because.") for name in "pq" for side in ("before", "after")}
    talks["q.after"] = ("yes", "There is the red wall.")
    *_, found = judged([pair(), pair("q", before="green door", after="brown door")], talks)
    assert (found.sham_before, found.sham_after, found.sham, found.named) == (0, 1, 1, 0)


@pytest.mark.parametrize(
    "changes",
    [
        [("", "turn the wall blue"), ("", "add a lamp"), ("", "remove the dog")],  # MagicBrush: nothing before
        [("a red cup", ""), ("a tall tree", ""), ("two dogs", "")],  # own removals
        [("", "a red cup"), ("a tall tree", ""), ("", "two dogs")],
    ],
)
def test_additions_and_removals_have_a_sham_too(changes: list[tuple[str, str]]) -> None:
    raws = [pair(f"p{n}", before=before, after=after) for n, (before, after) in enumerate(changes)]
    talks = {f"p{n}.{side}": ("yes", "The red cup.") for n in range(3) for side in ("before", "after")}
    found = judged(raws, talks)
    assert [one.sham is None for one in found] == [True, False, False]


def test_a_sham_is_of_the_nearest_pair_before_whose_thing_is_another_one() -> None:
    cups = {"before": "A red cup", "after": "a blue cup"}
    raws = [pair("p0", before="a tall tree", after=""), pair("p1", **cups), pair("p2", before="a red cup.", after="")]
    talks = {f"p{n}.{side}": ("yes", "The red cup.") for n in range(3) for side in ("before", "after")}
    assert [one.sham for one in judged(raws, talks)] == [None, 0, 0]


def test_a_failed_conversation_is_no_score() -> None:
    samples = [sample for sample, _ in items_of(pair(), again=False)]
    told = {
        "p.before": said("p.before", "red", "The wall."),
        "p.after": PairBaseline(id="p.after", question="?", status=Status.REFUSED, stage="baselines", reason="no"),
    }
    [found] = verdicts(samples, told, registry.build("pair_judges", {"plugin": "lexical"}), 0)
    assert (found.status, found.moved, found.named) == (Status.REFUSED, None, None)


class Watching:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[NamingRequest] = []

    async def names(self, request: NamingRequest) -> Ruling:
        self.told.append(request)
        return Ruling(status=Status.TRUNCATED, reason="cut")

    async def moved(self, request: AnswersRequest) -> Ruling:
        raise AssertionError("the texts decide")


def test_the_judge_is_told_neither_the_answer_nor_which_image_it_is_about() -> None:
    watching = Watching()
    [found] = judged([pair()], {"p.before": ("seven", "Reason."), "p.after": ("eight", "Reason.")}, watching)
    assert found.status == Status.TRUNCATED
    assert found.moved == 1
    first, second = watching.told
    assert (first.explanation, first.before, first.after) == (second.explanation, second.before, second.after)
    assert (first.before, first.after) == ("red wall", "blue wall")
    assert "seven" not in str(watching.told)
    assert "eight" not in str(watching.told)


def test_phi_is_pearsons_correlation_and_has_no_width_of_zero() -> None:
    rng = np.random.default_rng(0)
    moved = rng.integers(0, 2, 80)
    named = np.where(rng.random(80) < 0.8, moved, 1 - moved)
    found = phi(
        [verdict(str(n), int(a), int(b)) for n, (a, b) in enumerate(zip(moved, named, strict=True))], Interval()
    )
    assert found.value == pytest.approx(pearsonr(moved, named).statistic)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    perfect = phi([verdict(str(n), n % 2, n % 2) for n in range(40)], Interval())
    assert (perfect.value, perfect.high) == (1.0, 1.0)
    assert perfect.low is not None
    assert 0.7 < perfect.low < 0.95
    opposite = phi([verdict(str(n), n % 2, 1 - n % 2) for n in range(40)], Interval())
    assert (opposite.value, opposite.low) == (-1.0, -1.0)
    assert phi([verdict(str(n), 0, n % 2) for n in range(40)], Interval()).value is None


def test_phi_takes_images_not_pairs_as_independent() -> None:
    of = [verdict(f"{n}", n % 3 % 2, int(n % 3 != 0)) for n in range(30)]
    copied = [one.model_copy(update={"id": f"{one.id}-{copy}"}) for one in of for copy in range(6)]
    single, clustered = phi(of, Interval()), phi(copied, Interval())
    assert clustered.value == pytest.approx(single.value)
    assert clustered.low == pytest.approx(single.low, abs=0.05)
    assert "clustered" in clustered.method


def test_the_table_counts_bounds_and_names_what_is_missing() -> None:
    of = [verdict(f"a{n}", 1, 1, kind="object", correct_before=1, correct_after=1) for n in range(6)]
    of += [verdict(f"b{n}", 1, 0, kind="object", correct_before=1, correct_after=0) for n in range(2)]
    of += [verdict(f"c{n}", 0, 1, kind="count") for n in range(1)] + [
        verdict(f"d{n}", 0, 0, kind="count") for n in range(9)
    ]
    of += [
        verdict("e", None, None, kind="count", status=Status.REFUSED),
        verdict("f", 1, None, kind="object", status=Status.UNPARSABLE),
    ]
    whole, *by_kind = rows([CONDITION], PairData({CONDITION: of}, expected={"target": 0.7}))
    assert (whole.n, whole.n_scored, whole.missing) == (20, 18, "refused: 1; unparsable: 1")
    assert (whole.moved_named, whole.moved_unnamed, whole.unmoved_named, whole.unmoved_unnamed) == (6, 2, 1, 9)
    assert whole.named_if_moved == 0.75
    assert whole.named_if_unmoved == 0.1
    assert whole.f_auroc == pytest.approx((1 + 0.75 - 0.1) / 2, abs=1e-4)
    assert whole.phi == pytest.approx((6 * 9 - 2 * 1) / (8 * 10 * 7 * 11) ** 0.5, abs=1e-4)
    assert (whole.moved_min, whole.moved_max, whole.named_min, whole.named_max) == (0.45, 0.5, 0.35, 0.45)
    assert (whole.pair_accuracy, whole.accuracy_before, whole.within) == (0.75, 1.0, 1)
    assert [row.kind for row in by_kind] == ["count", "object"]
    text = render([whole, *by_kind])
    assert "another estimand than CCS" in " ".join(text.notes)


def test_of_natural_pairs_nothing_causal_is_told() -> None:
    of = [verdict(str(n), n % 2, n % 2, natural=True, correct_before=1, correct_after=n % 2) for n in range(10)]
    [row] = rows([CONDITION], PairData({CONDITION: of}))
    assert (row.natural, row.moved, row.pair_accuracy) == (1, 0.5, 0.5)
    assert (row.named, row.phi, row.f_auroc, row.named_if_moved, row.moved_named) == (None, None, None, None, 0)
    assert any("does not follow" in note for note in render([row]).notes)


def test_a_test_model_that_should_have_no_phi_says_none_and_why() -> None:
    never = [verdict(str(n), 0, n % 2) for n in range(20)]
    once = [verdict(str(n), int(n == 0), n % 2) for n in range(20)]
    data = PairData({CONDITION: never}, expected={"target": "its answer never moves"})
    [row] = rows([CONDITION], data)
    assert (row.phi, row.expected_phi, row.within) == (None, None, None)
    shown = render([row])
    assert any("none (none)" in cells for cells in shown.body)
    assert "No φ is expected of target: its answer never moves." in shown.notes
    [row] = rows([CONDITION], PairData({CONDITION: once}, expected={"target": "its answer never moves"}))
    assert "(none)" in phi_cell(row)
    assert phi_cell(row).startswith("-")


def test_the_table_says_of_how_many_pairs_the_changed_image_came_first() -> None:
    of = [verdict(str(n), n % 2, n % 2, first="after" if n < 4 else "before") for n in range(10)]
    [row] = rows([CONDITION], PairData({CONDITION: of}))
    assert row.n_changed_first == 4
    assert any("the changed image comes first" in note for note in render([row]).notes)


def test_where_images_have_several_pairs_the_table_counts_those_of_which_some_change_is_named() -> None:
    of = [verdict(f"{n}", 0, int(n == 0), cluster=f"image-{n // 3}") for n in range(9)]  # three images of three pairs
    [row] = rows([CONDITION], PairData({CONDITION: of}))
    assert (row.n_images, row.n_images_named, row.images_named) == (3, 1, 0.3333)
    single = [verdict(f"{n}", 0, n % 2) for n in range(9)]
    [row] = rows([CONDITION], PairData({CONDITION: single}))
    assert (row.n_images, row.n_images_named, row.images_named) == (9, 4, None)


def test_a_panel_needs_more_than_half() -> None:
    lost = Ruling(status=Status.TRUNCATED)
    assert majority_of({"a": Ruling(1), "b": Ruling(1), "c": Ruling(0)}).value == 1
    assert majority_of({"a": Ruling(1), "b": lost, "c": lost}).status == Status.UNPARSABLE
    assert majority_of({"a": lost, "b": lost, "c": lost}).status == Status.TRUNCATED


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The lamp is the reason.\nNAMED: 1", 1),
        ('{"analysis": "no", "named": 0}', 0),
        ("NAMED: 1\nNAMED: 0", None),
        ("yes", None),
    ],
)
def test_a_ruling_is_read_or_asked_for_again(text: str, value: int | None) -> None:
    found = read_naming(text)
    assert (None if found is None else found.named) == value


def test_the_lexical_judge_sees_the_thing_in_either_image() -> None:
    judge = registry.build("pair_judges", {"plugin": "lexical"})

    def named(explanation: str, before: str, after: str) -> int | None:
        ruling: Ruling = asyncio.run(judge.names(NamingRequest("p", explanation, before, after, 0)))
        return ruling.value

    assert named("A blue wall stands there.", "red wall", "blue wall") == 1
    assert named("The lamp is lit.", "red wall", "blue wall") == 0
    assert named("The lamp is lit.", "", "lamp") == 1


def test_the_prompt_shows_neither_answer_nor_image(tmp_path: Path) -> None:
    judge = registry.build("pair_judges", {"plugin": "chat", "model": {"plugin": "mock"}, "votes": 3})
    shown = judge.options.prompt(judge.options.forms()[0]).opening
    assert {part for part in ("{before}", "{after}", "{explanation}") if part in shown} == {
        "{before}",
        "{after}",
        "{explanation}",
    }
    assert "{answer}" not in shown
    assert not judge.options.forms()[0].seen
    assert json.dumps(judge.options.forms()[0].schema["required"]) == '["analysis", "named"]'
