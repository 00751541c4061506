"""The stages of the edct study on scripted models: failures travel as statuses and are never a score."""

from typing import Any

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.images import Picture
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.datasets.sample import Sample
from cfeval.edct.interfaces import (
    EditAttempt,
    EditReply,
    EditRequest,
    Judge,
    JudgeReply,
    JudgeRequest,
    VerifyReply,
    VerifyRequest,
    WriteReply,
    WriteRequest,
)
from cfeval.edct.metrics import ccs_graded
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Baseline, Check, Condition, Counterfactual, Instruction, Requery, Score, Verdict
from cfeval.edct.stages.baselines import Prompts, baselines
from cfeval.edct.stages.checks import checks
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.edct.stages.edits import base_of
from cfeval.edct.stages.instructions import instructions
from cfeval.edct.stages.requeries import requeries
from cfeval.edct.stages.scores import scores
from cfeval.edct.stages.verdicts import verdicts
from cfeval.edct.tables import conditions
from cfeval.edct.tables.scores import material
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.stats.intervals import Interval
from tests.answers import answers
from tests.pictures import picture

ITEMS = [f"i{number}" for number in range(6)]
PICTURES = {item: picture(number) for number, item in enumerate(ITEMS)}
PROMPTS = Prompts("{question}", "why?")
CONDITION = Condition(dataset="d", vlm="m", writer="w", protocol="edct-2025", editor="e", judge="j")
FAILURES = [status for status in Status if status != Status.OK]


def samples() -> dict[str, Sample]:
    return {
        item: Sample(id=item, image=PICTURES[item].ref("x.png"), question=f"what is {item}?", reference="answer")
        for item in ITEMS
    }


def scripted(family: str, **options: Any) -> Any:
    return registry.build(family, {"plugin": "mock", **options})


def study(
    protocol: str = "edct-2025", edits: int = 2, **options: dict[str, Any]
) -> tuple[list[Score], dict[str, list[Any]]]:
    """Run every stage in memory; `options` go to the scripted plugin of the stage they name."""
    all_samples = samples()

    def original(sample: Sample) -> Picture:
        return PICTURES[sample.id]

    model = scripted("chat", **options.get("baselines", {}))
    asked = list(baselines(all_samples.values(), original, model, PROMPTS, 1))
    writer = scripted("instruction_writers", **options.get("instructions", {}))
    written = list(instructions(asked, all_samples, original, writer, protocol, 1, edits))
    editor = scripted("editors", **options.get("counterfactuals", {}))
    made = list(counterfactuals(written, all_samples, original, editor, protocol, 1))
    pictures = {(c.id, c.edit): shown[c.image.path] for c, shown in made if c.image}
    edits_made = [c for c, _ in made]
    by_edit = {(i.id, i.edit): i for i in written}

    def edited(record: Counterfactual) -> Picture:
        return pictures[record.id, record.edit]

    before_edit = base_of({(c.id, c.edit): c for c in edits_made}, all_samples, original, edited, protocol)
    checked = [c for c, _ in checks(edits_made, all_samples, by_edit, before_edit, edited, None, protocol, 1)]
    again = list(
        requeries(edits_made, all_samples, edited, scripted("chat", **options.get("requeries", {})), PROMPTS, 1)
    )
    before = {b.id: b for b in asked}
    judge = scripted("judges", **options.get("verdicts", {}))
    judged = list(verdicts(again, before, by_edit, lambda *key: pictures[key], judge, protocol, 1))
    condition = CONDITION.model_copy(update={"protocol": protocol})
    rows = list(scores(judged, all_samples, before, by_edit, {(c.id, c.edit): c for c in checked}, condition))
    stages = {"baselines": asked, "instructions": written, "counterfactuals": edits_made, "checks": checked}
    return rows, stages | {"requeries": again, "verdicts": judged}


def test_a_sound_run_scores_every_item_in_order() -> None:
    rows, stages = study()
    assert [row.id for row in rows] == ITEMS
    assert all(row.status == Status.OK and row.ccs == (row.pcs or 0) * (row.ncc or 0) for row in rows)
    assert all(row.correct == 1 for row in rows)
    assert all(check.changed_share > 0 for check in stages["checks"])


@pytest.mark.parametrize("protocol", RULES)
@pytest.mark.parametrize("stage", ["baselines", "instructions", "counterfactuals", "requeries", "verdicts"])
@pytest.mark.parametrize("status", FAILURES)
def test_a_failure_at_any_stage_ends_as_its_status_and_never_as_a_score(
    protocol: str, stage: str, status: Status
) -> None:
    rows, stages = study(protocol, **{stage: {"statuses": {"i2": status}}})
    asked = not (protocol == "null-edit" and stage in ("instructions", "counterfactuals"))
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
        assert {row.status for row in failed} == {Status.OK}, "a null edit asks neither writer nor editor"
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


