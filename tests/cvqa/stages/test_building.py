"""From questions with known answers to a verified set: what enters it, and what does not."""

from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.records import ImageRef, Status
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.interfaces import BuildRequest, Wanted
from cfeval.cvqa.records import Decision, Draft, Fate, Question, Review
from cfeval.cvqa.stages.builds import Assembly, assembled
from cfeval.cvqa.stages.drafts import Skipped, drafts, in_coco, reviews, source
from cfeval.datasets.sample import Sample, ScorerName
from cfeval_testbed.plugins.question_generators_grammar import Grammar, Plugin
from cfeval_testbed.render import render
from tests.slow import first_fast
from tests.testbed.recount import recount
from tests.testbed.scenes import recorded

SEED, N = 11, 160
IMAGE = ImageRef(path="a.png", sha256="0" * 64)


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """Questions about drawn scenes, as a dataset gives them."""
    raws = registry.build("datasets", {"plugin": "world", "kinds": ["count", "presence"]}).samples(N, 2)
    return [
        Sample(id=raw.id, image=IMAGE, question=raw.question, reference=raw.reference, metadata=raw.metadata)
        for raw in raws
    ]


def image_of(draft: Draft) -> Image:
    return Image.from_pixels(render(recorded(draft.metadata)))


def sample(question: str, reference: str, scorer: ScorerName = "vqa", item: str = "42000") -> Sample:
    return Sample(id=item, image=IMAGE, question=question, reference=reference, scorer=scorer)


def fault(question_generator: Grammar, draft: Draft) -> str:
    """What was made wrong on purpose."""
    original, kind = draft.original, "direct" if draft.original.answer.isdecimal() else "boolean"
    wanted: Wanted = "direct" if kind == "direct" else "boolean"
    seed = derive_seed(SEED, draft.id, "draft")
    return question_generator.fault(BuildRequest(draft.id, original.question, original.answer, wanted, seed))


@pytest.mark.parametrize("err", first_fast([0.0, 0.3, 1.0], 1))
def test_every_wrong_draft_is_caught_and_no_right_one_is_dropped(err: float, samples: list[Sample]) -> None:
    question_generator = Grammar(Plugin(err=err))
    skipped = Skipped()
    written = list(drafts(samples, question_generator, SEED, skipped))
    said = reviews(written, image_of, registry.build("question_validators", {"plugin": "scene"}), SEED)
    results = list(assembled(written, {review.id: review for review in said}, {}, people=False))
    wrong = [fault(question_generator, draft) for draft in written]
    assert len(written) == N
    assert skipped.lines() == ()
    assert sum(map(bool, wrong)) / N == pytest.approx(err, abs=0.08)
    for draft, result, spoilt in zip(written, results, wrong, strict=True):
        assert (result.pair is None) == bool(spoilt), (draft.question, draft.answer, result.build)
        if draft.type == "direct":
            assert (str(draft.arithmetic) != draft.answer) == (spoilt == "sum")
        if result.pair is not None:
            new = result.pair.counterfactual
            assert recount(new.question, recorded(draft.metadata)) == new.answer
            assert result.build.by == "model"
    fates = Counter(result.build.fate for result, spoilt in zip(results, wrong, strict=True) if spoilt)
    assert set(fates) == ({"wrong sum", "inconsistent", "not related", "not reasonable"} if err else set())


def test_without_the_second_model_nothing_enters(samples: list[Sample]) -> None:
    written = list(drafts(samples, Grammar(Plugin()), SEED, Skipped()))
    results = assembled(written, {}, {}, people=False)
    assert {result.build.fate for result in results} == {"not reviewed"}


def test_drafts_are_the_same_for_the_same_seed(samples: list[Sample]) -> None:
    def made(seed: int) -> list[Draft]:
        return list(drafts(samples[:20], Grammar(Plugin(err=0.3)), seed, Skipped()))

    assert made(1) == made(1) != made(2)


def test_a_draft_holds_the_number_that_its_sum_gives(samples: list[Sample]) -> None:
    for draft in drafts(samples[:20], Grammar(Plugin()), SEED, Skipped()):
        assert draft.arithmetic == (int(draft.answer) if draft.type == "direct" else None)
        assert (draft.img_path, draft.coco) == (f"{draft.id}.png", None)


