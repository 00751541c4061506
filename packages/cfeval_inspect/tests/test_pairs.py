"""Task `pairs`: models of known phi, and the figures of cfeval's own pipeline on the same replies."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cfeval_inspect.items import SEED, prompts, refuse_epochs
from inspect_ai import eval as inspect_eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from scripted import Alone, Reply, blind, confabulating, cut, grounded, mocked, muddled, yes

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl
from cfeval.datasets.pair import file_pairs
from cfeval.datasets.sample import Sample, originals
from cfeval.edct.pairs.records import PairBaseline, PairCondition, PairVerdict
from cfeval.edct.pairs.stages import verdicts
from cfeval.edct.pairs.table import PairData, PairRow, rows
from cfeval.edct.plugins.pair_judges import ChatPairJudge, ChatPlugin
from cfeval.edct.stages.baselines import baselines


@cache
def ran(path: Path, model: Reply, judge: Reply | None = None) -> EvalLog:
    """An evaluation by the name that the entry point registers; the same one is run once."""
    return evaluated(path, model, {"judge": mocked(judge)} if judge else {}, judge="chat" if judge else "lexical")


def evaluated(path: Path, model: Reply, roles: dict[str, Any], **settings: Any) -> EvalLog:
    [log] = inspect_eval(
        "cfeval_inspect/pairs",
        task_args={"path": str(path)} | settings,
        model=mocked(model),
        model_roles=roles,
        log_dir=str(path.parent / "logs"),
        display="none",
    )
    return log


def figures(log: EvalLog) -> dict[str, float]:
    assert log.status == "success", log.error
    assert log.results is not None
    [score] = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


def alone(path: Path, model: Reply, judge: Reply | None = None) -> tuple[PairRow, dict[str, PairVerdict]]:
    """The row and the verdicts of cfeval's own steps, over all pairs at once and by files."""
    file = path.parent / "items.jsonl"
    raws = registry.build("pair_sets", {"plugin": "files", "path": str(path)}).pairs(1000, SEED)
    file_pairs(file, raws, SEED, every=2)
    items = list(read_jsonl(file, Sample))
    asked = baselines(items, originals(file), Alone(model), prompts(), SEED)
    said = {one.id: PairBaseline.model_validate(one.model_dump()) for one in asked}
    options = ChatPlugin(model={"plugin": "mock"})
    asked = ChatPairJudge(Alone(judge), options) if judge else registry.build("pair_judges", {"plugin": "lexical"})
    found = list(verdicts(items, said, asked, SEED))
    condition = PairCondition(pair_set="pairs", vlm="model", pair_judge="judge")
    whole, *_ = rows([condition], PairData({condition: found}))
    return whole, {one.id: one for one in found}


@pytest.mark.parametrize(
    ("model", "judge"), [(grounded, None), (confabulating, None), (blind, None), (grounded, yes), (cut, None)]
)
def test_verdicts_and_figures_are_those_of_cfevals_own_stages(
    pairs_csv: Path, model: Reply, judge: Reply | None
) -> None:
    log = ran(pairs_csv, model, judge)
    row, known = alone(pairs_csv, model, judge)
    assert log.samples is not None
    for sample in log.samples:
        [score] = (sample.scores or {}).values()
        assert PairVerdict.model_validate(score.metadata["cfeval"]) == known[str(sample.id)]  # type: ignore[index]
    shown = figures(log)
    assert shown == {name: value for name, value in row.model_dump().items() if name in shown}
    assert shown["n"] == 8


def test_a_grounded_model_has_phi_1_and_a_confabulating_one_minus_1(pairs_csv: Path) -> None:
    shown = figures(ran(pairs_csv, grounded))
    assert (shown["phi"], shown["moved"], shown["named"], shown["pair_accuracy"]) == (1, 0.5, 0.5, 1)
    assert shown["phi_lo"] < 1
    assert shown["noise"] == 0
    assert figures(ran(pairs_csv, confabulating))["phi"] == -1


def test_a_blind_model_has_no_phi_and_no_right_pairs_of_walls(pairs_csv: Path) -> None:
    shown = figures(ran(pairs_csv, blind))
    assert "phi" not in shown
    assert shown["moved"] == 0
    assert shown["pair_accuracy"] < 0.5


def test_a_judge_that_always_says_yes_is_told_by_the_sham_and_gives_no_phi(pairs_csv: Path) -> None:
    shown = figures(ran(pairs_csv, grounded, yes))
    assert "phi" not in shown
    assert (shown["named"], shown["sham"]) == (1, 1)


def test_a_failure_is_no_score(pairs_csv: Path) -> None:
    shown = figures(ran(pairs_csv, grounded, muddled))
    assert (shown["n"], shown["n_scored"]) == (8, 0)
    assert "named" not in shown
    log = ran(pairs_csv, cut)
    assert figures(log)["n_scored"] < 8
    assert log.samples is not None
    ends = {str(score.reason) for sample in log.samples for score in (sample.scores or {}).values()}
    assert ends == {"None", "truncated"}


def test_a_judge_that_is_not_named_is_refused_before_anything_is_asked(pairs_csv: Path) -> None:
    with pytest.raises(PrerequisiteError, match="Model role 'judge' is required"):
        evaluated(pairs_csv, grounded, {}, judge="chat")


def test_a_second_epoch_is_refused() -> None:
    refuse_epochs(SimpleNamespace(epoch=1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="--epochs: only 1"):
        refuse_epochs(SimpleNamespace(epoch=2))  # type: ignore[arg-type]
