"""Replies of judges and gates that contradict themselves, suppose or quote a verdict: asked again, then unscored."""

import json
from itertools import product

import pytest

from cfeval.core.records import Status
from cfeval.edct.interfaces import JudgeReply
from cfeval.edct.plugins.pair_judges import read_naming
from cfeval.edct.plugins.verifiers import read_sight
from cfeval.edct.protocols import controls, edct_2025, edct_bench_2026
from cfeval.inference.verdicts import clear_verdict
from tests.edct.plugins.test_chat_judge import judged
from tests.fake_chat import FakeChat

BITS = list(product((0, 1), repeat=2))
READERS = {
    "edct-2025": (edct_2025.read_verdict, ("PCS", "NCC", "CCS")),
    "edct-bench-2026": (edct_bench_2026.read_verdict, ("AC", "EF", "CCS")),
    "controls": (controls.read_comparison, ("ANSWER_MOVED", "EXPLANATION_MOVED")),
    "pairs-2026": (read_naming, ("NAMED",)),
}
SUPPOSED = [
    "Had the answer moved, I would have written",
    "Had the answer moved, I would have written:",
    "If the answer had moved, the verdict would be:",
    "## If it had moved",
    "**Hypothetical verdict**",
    "Example of a verdict:",
    "For instance, my scores would be:",
    "Were the answer another one, the scores would be",
    "Supposing that the edit is visible:",
    "Otherwise:",
]


def scores(labels: tuple[str, ...], one: int, two: int) -> dict[str, int]:
    values = (one, two, one * two) if "CCS" in labels else (one, two)
    return dict(zip(labels, values, strict=False))


def lines(digits: dict[str, int]) -> str:
    return "\n".join(f"{label}: {digit}" for label, digit in digits.items())


def as_json(digits: dict[str, int], **more: object) -> str:
    return json.dumps({**more, **{label.lower(): digit for label, digit in digits.items()}})


@pytest.mark.parametrize("protocol", READERS)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("supposed", SUPPOSED)
def test_a_verdict_that_is_only_supposed_is_none(protocol: str, bits: tuple[int, int], supposed: str) -> None:
    read, labels = READERS[protocol]
    own, other = scores(labels, *bits), scores(labels, 1 - bits[0], 1 - bits[1])
    for form in (lines(own), ", ".join(lines(own).split("\n")), f"```json\n{as_json(own)}\n```"):
        assert read(f"{supposed}\n{form}") is None
        assert read(f"{supposed}\n\n{form}") is None
    assert read(f"{supposed} {', '.join(lines(own).split(chr(10)))}") is None
    assert read(f"{lines(other)}\n\n{supposed}\n{lines(own)}") is None, "which of the two is open"
    assert read(f"The answer moved and the reason did.\n\n{lines(own)}") is not None


@pytest.mark.parametrize("protocol", READERS)
@pytest.mark.parametrize("bits", BITS)
def test_a_condition_beside_a_label_makes_no_score(protocol: str, bits: tuple[int, int]) -> None:
    read, labels = READERS[protocol]
    first, *rest = lines(scores(labels, *bits)).split("\n")
    label, digit = first.split(": ")
    assert read("\n".join([f"{label} (had the answer moved): {digit}", *rest])) is None
    assert read("\n".join([f"The score if it had moved ({label}): {digit}", *rest])) is None


@pytest.mark.parametrize("protocol", READERS)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    "stated", ["So {} is {}.", "The explanation cites the steps, {}: {}.", "I set {} to {}.", "This makes a {} of {}."]
)
def test_prose_that_states_another_score_takes_the_verdict_away(
    protocol: str, bits: tuple[int, int], stated: str
) -> None:
    read, labels = READERS[protocol]
    digits = scores(labels, *bits)
    for label, digit in digits.items():
        for said, holds in ((digit, True), (1 - digit, False)):
            prose = stated.format(label, said)
            replies = (
                f"{prose}\n\n{lines(digits)}",
                as_json(digits, analysis=prose),
                f"```json\n{as_json(digits, analysis=prose)}\n```",
            )
            assert [read(reply) is not None for reply in replies] == [holds] * 3


@pytest.mark.parametrize("protocol", READERS)
@pytest.mark.parametrize(
    "prose",
    [
        "{0} is 1 where the text follows the edit, and {0} is 0 where it does not.",
        'The explanation says "{0}: 1".',
        'The explanation says "{0}: 0".',
        "The text claims that {0} is 1.",
        "{0} would be 1 if the answer had moved.",
        "Had it moved, {0} should be 0.",
    ],
)
def test_rules_quotations_and_conditions_in_prose_stand_against_no_verdict(protocol: str, prose: str) -> None:
    read, labels = READERS[protocol]
    for bits in BITS:
        digits, told = scores(labels, *bits), prose.format(labels[0])
        assert read(f"{told}\n\n{lines(digits)}") is not None
        assert read(as_json(digits, analysis=told)) is not None