@pytest.mark.parametrize(
    ("question", "reference", "kind", "answer"),
    [
        ("How many birds are there?", "3", "direct", "3"),
        ("How many birds are there?", "two", "direct", "2"),
        ("How many birds are there?", "007", "direct", "7"),
        ("Is it dark?", "Yes", "boolean", "yes"),
        ("Is it dark?", "no.", "boolean", "no"),
        ("What is it?", "a bird", None, ""),
        ("How many birds are there?", "lots", None, ""),
        ("How many birds are there?", "3.5", None, ""),
        ("How many birds are there?", "\u0663", None, ""),
        ("How many birds are there?", "", None, ""),
    ],
)
def test_the_group_follows_from_the_answer(question: str, reference: str, kind: str | None, answer: str) -> None:
    found = source(sample(question, reference))
    assert found == (None if kind is None else (Question(question=question, answer=answer), kind))


def test_samples_that_no_question_can_be_built_from_are_counted() -> None:
    some = [
        sample("What is it?", "a bird"),
        sample("What year is it?", "1990"),
        sample("Who?", ""),
        sample("How many?  ", "2"),
    ]
    skipped = Skipped()
    question_generator = registry.build("question_generators", {"plugin": "mock", "question": "What if?"})
    assert not list(drafts(some[:3], question_generator, 1, skipped))
    assert (skipped.other_answer, skipped.no_reference) == (2, 1)
    assert [line[:1] for line in skipped.lines()] == ["1", "2"]


@pytest.mark.parametrize(
    ("scorer", "item", "name", "number"),
    [
        ("vqa", "42003", "COCO_val2014_000000000042.jpg", 42),
        ("okvqa", "425", "COCO_val2014_000000000042.jpg", 42),
        ("contains", "42003", "42003.png", None),
        ("vqa", "mine", "mine.png", None),
    ],
)
def test_an_image_has_its_name_in_coco(scorer: ScorerName, item: str, name: str, number: int | None) -> None:
    assert in_coco("val2014")(sample("Who?", "", scorer, item)) == (name, number)


@pytest.mark.parametrize("said", [{"new_answer": "maybe"}, {"new_answer": "3 or 4"}, {"question": " "}])
def test_what_a_question_generator_may_not_say_is_no_draft(said: dict[str, str]) -> None:
    question_generator = registry.build("question_generators", {"plugin": "mock", **said})
    [draft] = drafts([sample("How many birds?", "3")], question_generator, 1, Skipped())
    assert (draft.status, draft.stage, draft.question) == (Status.UNPARSABLE, "drafts", "")


def test_a_failed_draft_is_not_reviewed_and_a_failed_review_is_no_verdict() -> None:
    made = [draft(id="a", status=Status.REFUSED, stage="drafts", reason="no"), draft(id="b"), draft(id="c")]
    question_validator = registry.build(
        "question_validators", {"plugin": "mock", "statuses": {"b": "truncated"}, "reasonable": 0}
    )
    found = list(reviews(made, lambda _: Image.from_pixels(render(SCENE)), question_validator, 1))
    assert [(one.status, one.stage) for one in found] == [
        (Status.REFUSED, "drafts"),
        (Status.TRUNCATED, "reviews"),
        (Status.OK, ""),
    ]
    assert (found[2].related, found[2].reasonable) == (1, 0)


SCENE = recorded(next(iter(registry.build("question_sets", {"plugin": "world"}).pairs(1, 1))).metadata)


def draft(**fields: object) -> Draft:
    """A right direct draft, with other fields."""
    plain: dict[str, object] = {
        "id": "a",
        "image": IMAGE,
        "original": Question(question="How many birds are there?", answer="3"),
        "type": "direct",
        "img_path": "a.png",
        "step1": "Add 2 birds.",
        "step2": "3 + 2 = 5",
        "question": "How many birds would there be if 2 came?",
        "answer": "5",
    }
    return Draft.model_validate(plain | fields)


