"""The stages of the edct study on scripted models: failures travel as statuses and are never a score."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import (
    EditReply,
    EditRequest,
)
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import (
    Baseline,
    Check,
    Counterfactual,
    EditAttempt,
    Instruction,
    Requery,
    Score,
    Verdict,
    Verification,
)
from cfeval.edct.stages.baselines import baselines
from cfeval.edct.stages.checks import checks
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.edct.stages.instructions import instructions
from cfeval.edct.stages.scores import scores
from cfeval.edct.tables.conditions import BENCH, TABLE1
from cfeval.edct.tables.scores import material
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.stats.intervals import Interval
from tests.answers import answers
from tests.edct.stages.in_memory import (
    CONDITION,
    FAILURES,
    IMAGES,
    ITEMS,
    PROMPTS,
    UNWRITTEN,
    Looking,
    samples,
    scripted,
    study,
)
from tests.images import image
from tests.slow import each_once_fast

ASKING = ("baselines", "instructions", "counterfactuals", "requeries", "verdicts")
"""The stages that ask a model."""


def test_a_sound_run_scores_every_item_in_order() -> None:
    rows, stages = study()
    assert [row.id for row in rows] == ITEMS
    assert all(row.status == Status.OK and row.ccs == (row.pcs or 0) * (row.ncc or 0) for row in rows)
    assert all(row.correct == 1 for row in rows)
    assert all(check.changed_share > 0 for check in stages["checks"])


@pytest.mark.parametrize(("protocol", "stage", "status"), each_once_fast(product(RULES, ASKING), FAILURES))
def test_a_failure_at_any_stage_ends_as_its_status_and_never_as_a_score(
    protocol: str, stage: str, status: Status
) -> None:
    rows, stages = study(protocol, **{stage: {"statuses": {"i2": status}}})
    asked = not (protocol in UNWRITTEN and stage in ("instructions", "counterfactuals"))
    asked = asked and (protocol, stage) != ("editor-null", "instructions")
    if (stage, status) == ("counterfactuals", Status.CITATION_ABSENT) and RULES[protocol].edits != "cited":
        status = Status.EDIT_INVALID  # the model did not cite what is not there
    failed = [row for row in rows if row.id == "i2"]
    scored = {**dict.fromkeys(Score.model_fields, None), **failed[0].model_dump()}
    figures = ("pcs", "ncc", "ac", "ef", "ccs", "ccs_graded", "answer_moved", "explanation_moved")
    if asked:
        uncited = (protocol, stage, status) == ("uncited-edit", "counterfactuals", Status.CITATION_ABSENT)
        ended = Status.EDIT_INVALID if uncited else status  # nothing was cited there that could be absent
        assert {(row.status, row.stage) for row in failed} == {(ended, stage)}
        assert failed[0].reason == "mock"
        assert all(scored[name] is None for name in figures)
    else:
        assert {row.status for row in failed} == {Status.OK}, "neither writer nor editor is asked"
    assert all(row.status == Status.OK for row in rows if row.id != "i2")
    assert len(stages["verdicts"]) == len(rows)


def test_no_work_is_done_for_an_item_that_ended_before() -> None:
    poison = {"statuses": {"i2": Status.REFUSED}}
    crash = {"crash_on": ("i2",)}
    later = ("instructions", "counterfactuals", "requeries", "verdicts")
    rows, _ = study(baselines=poison, **dict.fromkeys(later, crash))
    assert rows[2].status == Status.REFUSED


@pytest.mark.parametrize(
    ("scorer", "answers", "said", "correct"),
    [
        ("contains", (), "The answer.", 1.0),
        ("contains", (), "red", 0.0),
        ("vqa", ("red",) * 2 + ("blue",) * 8, "Red.", 0.6),
        ("vqa", ("red",) * 2 + ("blue",) * 8, "It is red.", 0.0),
        ("vqa", (), "red", None),
        ("okvqa", ("dog",) * 1 + ("cat",) * 9, "dogs", 0.3),
        ("okvqa", ("dog",) * 10, "Two dogs", 0.0),
    ],
)
def test_the_data_set_says_by_which_rule_an_answer_is_right(
    scorer: Any, answers: tuple[str, ...], said: str, correct: float | None
) -> None:
    sample = samples()["i0"].model_copy(update={"scorer": scorer, "answers": answers})
    verdict = Verdict(id="i0", scores={"pcs": 1, "ncc": 1})
    said_before = {"i0": Baseline(id="i0", question="?", answer=said)}
    told = {("i0", 1): Instruction(id="i0")}
    [row] = scores([verdict], {"i0": sample}, said_before, told, {("i0", 1): Check(id="i0")}, CONDITION)
    assert row.correct == correct


def test_an_unfinished_baseline_keeps_its_answer_and_has_no_accuracy_when_it_has_none() -> None:
    rows, stages = study(baselines={"statuses": {"i0": Status.TRUNCATED}})
    assert stages["baselines"][0].explanation == ""
    assert rows[0].correct is None


@pytest.mark.parametrize("reply", ["", "  \n"])
def test_an_empty_reply_is_not_an_answer(reply: str) -> None:
    rows, _ = study(baselines={"replies": (reply,)})
    assert {(row.status, row.stage, row.reason) for row in rows} == {(Status.UNPARSABLE, "baselines", "empty answer")}


def test_an_image_that_did_not_change_is_no_counterfactual() -> None:
    rows, _ = study(counterfactuals={"strength": 0.0})
    assert {(row.status, row.reason) for row in rows} == {(Status.EDIT_INVALID, "the image did not change")}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["edct-2025", "uncited-edit"])
@pytest.mark.parametrize("quality", [95, 75])
def test_an_image_that_was_only_stored_anew_is_no_counterfactual(protocol: str, quality: int) -> None:
    class Idle:
        needs_metadata = False

        async def edit(self, request: EditRequest) -> EditReply:
            return EditReply(request.image.reencoded(quality))

    pixels = np.random.default_rng(1).normal(128, 12, (256, 256, 3)).clip(0, 255).astype(np.uint8)
    photograph = Image.from_pixels(pixels)
    given = samples()
    asked = list(baselines(given.values(), lambda _: photograph, scripted("chat"), PROMPTS, 1))
    written = instructions(asked, given, lambda _: photograph, scripted("instruction_writers"), protocol, 1, 1)
    made = [record for record, _ in counterfactuals(written, given, lambda _: photograph, Idle(), protocol, 1)]
    assert photograph.reencoded(quality) != photograph
    assert {(one.status, one.reason) for one in made} == {(Status.EDIT_INVALID, "the image did not change")}


def test_an_editor_is_told_which_edit_of_the_item_it_makes() -> None:
    class Noting:
        needs_metadata = False
        edits: list[tuple[str, int]] = []

        async def edit(self, request: EditRequest) -> EditReply:
            self.edits.append((request.item, request.edit))
            return EditReply(image(200))

    editor = Noting()
    wanted = [Instruction(id="i1", edit=number, concept="c", positive="p") for number in (1, 2)]
    list(counterfactuals(wanted, samples(), lambda sample: IMAGES[sample.id], editor, "edct-2025", 1))
    assert sorted(editor.edits) == [("i1", 1), ("i1", 2)]


def test_a_product_that_the_judge_states_wrongly_is_recorded_and_not_used() -> None:
    rows, _ = study(verdicts={"threshold": 1.0, "stated_ccs": 0})
    assert {(row.ccs, row.mismatch) for row in rows} == {(1, 1)}


def test_the_second_turn_carries_the_first() -> None:
    seen, model = [], scripted("chat")

    class Listening:
        async def generate(self, request: ChatRequest) -> ChatReply:
            seen.append(request)
            reply: ChatReply = await model.generate(request)
            return reply

    list(baselines(samples().values(), lambda s: IMAGES[s.id], Listening(), PROMPTS, 1))
    first, second = seen[:2]
    assert [turn.role for turn in second.turns] == ["user", "assistant", "user"]
    assert second.turns[0] == first.turns[0]
    assert second.turns[0].image == IMAGES["i0"]
    assert second.turns[1].text.startswith("answer")
    assert first.seed != second.seed


def test_the_records_do_not_depend_on_the_other_items() -> None:
    alone = list(baselines([samples()["i3"]], lambda s: IMAGES[s.id], scripted("chat"), PROMPTS, 1))
    _, stages = study()
    assert alone == [stages["baselines"][3]]


def test_seeds_differ_by_purpose_and_stay_the_same() -> None:
    assert derive_seed(1, "a", 1) == derive_seed(1, "a", 1)
    assert (
        len(
            {
                derive_seed(1, "a"),
                derive_seed(2, "a"),
                derive_seed(1, "b"),
                derive_seed(1, "a", 1),
                derive_seed(1, "a1"),
            }
        )
        == 5
    )


def test_every_record_of_a_stage_has_the_item_and_edit_it_came_from() -> None:
    _, stages = study(baselines={"statuses": {"i1": Status.REFUSED}})
    for records in stages.values():
        assert [record.id for record in records] == ITEMS
    kinds = {"baselines": Baseline, "checks": Check, "requeries": Requery, "verdicts": Verdict}
    assert all(isinstance(stages[name][0], kind) for name, kind in kinds.items())


def test_what_a_model_thinks_aloud_is_no_part_of_its_answer() -> None:
    model = scripted("chat", replies=["<think>red? no: blue.\n</think>\n\nblue <think> sky"])
    request = ChatRequest("i", (ChatMessage("user", "which?"),), 1)
    assert answers(model.generate, [request])[0].text == "blue <think> sky"


def test_thoughts_without_an_opening_tag_are_none_either() -> None:
    model = scripted("chat", replies=["red? no: blue.\n</think>\n\nblue"])
    assert answers(model.generate, [ChatRequest("i", (ChatMessage("user", "which?"),), 1)])[0].text == "blue"


def poison(stage: str, status: Status) -> dict[str, dict[str, Any]]:
    """Options of scripted plugins of which one fails at an item; the judge is as it was."""
    judge = {"verdicts": {"threshold": 0.6}}
    return judge | {stage: judge.get(stage, {}) | {"statuses": {"i2": status}}}


def figures(row: Any) -> dict[str, Any]:
    """The columns of a table's row that items without a score must leave alone."""
    counted = ("n", "n_scored", "n_edits", "n_edits_scored", "missing", "accuracy")
    bounds = ("_min", "_max")
    return {name: value for name, value in row.model_dump().items() if name not in counted and name[-4:] not in bounds}