@pytest.mark.parametrize("protocol", ["edct-2025", "edct-bench-2026"])
@pytest.mark.parametrize("digits", product((0, 1), repeat=3))
def test_a_ccs_that_is_not_the_product_is_no_verdict(protocol: str, digits: tuple[int, int, int]) -> None:
    read, labels = READERS[protocol]
    named = dict(zip(labels, digits, strict=True))
    whole = digits[2] == digits[0] * digits[1]
    table = f"| {' | '.join(labels)} |\n|---|---|---|\n| {' | '.join(map(str, digits))} |"
    for form in (lines(named), as_json(named), f"```json\n{as_json(named)}\n```", table):
        assert (read(form) is not None) is whole


@pytest.mark.parametrize("protocol", READERS)
@pytest.mark.parametrize(("one", "other"), product(BITS, BITS))
def test_two_verdicts_in_one_reply_count_where_they_are_the_same(
    protocol: str, one: tuple[int, int], other: tuple[int, int]
) -> None:
    read, labels = READERS[protocol]
    first, second = scores(labels, *one), scores(labels, *other)
    forms = [
        f"{lines(first)}\n\nFinal verdict:\n{lines(second)}",
        f"```json\n{as_json(first)}\n```\n\n{lines(second)}",
        json.dumps({**json.loads(as_json(first)), "final": json.loads(as_json(second))}),
    ]
    assert [read(form) is not None for form in forms] == [first == second] * 3


def test_a_contradiction_is_asked_about_once_and_then_unscored() -> None:
    wrong, right = "PCS: 1\nNCC: 0\nCCS: 1", "PCS: 1\nNCC: 0\nCCS: 0"
    assert judged(FakeChat(wrong, right)).scores == {"pcs": 1, "ncc": 0}
    model = FakeChat(wrong, wrong)
    reply = judged(model)
    assert (reply.scores, reply.stated_ccs, reply.status, len(model.seen)) == ({}, None, Status.UNPARSABLE, 2)
    assert isinstance(reply, JudgeReply)
    assert wrong in reply.completion


LISTS = {
    "nothing": 0,
    "Nothing.": 0,
    "none": 0,
    "No other changes": 0,
    "nothing else": 0,
    "the jug has another shape": 1,
    "the jug has another shape; the wallpaper has stripes.": 2,
    "\n- the jug has another shape\n- the wallpaper has stripes": 2,
    "nothing but the wallpaper": 1,
}


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("others", [0, 1, 2, 9])
@pytest.mark.parametrize("label", ["Else", "**Else:**", "What else changed", "- Else"])
def test_a_gate_that_lists_changes_and_counts_none_or_the_other_way_round_is_unread(
    listed: str, others: int, label: str
) -> None:
    told = f"{label}{'' if ':' in label else ':'} {listed}"
    reply = f"Before: a mug.\nNow: a cup.\n{told}\n\nPRESENT: 1\nAS_ASKED: 1\nOTHERS: {others}"
    assert (read_sight(reply) is not None) is ((others > 0) is (LISTS[listed] > 0))


@pytest.mark.parametrize("changes", [[], ["nothing"], [""], ["a jug"], ["a jug", "stripes"], "none", "a jug"])
@pytest.mark.parametrize("others", [0, 1, 2])
def test_the_same_holds_for_json(changes: list[str] | str, others: int) -> None:
    body = {"before": "a", "now": "b", "changes": changes, "present": 1, "as_asked": 1, "others": others}
    count = changes not in ([], ["nothing"], [""], "none")
    for reply in (json.dumps(body), f"```json\n{json.dumps(body, indent=1)}\n```"):
        assert (read_sight(reply) is not None) is ((others > 0) is count)


@pytest.mark.parametrize("listed", ["a slight blur, which does not count", "the shadow of the cup"])
def test_what_does_not_count_may_be_named_beside_either_figure(listed: str) -> None:
    for others in (0, 1):
        assert read_sight(f"Else: {listed}\n\nPRESENT: 1\nAS_ASKED: 1\nOTHERS: {others}") is not None


def test_contradictions_are_found_in_time_that_grows_with_the_length() -> None:
    for part in ("PCS is 1. ", "{", '{"pcs": ', "Else: a;", "had it "):
        assert clear_verdict(part * 20_000, edct_2025.Verdict, "01") is None
        assert read_sight(part * 20_000) is None
