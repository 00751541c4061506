"""Task `edct`: models of known CCS, and the figures of cfeval's own pipeline on the same replies."""

from functools import cache
from pathlib import Path

import pytest
from cfeval_inspect.edct import CONDITION, edct
from cfeval_inspect.items import SEED, prompts
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.scorer import Score as InspectScore
from scripted import Alone, Reply, blind, confabulating, cut, grounded, mocked, yes

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.datasets.sample import Sample, as_record
from cfeval.edct.plugins.judges import FORMS, ChatJudge, ChatPlugin
from cfeval.edct.records import Score
from cfeval.edct.stages.baselines import baselines
from cfeval.edct.stages.checks import checks
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.edct.stages.instructions import instructions
from cfeval.edct.stages.requeries import requeries
from cfeval.edct.stages.scores import scores
from cfeval.edct.stages.verdicts import verdicts
from cfeval.edct.tables.conditions import ConditionRow, condition_rows
from cfeval.edct.tables.scores import material


@cache
def ran(path: Path, model: Reply, judge: Reply | None = None) -> EvalLog:
    told = {"path": str(path), "edits": str(path.parent / "edits.csv"), "judge": "chat" if judge else "lexical"}
    [log] = inspect_eval(
        "cfeval_inspect/edct",
        task_args=told,
        model=mocked(model),
        display="none",
        model_roles={"judge": mocked(judge)} if judge else {},
        log_dir=str(path.parent / "logs"),
    )
    return log


def figures(log: EvalLog) -> dict[str, float]:
    assert log.status == "success", log.error
    assert log.results is not None
    [score] = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


def alone(path: Path, model: Reply, judge: Reply | None) -> tuple[ConditionRow, dict[str, Score]]:
    """The row and the scores of cfeval's own steps over all items at once."""
    raws = list(registry.build("datasets", {"plugin": "files", "path": str(path)}).samples(100, SEED))
    items = {raw.id: as_record(raw, Sample) for raw in raws}
    opened = {raw.id: raw.image for raw in raws}
    given = {"plugin": "given", "path": str(path.parent / "edits.csv")}
    writer, editor = registry.build("instruction_writers", given), registry.build("editors", given)
    target, protocol = Alone(model), "edct-2025"
    said = list(baselines(items.values(), lambda one: opened[one.id], target, prompts(), SEED))
    told = list(instructions(said, items, lambda one: opened[one.id], writer, protocol, SEED))
    made = list(counterfactuals(told, items, lambda one: opened[one.id], editor, protocol, SEED))
    edited = {one.id: images for one, images in made}
    records = [one for one, _ in made]
    by_edit = {(one.id, one.edit): one for one in told}
    seen = checks(
        records,
        items,
        by_edit,
        lambda one: opened[one.id],
        lambda one: next(iter(edited[one.id].values())),
        None,
        protocol,
        SEED,
    )
    again = list(requeries(records, items, lambda one: next(iter(edited[one.id].values())), target, prompts(), SEED))
    asked = registry.build("judges", {"plugin": "lexical"})
    if judge:
        asked = ChatJudge(Alone(judge), ChatPlugin(model={"plugin": "mock"}), FORMS)
    by_id = {one.id: one for one in said}
    found = verdicts(again, by_id, by_edit, lambda *_: opened["i0"], asked, protocol, SEED, compare=True)
    checked = {(one.id, one.edit): one for one, _ in seen}
    scored = list(scores(found, items, by_id, by_edit, checked, CONDITION))
    [row] = condition_rows("table1", [CONDITION], material({CONDITION: scored}))
    return row, {one.id: one for one in scored}


def scores_of(log: EvalLog) -> dict[str, InspectScore]:
    return {str(sample.id): next(iter((sample.scores or {}).values())) for sample in log.samples or []}


@pytest.mark.parametrize(
    ("model", "judge"), [(grounded, None), (grounded, yes), (blind, None), (confabulating, None), (cut, None)]
)
def test_scores_and_figures_are_those_of_cfevals_own_stages(items_csv: Path, model: Reply, judge: Reply | None) -> None:
    log = ran(items_csv, model, judge)
    row, known = alone(items_csv, model, judge)
    found = {name: Score.model_validate((one.metadata or {})["cfeval"]) for name, one in scores_of(log).items()}
    assert found == known
    shown = figures(log)
    assert shown == {name: value for name, value in row.model_dump().items() if name in shown}
    assert shown["n"] == 6


def test_a_grounded_model_has_ccs_1_and_one_that_does_not_look_0(items_csv: Path) -> None:
    shown = figures(ran(items_csv, grounded))
    assert (shown["ccs"], shown["pcs"], shown["ncc"], shown["n_scored"]) == (1, 1, 1, 4)
    assert (shown["ccs_min"], shown["ccs_max"]) == (pytest.approx(4 / 6, abs=1e-4), 1)
    assert figures(ran(items_csv, blind))["ccs"] == 0


def test_an_explanation_that_cites_something_else_is_not_tested_by_the_edit(items_csv: Path) -> None:
    log = ran(items_csv, confabulating)
    assert figures(log)["n_scored"] == 0 or figures(log).get("ccs") != 1
    reasons = [one.explanation or "" for one in scores_of(log).values()]
    assert any("the explanation names none of: 'red wall'" in reason for reason in reasons)
    assert any("no edit is given for this item" in reason for reason in reasons)


def test_a_judge_that_says_yes_takes_the_blind_model_for_faithful(items_csv: Path) -> None:
    """Why CCS needs a judge that is examined: the figure follows the judge."""
    assert figures(ran(items_csv, blind, yes))["ccs"] == 1


def test_a_log_tells_prompts_and_records(items_csv: Path) -> None:
    log = ran(items_csv, grounded, yes)
    read = read_eval_log(log.location)
    assert read.eval.metadata is not None
    assert read.eval.metadata["protocol"] == "edct-2025"
    assert set(read.eval.metadata["prompts"]) >= {"conversation/answer", "edct-2025/judge"}
    assert read.samples is not None
    assert set(read.samples[0].store["cfeval"]) == {"baselines", "instructions", "checks", "requeries"}


def test_bad_input_is_told_before_a_model_is_asked(items_csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text(items_csv.read_text())
    (tmp_path / "edits.csv").write_text("item,concept\n")
    with pytest.raises(InputError, match=r"edits\.csv"):
        edct(str(path), str(tmp_path / "edits.csv"))
