"""The stages of the edct study on scripted models: failures travel as statuses and are never a score."""

from collections.abc import Callable
from typing import Any

import pytest

from cfeval.backends import registry
from cfeval.backends.editors.base import EditReply
from cfeval.records.common import Status
from cfeval.records.edct import Arm, Baseline, Check, Counterfactual, Instruction, Requery, Sample, Score, Verdict
from cfeval.seeds import derive
from cfeval.studies.edct.baseline import baseline
from cfeval.studies.edct.checks import checks
from cfeval.studies.edct.conversation import Prompts
from cfeval.studies.edct.counterfactuals import counterfactuals
from cfeval.studies.edct.instructions import instructions
from cfeval.studies.edct.requery import requery
from cfeval.studies.edct.scores import scores
from cfeval.studies.edct.verdicts import verdicts
from tests.conftest import picture

ITEMS = [f"i{number}" for number in range(6)]
PICTURES = {item: picture(number) for number, item in enumerate(ITEMS)}
PROMPTS = Prompts("{question}", "why?")
ARM = Arm(dataset="d", vlm="m", writer="w", protocol="edct-2025", editor="e", judge="j")
FAILURES = [status for status in Status if status != Status.OK]


def samples() -> dict[str, Sample]:
    return {
        item: Sample(id=item, image=PICTURES[item].ref("x.png"), question=f"what is {item}?", reference="answer")
        for item in ITEMS
    }


def scripted(family: str, **options: Any) -> Any:
    return registry.build(family, {"backend": "scripted", **options})


def study(**options: dict[str, Any]) -> tuple[list[Score], dict[str, list[Any]]]:
    """Run every stage in memory; `options` go to the scripted backend of the stage they name."""
    all_samples = samples()
    asked = list(
        baseline(
            all_samples.values(), lambda s: PICTURES[s.id], scripted("chat", **options.get("baseline", {})), PROMPTS, 1
        )
    )
    written = list(instructions(asked, scripted("writers", **options.get("instructions", {})), "edct-2025", 1))
    editor = scripted("editors", **options.get("counterfactuals", {}))
    made = list(counterfactuals(written, all_samples, lambda s: PICTURES[s.id], editor, 1))
    edited = {(c.id, c.edit): p for c, p in made if p}
    edits = [c for c, _ in made]
    by_edit = {(i.id, i.edit): i for i in written}
    opened: Callable[[Counterfactual], Any] = lambda c: edited[c.id, c.edit]  # noqa: E731
    checked = list(checks(edits, all_samples, by_edit, lambda s: PICTURES[s.id], opened, None))
    again = list(requery(edits, all_samples, opened, scripted("chat", **options.get("requery", {})), PROMPTS, 1))
    before = {b.id: b for b in asked}
    judged = list(verdicts(again, before, by_edit, scripted("judges", **options.get("verdicts", {})), "edct-2025", 1))
    rows = list(scores(judged, all_samples, before, {(c.id, c.edit): c for c in checked}, ARM))
    stages = {"baseline": asked, "instructions": written, "counterfactuals": edits, "checks": checked}
    return rows, stages | {"requery": again, "verdicts": judged}


def test_a_sound_run_scores_every_item_in_order() -> None:
    rows, stages = study()
    assert [row.id for row in rows] == ITEMS
    assert all(row.status == Status.OK and row.ccs == (row.pcs or 0) * (row.ncc or 0) for row in rows)
    assert all(row.correct == 1 for row in rows)
    assert all(check.changed_share > 0 for check in stages["checks"])


@pytest.mark.parametrize("stage", ["baseline", "instructions", "counterfactuals", "requery", "verdicts"])
@pytest.mark.parametrize("status", FAILURES)
def test_a_failure_at_any_stage_ends_as_its_status_and_never_as_a_score(stage: str, status: Status) -> None:
    rows, stages = study(**{stage: {"statuses": {"i2": status}}})
    failed = rows[2]
    assert (failed.status, failed.stage, failed.reason) == (status, stage, "scripted")
    assert failed.pcs is failed.ncc is failed.ccs is None
    assert all(row.status == Status.OK for row in rows if row.id != "i2")
    assert {type(r).__name__: r.status for r in (records[2] for records in stages.values())}.keys() >= {"Verdict"}


def test_no_work_is_done_for_an_item_that_ended_before() -> None:
    poison = {"statuses": {"i2": Status.REFUSED}}
    crash = {"crash_on": ("i2",)}
    later = ("instructions", "counterfactuals", "requery", "verdicts")
    rows, _ = study(baseline=poison, **dict.fromkeys(later, crash))
    assert rows[2].status == Status.REFUSED