@pytest.mark.parametrize("protocol", ["edct-2025", "uncited-edit"])
@pytest.mark.parametrize("quality", [95, 75])
def test_an_image_that_was_only_stored_anew_is_no_counterfactual(protocol: str, quality: int) -> None:
    class Idle:
        needs_metadata = False

        async def edit(self, request: EditRequest) -> EditReply:
            return EditReply(request.picture.reencoded(quality))

    pixels = np.random.default_rng(1).normal(128, 12, (256, 256, 3)).clip(0, 255).astype(np.uint8)
    photograph = Picture.from_pixels(pixels)
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
            return EditReply(picture(200))

    editor = Noting()
    wanted = [Instruction(id="i1", edit=number, concept="c", positive="p") for number in (1, 2)]
    list(counterfactuals(wanted, samples(), lambda sample: PICTURES[sample.id], editor, "edct-2025", 1))
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

    list(baselines(samples().values(), lambda s: PICTURES[s.id], Listening(), PROMPTS, 1))
    first, second = seen[:2]
    assert [turn.role for turn in second.turns] == ["user", "assistant", "user"]
    assert second.turns[0] == first.turns[0]
    assert second.turns[0].picture == PICTURES["i0"]
    assert second.turns[1].text.startswith("answer")
    assert first.seed != second.seed


def test_the_records_do_not_depend_on_the_other_items() -> None:
    alone = list(baselines([samples()["i3"]], lambda s: PICTURES[s.id], scripted("chat"), PROMPTS, 1))
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


class Painting:
    """An editor that paints its picture in a gray of its own and notes what it was given; it fails where it is told."""

    needs_metadata = False

    def __init__(self, *fails: tuple[str, int]) -> None:
        self.seen: list[EditRequest] = []
        self.fails = fails

    async def edit(self, request: EditRequest) -> EditReply:
        self.seen.append(request)
        if (request.item, request.edit) in self.fails:
            return EditReply(status=Status.MODERATED, reason="no")
        return EditReply(picture(100 + request.edit + request.seed % 50))


def wanted(item: str, edits: int) -> list[Instruction]:
    return [Instruction(id=item, edit=n, concept=f"c{n}", positive=f"p{n}") for n in range(1, edits + 1)]


def edited(editor: Any, told: list[Instruction], protocol: str) -> list[tuple[Counterfactual, Any]]:
    return list(counterfactuals(told, samples(), lambda sample: PICTURES[sample.id], editor, protocol, 1))


def test_in_a_chain_every_edit_starts_from_the_result_of_the_one_before() -> None:
    editor = Painting()
    made = edited(editor, [*wanted("i0", 3), *wanted("i1", 1), *wanted("i2", 2)], "edct-bench-2026")
    assert [(c.id, c.edit) for c, _ in made] == [("i0", 1), ("i0", 2), ("i0", 3), ("i1", 1), ("i2", 1), ("i2", 2)]
    by_edit = {(r.item, r.edit): r for r in editor.seen}
    shown = {(c.id, c.edit): pictures[c.image.path] for c, pictures in made if c.image}
    assert by_edit["i0", 1].picture == PICTURES["i0"]
    assert by_edit["i0", 2].picture == shown["i0", 1]
    assert by_edit["i0", 3].picture == shown["i0", 2]
    assert [by_edit["i0", n].before for n in (1, 2, 3)] == [(), ("p1",), ("p1", "p2")]


def test_edits_of_the_2025_protocol_and_of_uncited_edits_all_start_from_the_original() -> None:
    for protocol in ("edct-2025", "uncited-edit"):
        editor = Painting()
        edited(editor, wanted("i0", 2), protocol)
        assert [(r.picture, r.before) for r in editor.seen] == [(PICTURES["i0"], ())] * 2


def test_a_chain_that_breaks_ends_there_and_says_at_which_edit() -> None:
    made = [c for c, _ in edited(Painting(("i0", 1)), [*wanted("i0", 3), *wanted("i1", 2)], "edct-bench-2026")]
    assert [c.status for c in made] == ["moderated"] * 3 + ["ok"] * 2
    assert [c.reason for c in made[:3]] == ["no", "edit 1 failed: no", "edit 1 failed: no"]


def test_without_a_chain_one_edit_that_fails_leaves_the_others_alone() -> None:
    made = [c for c, _ in edited(Painting(("i0", 1)), wanted("i0", 2), "uncited-edit")]
    assert [c.status for c in made] == ["moderated", "ok"]