def boolean(**fields: object) -> Draft:
    plain: dict[str, object] = {
        "original": Question(question="Is it dark?", answer="yes"),
        "type": "boolean",
        "step1": "The new answer should be no, so it is light.",
        "step2": "Turn on the lamp.",
        "question": "Would it be dark if the lamp were on?",
        "answer": "no",
    }
    return draft(**(plain | fields))


FINE = Review(id="a", related=1, reasonable=1)
ODD = Review(id="a", related=0, reasonable=1, reason_given="no birds")
BAD = Review(id="a", related=1, reasonable=0, reason_given="two birds")
CUT = Review(id="a", status=Status.TRUNCATED, stage="reviews", reason="too long")
YES, NO = Decision(id="a", accept="yes"), Decision(id="a", accept="no", comment="blurred")
OPEN = Decision(id="a")
FIXED = Decision(id="a", accept="yes", answer="5")
WRONG_SUM = draft(step2="3 + 2 = 6", answer="6")

CASES: list[tuple[Draft, Review | None, Decision | None, bool, Fate]] = [
    (draft(), FINE, None, False, "accepted"),
    (boolean(), FINE, None, False, "accepted"),
    (draft(step2="Five are there then."), FINE, None, False, "no sum"),
    (draft(step2="1 zebra left and 2 came, so 3"), FINE, None, False, "no sum"),
    (draft(step2="Five are there then."), FINE, YES, False, "accepted"),
    (draft(status=Status.UNPARSABLE, stage="drafts", reason="x"), FINE, YES, False, "not written"),
    (draft(), None, None, False, "not reviewed"),
    (draft(), CUT, None, False, "not reviewed"),
    (draft(), ODD, None, False, "not related"),
    (draft(), BAD, None, False, "not reasonable"),
    (WRONG_SUM, FINE, None, False, "wrong sum"),
    (draft(answer="1"), FINE, None, False, "wrong sum"),
    (draft(step2="2 + 3 = 5"), FINE, None, False, "wrong sum"),
    (draft(question="How many birds would there be if 4 came?"), FINE, None, False, "inconsistent"),
    (boolean(answer="yes"), FINE, None, False, "inconsistent"),
    (draft(), FINE, OPEN, False, "accepted"),
    (draft(), FINE, NO, False, "rejected"),
    (draft(), BAD, YES, False, "accepted"),
    (draft(), FINE, None, True, "undecided"),
    (draft(), FINE, OPEN, True, "undecided"),
    (draft(), BAD, None, True, "not reasonable"),
    (draft(), FINE, NO, True, "rejected"),
    (draft(), FINE, YES, True, "accepted"),
    (draft(), None, YES, True, "accepted"),
    (draft(), ODD, YES, True, "accepted"),
    (WRONG_SUM, FINE, YES, True, "wrong sum"),
    (WRONG_SUM, BAD, FIXED, True, "accepted"),
    (boolean(answer="yes"), BAD, YES, True, "accepted"),
]


@pytest.mark.parametrize(("made", "review", "decision", "people", "fate"), CASES)
def test_nothing_enters_unverified(
    made: Draft, review: Review | None, decision: Decision | None, people: bool, fate: Fate
) -> None:
    said: Mapping[str, Review] = {"a": review} if review else {}
    [found] = assembled([made], said, {"a": decision} if decision else {}, people)
    assert found.build.fate == fate
    assert (found.pair is not None) == (fate == "accepted")
    assert (found.build.by == "") == (fate != "accepted")


def test_what_a_person_corrects_replaces_what_the_draft_says() -> None:
    decision = Decision(id="a", accept="yes", question="How many birds if 2 more came?", answer="5")
    [found] = assembled([WRONG_SUM], {"a": BAD}, {"a": decision}, people=True)
    assert found.pair is not None
    assert found.pair.counterfactual == Question(question="How many birds if 2 more came?", answer="5")
    assert found.pair.original == WRONG_SUM.original
    assert (found.build.by, found.build.corrected) == ("person", 1)


def test_the_reason_is_told_why_a_draft_is_left_out() -> None:
    def reasons() -> Iterator[Assembly]:
        yield from assembled([WRONG_SUM, draft(id="b")], {"b": BAD.model_copy(update={"id": "b"})}, {}, False)

    assert [found.build.reason for found in reasons()] == ["3+2 is 5, not 6", "two birds"]