@pytest.mark.parametrize(
    ("scoring", "answers", "said", "correct"),
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
    scoring: Any, answers: tuple[str, ...], said: str, correct: float | None
) -> None:
    sample = samples()["i0"].model_copy(update={"scoring": scoring, "answers": answers})
    verdict, said_before = Verdict(id="i0", pcs=1, ncc=1), Baseline(id="i0", question="?", answer=said)
    [row] = scores([verdict], {"i0": sample}, {"i0": said_before}, {("i0", 1): Check(id="i0")}, ARM)
    assert row.correct == correct


def test_an_unfinished_baseline_keeps_its_answer_and_has_no_accuracy_when_it_has_none() -> None:
    rows, stages = study(baseline={"statuses": {"i0": Status.TRUNCATED}})
    assert stages["baseline"][0].explanation == ""
    assert rows[0].correct is None


@pytest.mark.parametrize("reply", ["", "  \n"])
def test_an_empty_reply_is_not_an_answer(reply: str) -> None:
    rows, _ = study(baseline={"replies": (reply,)})
    assert {(row.status, row.stage, row.reason) for row in rows} == {(Status.UNPARSABLE, "baseline", "empty answer")}


def test_an_image_that_did_not_change_is_no_counterfactual() -> None:
    rows, _ = study(counterfactuals={"strength": 0.0})
    assert {(row.status, row.reason) for row in rows} == {(Status.EDIT_INVALID, "the image did not change")}


def test_an_editor_is_told_which_edit_of_the_item_it_makes() -> None:
    class Noting:
        needs_scene = False

        def edit(self, requests: Any) -> Any:
            self.edits = [(request.item, request.edit) for request in requests]
            return [EditReply(picture(200)) for _ in requests]

    editor = Noting()
    wanted = [Instruction(id="i1", edit=number, concept="c", positive="p") for number in (1, 2)]
    list(counterfactuals(wanted, samples(), lambda sample: PICTURES[sample.id], editor, 1))
    assert editor.edits == [("i1", 1), ("i1", 2)]


def test_a_product_that_the_judge_states_wrongly_is_recorded_and_not_used() -> None:
    rows, _ = study(verdicts={"threshold": 1.0, "stated_ccs": 0})
    assert {(row.ccs, row.mismatch) for row in rows} == {(1, 1)}


def test_the_second_turn_carries_the_first() -> None:
    seen = []

    class Listening:
        def chat(self, requests: Any) -> Any:
            seen.extend(requests)
            return scripted("chat").chat(requests)

    list(baseline(samples().values(), lambda s: PICTURES[s.id], Listening(), PROMPTS, 1))
    first, second = seen[0], seen[len(ITEMS)]
    assert [turn.role for turn in second.turns] == ["user", "assistant", "user"]
    assert second.turns[0] == first.turns[0]
    assert second.turns[0].picture == PICTURES["i0"]
    assert second.turns[1].text.startswith("answer")
    assert first.seed != second.seed


def test_the_records_do_not_depend_on_the_other_items() -> None:
    alone = list(baseline([samples()["i3"]], lambda s: PICTURES[s.id], scripted("chat"), PROMPTS, 1))
    _, stages = study()
    assert alone == [stages["baseline"][3]]


def test_seeds_differ_by_purpose_and_stay_the_same() -> None:
    assert derive(1, "a", 1) == derive(1, "a", 1)
    assert len({derive(1, "a"), derive(2, "a"), derive(1, "b"), derive(1, "a", 1), derive(1, "a1")}) == 5


def test_every_record_of_a_stage_has_the_item_and_edit_it_came_from() -> None:
    _, stages = study(baseline={"statuses": {"i1": Status.REFUSED}})
    for records in stages.values():
        assert [record.id for record in records] == ITEMS
    kinds = {"baseline": Baseline, "checks": Check, "requery": Requery, "verdicts": Verdict}
    assert all(isinstance(stages[name][0], kind) for name, kind in kinds.items())


def test_what_a_model_thinks_aloud_is_no_part_of_its_answer() -> None:
    from cfeval.backends.chat.base import ChatRequest, Turn, hold, one_request

    model = scripted("chat", replies=["<think>red? no: blue.\n</think>\n\nblue <think> sky"])
    request = ChatRequest("i", (Turn("user", "which?"),), 1)
    assert hold(model, [one_request(request)])[0].text == "blue <think> sky"


def test_thoughts_without_an_opening_tag_are_none_either() -> None:
    from cfeval.backends.chat.base import ChatRequest, Turn, hold, one_request

    model = scripted("chat", replies=["red? no: blue.\n</think>\n\nblue"])
    assert hold(model, [one_request(ChatRequest("i", (Turn("user", "which?"),), 1))])[0].text == "blue"
