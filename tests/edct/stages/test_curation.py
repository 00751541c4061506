"""Curation: the filter decides about every candidate, people overrule it, and a set is drawn from what is left."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.datasets.sample import Sample
from cfeval.edct.stages.curation import Decision, Fates, Override, Plan, allot, decisions, fates, select
from cfeval.inference.chat import ChatReply
from tests.fake_chat import FakeChat
from tests.images import image
from tests.slow import examples

IMAGES = [image(number).ref("x.png") for number in range(6)]
GOOD = "Reason: It names\tthe trees.\nKeep: 1"
FAILURES = [status for status in Status if status != Status.OK]


def sample(item: str, kind: str = "", image: int = 0, reference: str = "") -> Sample:
    return Sample(id=item, image=IMAGES[image], question=f"What is {item}?", kind=kind, reference=reference)


CANDIDATES = {item: sample(item) for item in "abcd"}


def filtered(model: FakeChat, *samples: Sample) -> list[Decision]:
    return list(decisions(samples or CANDIDATES.values(), model, "", seed=3))


def test_the_filter_sees_the_question_alone_and_its_reason_is_kept_in_one_line() -> None:
    model = FakeChat(GOOD)
    shown = sample("a", kind="secret kind", reference="secret answer")
    said = ChatReply(GOOD, calls=("0" * 64,))
    model.said = (said,)
    [decided] = filtered(model, shown)
    assert (decided.keep, decided.why, decided.completion) == (1, "It names the trees.", GOOD)
    assert (decided.question, decided.calls) == ("What is a?", said.calls)
    [turn] = model.seen[0].turns
    assert "What is a?" in turn.text
    assert "secret" not in turn.text
    assert turn.image is None


def test_a_reply_that_cannot_be_read_gets_one_repair_turn() -> None:
    [decided] = filtered(FakeChat(ChatReply("Sure, why not."), ChatReply("Reason: r\nKeep: 0")), sample("a"))
    assert (decided.keep, decided.why, decided.status) == (0, "r", Status.OK)
    assert "Sure, why not." in decided.completion


@pytest.mark.parametrize("status", FAILURES)
def test_a_candidate_that_the_model_fails_at_is_undecided_and_says_why(status: Status) -> None:
    failing = ChatReply(status=status, reason="no\nluck")
    model = FakeChat(say=lambda request: failing if request.item == "b" else ChatReply(GOOD))
    decided = {one.id: one for one in filtered(model)}
    assert list(decided) == list(CANDIDATES)
    assert [item for item, one in decided.items() if one.keep is None] == ["b"]
    failed = decided["b"]
    assert (failed.status, failed.stage, failed.reason) == (status, "filter", "no luck")


def test_two_replies_that_cannot_be_read_leave_it_undecided() -> None:
    [decided] = filtered(FakeChat(ChatReply("x"), ChatReply("y")), sample("a"))
    assert (decided.keep, decided.status) == (None, Status.UNPARSABLE)
    assert "x" in decided.completion
    assert "y" in decided.completion


def test_a_candidate_s_seed_is_its_own() -> None:
    model = FakeChat(say=lambda _: ChatReply(GOOD))
    filtered(model)
    assert len({request.seed for request in model.seen}) == len(CANDIDATES)


def decision(item: str, keep: int | None, question: str = "") -> Decision:
    fields = {"id": item, "question": question or f"What is {item}?"}
    return Decision.model_validate(fields | ({"status": "refused"} if keep is None else {"keep": keep}))


def override(item: str, keep: bool) -> Override:
    return Override(id=item, keep=keep, reason="seen", who="ab")


SAID = [decision("a", 1), decision("b", 0), decision("c", None), decision("d", 1)]


def test_without_decisions_all_are_kept() -> None:
    assert fates(CANDIDATES, None) == Fates(frozenset("abcd"), frozenset())


def test_an_undecided_candidate_is_neither_kept_nor_forgotten() -> None:
    assert fates(CANDIDATES, SAID) == Fates(frozenset("ad"), frozenset("c"))


def test_people_overrule_the_model_and_decide_where_it_failed() -> None:
    people = [override("a", False), override("b", True), override("c", True)]
    assert fates(CANDIDATES, SAID, people) == Fates(frozenset("bcd"), frozenset())


@pytest.mark.parametrize(
    ("said", "people", "complaint"),
    [
        (SAID[:3], [], r"decisions: none about 'd' .1 of 4 candidates have none.; run the filter on these"),
        ([*SAID, decision("e", 1)], [], "decisions: 'e' is no candidate"),
        ([*SAID[:3], decision("d", 1, "Why?")], [], "decisions: 'd' is no candidate, or its question is another"),
        ([*SAID, decision("a", 0)], [], "decisions: 'a' stands there twice"),
        (SAID, [override("x", True)], "overrides: no candidate 'x'; correct the id or take the line out"),
        (SAID, [override("a", True), override("a", False)], "overrides: 'a' stands there twice; agree on one line"),
    ],
)
def test_decisions_and_overrides_that_do_not_fit_are_one_line(
    said: list[Decision], people: list[Override], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as error:
        fates(CANDIDATES, said, people)
    assert "\n" not in str(error.value)


SIZES = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12), min_size=1)


@st.composite
def allotments(draw: st.DrawFn) -> tuple[int, dict[str, int]]:
    """Sizes of strata, and how many are taken of them."""
    sizes = draw(SIZES)
    return draw(st.integers(0, sum(sizes.values()))), sizes


@given(allotments(), st.booleans())
def test_as_many_are_taken_as_are_wanted_and_no_more_than_there_are(
    case: tuple[int, dict[str, int]], equal: bool
) -> None:
    items, sizes = case
    taken = allot(items, sizes, equal)
    assert taken.keys() == sizes.keys()
    assert sum(taken.values()) == items
    assert all(0 <= taken[name] <= sizes[name] for name in sizes)


@given(allotments())
def test_a_share_in_proportion_is_the_quota_rounded_up_or_down(case: tuple[int, dict[str, int]]) -> None:
    items, sizes = case
    total = sum(sizes.values())
    for name, count in allot(items, sizes).items():
        assert floor(items * sizes[name] / total) <= count <= ceil(items * sizes[name] / total) if total else not count


@examples(50)
@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 5), min_size=1), st.data())
def test_no_other_whole_numbers_are_nearer_to_the_proportion(sizes: dict[str, int], data: st.DataObject) -> None:
    total = sum(sizes.values())
    items = data.draw(st.integers(0, total))

    def error(counts: Mapping[str, int]) -> int:
        return sum((counts[name] * total - items * sizes[name]) ** 2 for name in sizes)

    others = (dict(zip(sizes, c, strict=True)) for c in product(*(range(s + 1) for s in sizes.values())))
    assert error(allot(items, sizes)) == min(error(other) for other in others if sum(other.values()) == items)


@given(allotments())
def test_equal_shares_differ_by_one_at_most_but_for_strata_that_gave_all(case: tuple[int, dict[str, int]]) -> None:
    items, sizes = case
    taken = allot(items, sizes, equal=True)
    most = max(taken.values())
    assert all(taken[name] in (most, most - 1) or taken[name] == sizes[name] for name in sizes)


def test_worked_examples_of_shares() -> None:
    assert allot(10, {"a": 47, "b": 33, "c": 20}) == {"a": 5, "b": 3, "c": 2}  # 4.7, 3.3, 2.0
    assert allot(4, {"a": 9, "b": 9, "c": 9}, equal=True) == {"a": 2, "b": 1, "c": 1}
    assert allot(9, {"a": 1, "b": 20, "c": 20}, equal=True) == {"a": 1, "b": 4, "c": 4}


@st.composite
def drawings(draw: st.DrawFn) -> tuple[dict[str, Sample], Fates, Plan]:
    """Candidates, of which some are kept, and a plan."""
    shapes = draw(st.lists(st.tuples(st.sampled_from("pqr"), st.integers(0, 5)), min_size=1, max_size=25))
    known = {f"i{n}": sample(f"i{n}", kind, image) for n, (kind, image) in enumerate(shapes)}
    kept = frozenset(draw(st.sets(st.sampled_from(sorted(known)))))
    plan = Plan(
        items=draw(st.integers(1, 12)),
        seed=draw(st.integers(0, 99)),
        equal=draw(st.booleans()),
        per_image=draw(st.integers(0, 3)),
    )
    return known, Fates(kept, frozenset(known) - kept), plan


@given(drawings(), st.randoms())
def test_a_set_is_of_the_size_wanted_from_the_kept_and_as_the_table_says(
    case: tuple[dict[str, Sample], Fates, Plan], random: object
) -> None:
    known, fate, plan = case
    images = Counter(known[item].image.sha256 for item in fate.kept)
    free = sum(min(count, plan.per_image or count) for count in images.values())
    if free < plan.items:
        with pytest.raises(
            InputError, match=f"{free} of {len(known)} candidates can be taken, {plan.items} are wanted"
        ):
            select(known, fate, plan)
        return
    taken, strata = select(known, fate, plan)
    assert len(taken) == len(set(taken)) == plan.items
    assert set(taken) <= fate.kept
    assert max(Counter(known[item].image.sha256 for item in taken).values()) <= (plan.per_image or len(known))
    kinds = Counter(known[item].kind for item in taken)
    assert {s.name: s.taken for s in strata} == {s.name: kinds[s.name] for s in strata}
    assert {s.name: s.there for s in strata} == Counter(s.kind for s in known.values())
    assert sum(s.kept for s in strata) == len(fate.kept)
    assert sum(s.undecided for s in strata) == len(fate.undecided)
    assert {s.name: s.taken for s in strata} == allot(plan.items, {s.name: s.free for s in strata}, plan.equal)
    shuffled = list(known)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert select({item: known[item] for item in shuffled}, fate, plan) == (taken, strata)


MANY = {f"i{n}": sample(f"i{n}", "pq"[n % 2], n % 6, reference="yes" if n < 10 else "no") for n in range(60)}
ALL = Fates(frozenset(MANY), frozenset())


def test_another_seed_draws_another_set_and_another_order() -> None:
    first, again, other = (select(MANY, ALL, Plan(20, seed))[0] for seed in (1, 1, 2))
    assert first == again
    assert set(first) != set(other)
    whole = [select(MANY, ALL, Plan(60, seed))[0] for seed in (1, 2)]
    assert whole[0] != whole[1]


def test_a_part_of_the_set_from_its_start_is_a_mixture_of_the_strata() -> None:
    """A stratum that is drawn from many must not come first: a study may take the first items of a list alone."""
    uneven = {f"i{n}": sample(f"i{n}", "rare" if n < 20 else "common") for n in range(400)}
    plans = [Plan(40, seed, equal=True) for seed in range(8)]
    firsts = [select(uneven, Fates(frozenset(uneven), frozenset()), plan)[0][:20] for plan in plans]
    assert all(4 <= Counter(uneven[item].kind for item in first)["rare"] <= 16 for first in firsts)


def test_strata_by_another_field_or_none() -> None:
    by_answer = select(MANY, ALL, Plan(12, 1, by="reference", equal=True))[1]
    assert {s.name: s.taken for s in by_answer} == {"yes": 6, "no": 6}
    assert [(s.name, s.taken) for s in select(MANY, ALL, Plan(12, 1, by="none"))[1]] == [("", 12)]


def test_a_question_beside_many_about_its_image_is_not_favored_by_the_draw_that_follows() -> None:
    """Ten questions about one image compete for one place, then that one against one about another image."""
    crowd = {f"c{n}": sample(f"c{n}", image=0) for n in range(10)} | {"alone": sample("alone", image=1)}
    everyone = Fates(frozenset(crowd), frozenset())
    wins = sum(select(crowd, everyone, Plan(1, derive_seed(seed), per_image=1))[0] == ["alone"] for seed in range(400))
    assert 160 <= wins <= 240, "half of 400, four standard deviations to either side"