def test_the_seeds_of_an_edit_are_the_same_under_every_protocol() -> None:
    seeds = {p: [c.seed for c, _ in edited(Painting(), wanted("i0", 2), p)] for p in RULES}
    assert len({tuple(found) for found in seeds.values()}) == 1


def test_a_null_edit_only_reencodes() -> None:
    _, stages = study("null-edit")
    assert [i.positive for i in stages["instructions"]] == ["Change nothing."] * len(ITEMS)
    assert all(
        c.status == Status.OK and c.details == {"edit": "re-encoded as JPEG 95"} for c in stages["counterfactuals"]
    )
    smooth = Picture.from_pixels(np.full((64, 48, 3), (200, 120, 30), dtype=np.uint8))
    assert np.abs(smooth.reencoded().pixels.astype(int) - smooth.pixels).max() <= 3


def test_only_an_uncited_edit_shows_the_writer_the_image() -> None:
    class Listening:
        seen: list[WriteRequest]

        async def write(self, request: WriteRequest) -> WriteReply:
            self.seen = [request]
            reply: WriteReply = await scripted("instruction_writers").write(request)
            return reply

    for protocol, shown in (("edct-2025", False), ("edct-bench-2026", False), ("uncited-edit", True)):
        said = [Baseline(id="i0", question="q?", answer="a", explanation="e")]
        writer = Listening()
        list(instructions(said, samples(), lambda s: PICTURES[s.id], writer, protocol, 1, 3))
        assert (writer.seen[0].picture is not None) == shown
        assert writer.seen[0].edits == (1 if protocol == "edct-2025" else 3)


class Sitting:
    """A judge that notes what it is asked and says what it was told to."""

    def __init__(self, reply: JudgeReply, needs_picture: bool = False) -> None:
        self.reply, self.needs_picture = reply, needs_picture
        self.seen: list[JudgeRequest] = []

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        self.seen.append(request)
        return self.reply


def judged(judge: Judge, protocol: str, edits: int = 2) -> list[Verdict]:
    before = {"i0": Baseline(id="i0", question="q?", answer="a", explanation="e")}
    again = [Requery(id="i0", edit=n, answer=f"a{n}", explanation=f"e{n}") for n in range(1, edits + 1)]
    told = {(i.id, i.edit): i for i in wanted("i0", edits)}
    return list(verdicts(again, before, told, lambda item, edit: picture(edit), judge, protocol, 1))


def test_a_judge_is_told_the_whole_chain_so_far_and_nothing_of_a_control() -> None:
    told = {}
    for protocol in RULES:
        judge = Sitting(JudgeReply())
        judged(judge, protocol)
        told[protocol] = [[change.positive for change in request.changes] for request in judge.seen]
    assert told == {
        "edct-2025": [["p1"], ["p2"]],
        "edct-bench-2026": [["p1"], ["p1", "p2"]],
        "null-edit": [[], []],
        "uncited-edit": [[], []],
    }


def test_a_blind_judge_sees_question_and_edited_image_and_no_instruction() -> None:
    judge = Sitting(JudgeReply(), needs_picture=True)
    judged(judge, "edct-bench-2026")
    assert [(r.question, r.changes, r.picture) for r in judge.seen] == [("q?", (), picture(n)) for n in (1, 2)]
    texts = Sitting(JudgeReply())
    judged(texts, "edct-bench-2026")
    assert {(r.question, r.picture) for r in texts.seen} == {("", None)}


@pytest.mark.parametrize(
    ("scores_given", "reason"),
    [
        ({}, "the judge gave no ac or no ef"),
        ({"ac": 1}, "the judge gave no ef"),
        ({"pcs": 1, "ncc": 1}, "the judge gave no ac or no ef"),
    ],
)
def test_scores_of_another_protocol_are_no_verdict(scores_given: dict[str, Any], reason: str) -> None:
    [verdict] = judged(Sitting(JudgeReply(scores_given, completion="said")), "edct-bench-2026", edits=1)
    assert (verdict.status, verdict.reason, verdict.completion) == (Status.UNPARSABLE, reason, "said")


def test_a_missing_grade_leaves_the_scores_and_says_why() -> None:
    reply = JudgeReply({"ac": 1, "ef": 1}, grade_reason="cut off")
    [verdict] = judged(Sitting(reply), "edct-bench-2026", edits=1)
    assert (verdict.status, verdict.grade, verdict.grade_reason) == (Status.OK, None, "cut off")


@pytest.mark.parametrize(("grade", "graded"), [(1, 0.0), (2, 0.25), (3, 0.5), (4.5, 0.875), (5, 1.0)])
def test_a_grade_is_brought_to_the_unit_interval(grade: float, graded: float) -> None:
    assert ccs_graded(grade) == graded