@pytest.mark.parametrize(
    ("protocol", "stage", "status"),
    each_once_fast(
        product(["edct-2025", "edct-bench-2026"], ASKING),
        [status for status in FAILURES if status != Status.CITATION_ABSENT],
    ),
)
def test_a_poisoned_stage_leaves_the_tables_figures_as_they_are_without_the_item(
    protocol: str, stage: str, status: Status
) -> None:
    table: Any = BENCH if protocol == "edct-bench-2026" else TABLE1
    condition = CONDITION.model_copy(update={"protocol": protocol})
    whole, _ = study(protocol, verdicts={"threshold": 0.6})
    poisoned, _ = study(protocol, **poison(stage, status))
    how = Interval(resamples=100)
    (without,) = table.rows([condition], material({condition: [row for row in whole if row.id != "i2"]}, how=how))
    (found,) = table.rows([condition], material({condition: poisoned}, how=how))
    assert figures(found) == figures(without)
    assert (found.n, found.n_scored, without.n) == (len(ITEMS), len(ITEMS) - 1, len(ITEMS) - 1)
    assert found.missing == f"{status.value} {sum(row.id == 'i2' for row in poisoned)}"
    ones = (without.ccs or 0) * without.n
    assert (found.ccs_min, found.ccs_max) == pytest.approx((ones / len(ITEMS), (ones + 1) / len(ITEMS)), abs=2e-4)


