"""Task `pairs` (`pairs-2026`): do explanations name what was changed where the answer moved? On pairs that others made.

A sample is a pair: both images are asked about in conversations of their own, of one pair in `every` the one that
comes first once more. Figures are those of cfeval's table `pairs`, phi first.
"""

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from cfeval.core import registry
from cfeval.core.records import Status, failure
from cfeval.datasets.pair import RawPair, drawn_items, pair_of
from cfeval.datasets.sample import Sample as Item
from cfeval.edct.pairs.records import PairBaseline, PairCondition, PairVerdict
from cfeval.edct.pairs.stages import REMEMBERED, sham_of, verdicts
from cfeval.edct.pairs.table import PairData, rows
from cfeval.edct.stages.baselines import baselines
from cfeval.stats.intervals import Interval
from cfeval_inspect import assets
from cfeval_inspect.chat import InspectChat, beside, judge_spec, require_judge
from cfeval_inspect.items import (
    RECORDS,
    SEED,
    conversation,
    figures,
    filed,
    image_of,
    items_in,
    prompts,
    records_of,
    refuse_epochs,
    score_of,
    shown,
)

FIGURES = (
    "phi",
    "moved",
    "named",
    "named_if_moved",
    "named_if_unmoved",
    "f_auroc",
    "accuracy_before",
    "accuracy_after",
    "pair_accuracy",
    "bias",
    "noise",
    "sham",
)
"""Columns of the table; see `cfeval.edct.pairs.table.PairRow`."""


@task
def pairs(
    path: str,
    images: str | None = None,
    reader: str = "files",
    judge: str = "lexical",
    items: int = 1_000_000,
    every: int = 2,
    seed: int = SEED,
) -> Task:
    """Given pairs: two images that differ in one thing, one question.

    Args:
        path: the table or folder of the pairs.
        images: the folder of the images, where the table has only their names.
        reader: of the set, such as `vismin` or `naturalbench` (`cfeval.pair_sets`); `files` reads your own.
        judge: of explanations: `lexical`, which compares words, or `chat`, the model role `judge`.
        items: so many pairs at most, drawn by the seed.
        every: of one pair in so many the image that comes first is asked about again.
        seed: of the draw.
    """
    spec = {"plugin": reader, "path": path} | ({"images": images} if images else {})
    require_judge(judge)
    pinned = assets.checked({**assets.CONVERSATION, **(assets.PAIRS if judge == "chat" else {})})
    return Task(
        dataset=MemoryDataset(list(samples(registry.build("pair_sets", spec).pairs(items, seed), seed, every)), path),
        solver=pairs_solver(seed),
        scorer=pairs_scorer(judge, seed),
        metadata={"protocol": "pairs-2026", "prompts": pinned},
    )


def samples(raws: Iterator[RawPair], seed: int, every: int) -> Iterator[Sample]:
    """A sample for each pair, with the pair before it whose change is the sham of this one."""
    former: deque[list[Item]] = deque(maxlen=REMEMBERED)
    for raw in raws:
        pair = list(drawn_items(raw, seed, every))
        items, known = [item for item, _ in pair], {pair_of(of[0]).pair: of for of in reversed(former)}
        other = sham_of(pair_of(items[0]), (pair_of(of[0]) for of in known.values()))
        sham = [item.model_dump(mode="json") for item in known[other.pair]] if other else []
        metadata = filed(pair) | {"former": sham}
        yield Sample(input=shown(items[0], metadata), id=pair_of(items[0]).pair, metadata=metadata)
        former.append(items)


@solver
def pairs_solver(seed: int = SEED) -> Solver:
    """Ask about each image of a pair, in a conversation of its own: the answer, then the reason."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        refuse_epochs(state)
        items, model = items_in(state.metadata), InspectChat(get_model())
        said = await beside(lambda: list(baselines(items, image_of(state.metadata), model, prompts(), seed)))
        state.store.set(RECORDS, {"baselines": [one.model_dump(mode="json") for one in said]})
        conversation(state, said[0])
        return state

    return solve


@metric(scores="unreduced")
def pairs_table(level: float = 0.95, resamples: int = 2000) -> Metric:
    """Phi and the other figures of cfeval's table of given pairs, over all pairs."""

    def table(scores: list[SampleScore]) -> dict[str, float]:
        condition = PairCondition(pair_set="pairs", vlm="model", pair_judge="judge")
        of = records_of(scores, PairVerdict)
        whole, *_ = rows([condition], PairData({condition: of}, Interval(level=level, resamples=resamples)))
        return figures(whole, FIGURES)

    return table


@scorer(metrics=[pairs_table()])
def pairs_scorer(judge: str = "lexical", seed: int = SEED) -> Scorer:
    """Whether the answer moved, and whether the explanations name what was changed."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        found = await beside(partial(judged, state, judge, seed))
        said = {one["id"]: one["answer"] for one in state.store.get(RECORDS)["baselines"]}
        value = {"moved": found.moved, "named": found.named}
        return score_of(found, value, " → ".join(said.values()), found.completion)

    return score


def judged(state: TaskState, judge: str, seed: int) -> PairVerdict:
    """The verdict on the pair of a sample.

    The pair before it is given as one whose conversations failed: nobody is asked about it, and it is known as the pair
    of which another thing was changed.
    """
    former = [Item.model_validate(item) for item in state.metadata["former"]]
    said = [PairBaseline.model_validate(one) for one in state.store.get(RECORDS)["baselines"]]
    lost: dict[str, Any] = failure(Status.REJECTED, "baselines", "not asked")
    known = {one.id: one for one in said} | {
        one.id: PairBaseline(id=one.id, question=one.question, **lost) for one in former
    }
    asked = registry.build("pair_judges", judge_spec(judge))
    *_, own = verdicts([*former, *items_in(state.metadata)], known, asked, seed)
    return own
