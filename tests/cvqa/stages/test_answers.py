"""Answering a set: both questions of every pair, orders of options, seeds, failures, little memory."""

import gc
import re
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.records import ImageRef, Status
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import View
from cfeval.cvqa.records import LETTERS, Answer, QuestionPair, read_choices
from cfeval.cvqa.stages import answers as study
from cfeval.cvqa.stages.answers import answers, asked_in_all
from cfeval.cvqa.stages.scores import scores
from tests.cvqa.pairs import Remembering, image_of, open_image, pair
from tests.images import image


def asked(*pairs: QuestionPair, who: Remembering | None = None, orders: int = 1, seed: int = 1) -> list[Answer]:
    return list(answers(pairs, open_image, who or Remembering(), orders, seed))


def test_both_questions_are_asked_in_order_each_with_the_pairs_image() -> None:
    who = Remembering()
    said = asked(pair(1), pair(2, "boolean"), who=who)
    assert [(s.id, s.side, s.text) for s in said] == [
        ("p1", "original", "What of 1?"),
        ("p1", "counterfactual", "What of 1 if?"),
        ("p2", "original", "What of 2?"),
        ("p2", "counterfactual", "What of 2 if?"),
    ]
    assert [(r.item, r.type, r.image) for r in who.requests[1:3]] == [
        ("p1", "direct", image_of(pair(1))),
        ("p2", "boolean", image_of(pair(2))),
    ]
    assert [(s.asked, s.model, s.option_order, s.status) for s in said[:1]] == [
        ("asked: What of 1?", "me", "", Status.OK)
    ]


def test_in_four_orders_every_value_stands_once_at_every_letter() -> None:
    who = Remembering()
    said = asked(pair(1, "abs_counting_1"), who=who, orders=4)
    assert [s.option_order for s in said] == ["", "BCDA", "CDAB", "DABC"] * 2
    for side in ("original", "counterfactual"):
        shown = [choices.values for r in who.requests if r.side == side and (choices := read_choices(r.question))]
        assert len(shown) == 4
        for place in range(4):
            assert {values[place] for values in shown} == {"16", "17", "12", "13"}
    stems = {re.sub(r" Select.*", "", r.question) for r in who.requests}
    assert stems == {"What of 1?", "What of 1 if?"}


def test_who_always_says_the_same_letter_is_right_once_in_four_orders() -> None:
    puzzle = pair(1, "abs_counting_1")
    said = asked(puzzle, who=Remembering(lambda request: AnswerReply(request.question, "A")), orders=4)
    found = list(scores({puzzle.id: puzzle}, said))
    for side in ("original", "counterfactual"):
        of_side = [score for score in found if score.side == side]
        assert [score.read["robust"] for score in of_side] == ["A", "B", "C", "D"]
        assert sum(score.correct["robust"] for score in of_side) == 1


@pytest.mark.parametrize(("orders", "of_options"), [(1, 2), (2, 4), (3, 6), (4, 8)])
def test_questions_are_counted_before_they_are_asked_and_only_options_are_turned(orders: int, of_options: int) -> None:
    for one, count in ((pair(1), 2), (pair(2, "abs_counting_2"), of_options)):
        assert asked_in_all([one], orders) == len(asked(one, orders=orders)) == count


def seeds(*pairs: QuestionPair, seed: int = 1) -> dict[tuple[str, str, str], int]:
    who = Remembering()
    said = asked(*pairs, who=who, orders=2, seed=seed)
    return {(s.id, s.side, s.option_order): r.seed for s, r in zip(said, who.requests, strict=True)}


def test_a_question_has_the_same_seed_in_whatever_batch_or_shard_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [pair(n, "abs_counting_1" if n % 2 else "direct") for n in range(1, 8)]
    whole = seeds(*pairs)
    assert len(set(whole.values())) == len(whole)
    assert seeds(*pairs[4:], *pairs[:4]) == whole
    assert seeds(*pairs[2:5]).items() <= whole.items()
    assert not set(seeds(*pairs, seed=2).values()) & set(whole.values())
    monkeypatch.setattr(study, "BATCH", 2)
    assert seeds(*pairs) == whole


def test_chance_says_the_same_whatever_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, chance = (
        [pair(n, "abs_counting_1") for n in range(1, 30)],
        registry.build("solvers", {"plugin": "random"}),
    )
    whole = list(answers(pairs, open_image, chance, 4, 3))
    monkeypatch.setattr(study, "BATCH", 5)
    assert list(answers(pairs, open_image, chance, 4, 3)) == whole
    assert set(Counter(said.text for said in whole)) == set(LETTERS)


def test_a_failed_call_is_a_status_at_this_stage_and_the_others_are_answered() -> None:
    def say(request: AnswerRequest) -> AnswerReply:
        if request.side == "original":
            return AnswerReply(request.question, "", "m", Status.REFUSED, "will\nnot  say", ("c1",))
        return AnswerReply(request.question, "3", "m", calls=("c2",))

    broken, fine = asked(pair(1), who=Remembering(say))
    assert (broken.status, broken.stage, broken.reason, broken.text) == (Status.REFUSED, "answers", "will not say", "")
    assert (broken.calls, fine.calls, fine.status, fine.stage) == (("c1",), ("c2",), Status.OK, "")
    assert [score.correct for score in scores({"p1": pair(1)}, [broken, fine])] == [{}, {"reference": 1, "robust": 1}]


def test_a_program_is_recorded_with_its_trace_and_its_fall_back_is_counted() -> None:
    vision = registry.build("vision_tools", {"plugin": "mock", "answer": "3"})
    run = run_program("vipergpt", "nonsense", View(image(), (0, 0, 6, 8)), vision, question="How many?")
    said = asked(pair(1), who=Remembering(lambda request: AnswerReply(request.question, run.result, program=run)))
    assert said[0].program == run
    assert Answer.model_validate_json(said[0].model_dump_json()) == said[0]
    first = next(scores({"p1": pair(1)}, said))
    assert (first.fallback, first.fault, first.correct["robust"]) == (True, run.fault, 1)


@pytest.mark.slow
def test_images_are_held_for_a_batch_and_no_longer() -> None:
    held: list[weakref.ref[Image]] = []
    most = looked = 0

    def opened(ref: ImageRef) -> Image:
        fresh = image(int(Path(ref.path).stem[1:]) % 256)
        held.append(weakref.ref(fresh))
        return fresh

    def endless() -> Iterator[QuestionPair]:
        number = 0
        while True:
            yield pair(number := number + 1)

    class Forgetful(Remembering):
        async def answer(self, request: AnswerRequest) -> AnswerReply:
            del request
            return AnswerReply("?", "3")

    stream = answers(endless(), opened, Forgetful(), 1, 1)
    for _ in range(10 * 2 * study.BATCH):
        next(stream)
        if len(held) > looked:  # once a batch: collecting takes long where many modules are loaded
            looked = len(held)
            gc.collect()
            most = max(most, sum(ref() is not None for ref in held))
    assert len(held) <= 10 * study.BATCH, "no image is opened before its batch is due"
    assert most <= 2 * study.BATCH