@pytest.mark.parametrize("protocol", ["edct-2025", "edct-bench-2026"])
def test_what_is_cited_and_absent_lowers_the_strict_ccs_alone(protocol: str) -> None:
    table: Any = BENCH if protocol == "edct-bench-2026" else TABLE1
    condition = CONDITION.model_copy(update={"protocol": protocol})
    options: dict[str, Any] = {"counterfactuals": {"statuses": {"i2": Status.CITATION_ABSENT}}}
    options |= {"verdicts": {"threshold": 1.0}}
    rows, _ = study(protocol, verifier=Looking(), **options)
    assert {(row.present, row.stage) for row in rows if row.id == "i2"} == {(0, "counterfactuals")}
    assert {row.present for row in rows if row.id != "i2"} == {1}, "the verifier saw it"
    (row,) = table.rows([condition], material({condition: rows}, how=Interval(resamples=100)))
    assert (row.ccs, row.n_scored, row.n) == (1, len(ITEMS) - 1, len(ITEMS))
    share = pytest.approx(1 - 1 / len(ITEMS), abs=1e-4)
    assert row.strict_ccs == row.citation_rate == row.strict_ccs_min == row.citation_rate_max == share
    unseen, _ = study(protocol, **options)
    (row,) = table.rows([condition], material({condition: unseen}, how=Interval(resamples=100)))
    assert (row.ccs, row.strict_ccs, row.citation_rate) == (1, None, None), "of those that were edited nobody looked"
    assert (row.strict_ccs_min, row.strict_ccs_max) == (row.citation_rate_min, row.citation_rate_max) == (0, share)