def test_a_grade_out_of_range_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"`grade` must be in \[1, 5\], but got 0"):
        ccs_graded(0)


class Gated:
    """An editor that rejects its first attempt; of item i1 the second as well."""

    needs_metadata = False

    async def edit(self, request: EditRequest) -> EditReply:
        item = request.item
        bad = EditAttempt(1, picture(90), VerifyReply(False, "spilled", {"outside": 0.71234567}, {"mask": picture(91)}))
        good = EditAttempt(2, picture(92), VerifyReply(item != "i1", "", {"outside": 0.1}))
        if item == "i1":
            return EditReply(status=Status.EDIT_INVALID, reason="rejected twice", attempts=(bad, good))
        return EditReply(good.picture, attempts=(bad, good))


def test_every_attempt_is_kept_with_numbers_and_pictures_the_rejected_ones_too() -> None:
    (kept, shown), (lost, evidence) = edited(Gated(), [*wanted("i0", 1), *wanted("i1", 1)], "edct-2025")
    assert sorted(shown) == ["i0-1-try1-mask.png", "i0-1-try1.png", "i0-1.png"]
    assert [(t.seed, t.image.path, t.found.verified) for t in kept.attempts] == [
        (1, "i0-1-try1.png", 0),
        (2, "i0-1.png", 1),
    ]
    assert kept.attempts[0].found.numbers == {"outside": 0.7123}
    assert kept.attempts[0].found.reason == "spilled"
    assert (lost.status, lost.image, sorted(evidence)) == (
        Status.EDIT_INVALID,
        None,
        ["i1-1-try1-mask.png", "i1-1-try1.png", "i1-1-try2.png"],
    )


def test_a_check_is_given_what_the_edit_started_from_and_what_was_done_before() -> None:
    class Looking:
        def __init__(self) -> None:
            self.seen: list[VerifyRequest] = []

        async def verify(self, request: VerifyRequest) -> VerifyReply:
            self.seen.append(request)
            return VerifyReply(True, numbers={"inside": 0.5}, pictures={"heat": picture(7)})

    told = wanted("i0", 2)
    made = edited(Painting(), told, "edct-bench-2026")
    shown = {(c.id, c.edit): pictures[c.image.path] for c, pictures in made if c.image}
    records = [c for c, _ in made]

    def opened(record: Counterfactual) -> Picture:
        return shown[record.id, record.edit]

    by_edit = {(i.id, i.edit): i for i in told}
    base = base_of({(c.id, c.edit): c for c in records}, samples(), lambda s: PICTURES[s.id], opened, "edct-bench-2026")
    verifier = Looking()
    found = list(checks(records, samples(), by_edit, base, opened, verifier, "edct-bench-2026", 1))
    assert [(r.original, r.before, r.edit) for r in verifier.seen] == [
        (PICTURES["i0"], (), 1),
        (shown["i0", 1], ("p1",), 2),
    ]
    check, pictures = found[1]
    assert check.found is not None
    assert (check.found.verified, check.found.numbers) == (1, {"inside": 0.5})
    assert {name: ref.path for name, ref in check.found.pictures.items()} == {"heat": "i0-2-heat.png"}
    assert list(pictures) == ["i0-2-heat.png"]
    nobody = list(checks(records, samples(), by_edit, base, opened, verifier, "null-edit", 1))
    assert all(check.found is None for check, _ in nobody)


def poison(stage: str, status: Status) -> dict[str, dict[str, Any]]:
    """Options of scripted plugins of which one fails at an item; the judge is as it was."""
    judge = {"verdicts": {"threshold": 0.6}}
    return judge | {stage: judge.get(stage, {}) | {"statuses": {"i2": status}}}


def figures(row: Any) -> dict[str, Any]:
    """The columns of a table's row that items without a score must leave alone."""
    counted = ("n", "n_scored", "n_edits", "n_edits_scored", "missing", "ccs_min", "ccs_max", "accuracy")
    return {name: value for name, value in row.model_dump().items() if name not in counted}


@pytest.mark.parametrize("protocol", ["edct-2025", "edct-bench-2026"])
@pytest.mark.parametrize("stage", ["baselines", "instructions", "counterfactuals", "requeries", "verdicts"])
@pytest.mark.parametrize("status", FAILURES)
def test_a_poisoned_stage_leaves_the_tables_figures_as_they_are_without_the_item(
    protocol: str, stage: str, status: Status
) -> None:
    table: Any = conditions.BENCH if protocol == "edct-bench-2026" else conditions.TABLE1
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