def test_an_edit_that_was_made_does_not_show_that_what_is_cited_was_there() -> None:
    """An editor may paint what was not there; its gate, a verifier, or the writer of uncited edits must have looked."""
    sample, verdict = samples()["i0"], Verdict(id="i0", scores={"pcs": 1, "ncc": 1})
    said_before = {"i0": Baseline(id="i0", question="?", answer="a", explanation="e")}

    def present(check: dict[str, Any], told: dict[str, Any], protocol: str = "edct-2025") -> int | None:
        written = {("i0", 1): Instruction(id="i0", positive="Change it.", **told)}
        names = {"edct-2025": ("pcs", "ncc"), "uncited-edit": ("answer_moved", "explanation_moved")}[protocol]
        scored = verdict.model_copy(update={"scores": dict.fromkeys(names, 1), "answer_moved": 1})
        condition = CONDITION.model_copy(update={"protocol": protocol})
        checked = {("i0", 1): Check(id="i0", **check)}
        [row] = scores([scored], {"i0": sample}, said_before, written, checked, condition)
        return row.present

    assert present({}, {}) is None
    assert present({"found": {"verified": 1}}, {}) is None, "a verifier that does not say"
    assert present({"found": {"verified": 1, "absent": 0}}, {}) == 1
    assert present({"gate_absent": 0}, {}) == 1
    assert present({"found": {"verified": 1, "absent": 1}, "gate_absent": 0}, {}) == 0
    assert present({}, {"cited": ["a cup"]}, "uncited-edit") == 1
    assert present({"found": {"absent": 0}}, {}, "uncited-edit") is None, "what is not cited was seen"
    assert present({}, {"cited": ["a cup"], "absent": ["a cup"]}, "uncited-edit") == 0


def test_a_check_carries_what_the_gate_saw_of_the_image_that_it_let_through() -> None:
    image = IMAGES["i0"].ref("x.png")
    tries = [EditAttempt(seed=1, image=image, found=Verification(verified=0, absent=None))]
    tries += [EditAttempt(seed=2, image=image, found=Verification(verified=1, absent=0))]
    for attempts, expected in ((tries, 0), (tries[:1], None), ((), None)):
        made = Counterfactual(id="i0", image=image, seed=1, attempts=tuple(attempts))
        told = {("i0", 1): Instruction(id="i0", positive="Change it.")}
        shown = lambda record: IMAGES["i0"]  # noqa: E731
        [(found, _)] = checks([made], samples(), told, shown, shown, None, "edct-2025", 1)
        assert found.gate_absent == expected
