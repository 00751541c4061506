"""Task `edct` (`edct-2025`): do answer and explanation follow an edit of what the explanation cites? On given edits.

A sample is an item, an image and a question. Of the edits that the table has for it, the first is taken whose concept
the explanation names; the target model is asked again about the edited image, and a judge compares the texts. Figures
are those of cfeval's Table 1. Without controls CCS alone backs no claim about a model.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import BaseModel

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.datasets.sample import RawSample, as_record
from cfeval.datasets.sample import Sample as Item
from cfeval.edct.protocols.rules import EDCT_2025
from cfeval.edct.records import Baseline, Check, Condition, Counterfactual, Instruction, Requery
from cfeval.edct.records import Score as Scored
from cfeval.edct.stages.baselines import baselines
from cfeval.edct.stages.checks import checks
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.edct.stages.instructions import instructions
from cfeval.edct.stages.requeries import requeries
from cfeval.edct.stages.scores import scores
from cfeval.edct.stages.verdicts import verdicts
from cfeval.edct.tables.conditions import condition_rows
from cfeval.edct.tables.scores import material
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

FIGURES = ("ccs", "pcs", "ncc", "strict_ccs", "accuracy")
"""Columns of the table; see `cfeval.edct.tables.conditions.ConditionRow`."""
CONDITION = Condition(dataset="items", vlm="model", writer="given", protocol=EDCT_2025, editor="given", judge="judge")
KINDS: Mapping[str, type[BaseModel]] = {
    "baselines": Baseline,
    "instructions": Instruction,
    "checks": Check,
    "requeries": Requery,
}


@task
def edct(
    path: str,
    edits: str,
    images: str = "",
    unnamed: str = "reject",
    judge: str = "lexical",
    items: int = 1_000_000,
    seed: int = SEED,
) -> Task:
    """Edits of what explanations cite, made before.

    Args:
        path: images and questions, a .csv or .jsonl file or a folder (`cfeval.datasets.files`).
        edits: a table of edits (`cfeval.edct.plugins.given_edits`).
        images: the folder of its images; empty: that of the table.
        unnamed: `accept` takes an item's first edit though its explanation names no concept of the table.
        judge: `lexical`, which compares words, or `chat`, the model role `judge`.
        items: so many at most, drawn by the seed.
        seed: of the draw.
    """
    table = {"plugin": "given", "path": edits, "images": images}
    registry.build("instruction_writers", table | {"unnamed": unnamed})
    registry.build("editors", table)
    require_judge(judge)
    pinned = assets.checked({**assets.CONVERSATION, **(assets.EDCT if judge == "chat" else {})})
    dataset = registry.build("datasets", {"plugin": "files", "path": path})
    return Task(
        dataset=MemoryDataset([sample(raw) for raw in dataset.samples(items, seed)], path),
        solver=edct_solver(edits, images, unnamed, seed),
        scorer=edct_scorer(judge, seed),
        metadata={"protocol": EDCT_2025, "prompts": pinned},
    )


def sample(raw: RawSample) -> Sample:
    """An item as a sample."""
    item = as_record(raw, Item)
    metadata = filed([(item, raw.image)])
    return Sample(input=shown(item, metadata), id=item.id, target=item.reference, metadata=metadata)


@solver
def edct_solver(edits: str, images: str = "", unnamed: str = "reject", seed: int = SEED) -> Solver:
    """Ask about the image, take the edit of what the explanation cites, and ask about the edited image."""
    table = {"plugin": "given", "path": edits, "images": images}
    writer = registry.build("instruction_writers", table | {"unnamed": unnamed})
    editor = registry.build("editors", table)

    def stages(state: TaskState, model: InspectChat) -> dict[str, list[Any]]:
        metadata = state.metadata
        [item] = items_in(metadata)
        items, opened = {item.id: item}, image_of(metadata)
        said = list(baselines([item], opened, model, prompts(), seed))
        told = list(instructions(said, items, opened, writer, EDCT_2025, seed))
        made = list(counterfactuals(told, items, opened, editor, EDCT_2025, seed))
        edited = _edited({one.edit: shown for one, shown in made})
        records = [one for one, _ in made]
        by_edit = {(one.id, one.edit): one for one in told}
        again = requeries(records, items, edited, model, prompts(), seed)
        seen = checks(records, items, by_edit, lambda _: opened(item), edited, None, EDCT_2025, seed)
        return {"baselines": said, "instructions": told, "checks": [c for c, _ in seen], "requeries": list(again)}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        refuse_epochs(state)
        found = await beside(partial(stages, state, InspectChat(get_model())))
        dumped = {name: [one.model_dump(mode="json") for one in of] for name, of in found.items()}
        state.store.set(RECORDS, dumped)
        conversation(state, found["baselines"][0])
        return state

    return solve


def _edited(made: Mapping[int, Mapping[str, Image]]) -> Callable[[Counterfactual], Image]:
    def opened(record: Counterfactual) -> Image:
        return next(iter(made[record.edit].values()))

    return opened


@metric(scores="unreduced")
def edct_table(level: float = 0.95) -> Metric:
    """CCS and the other figures of cfeval's Table 1, over all items."""

    def table(scores: list[SampleScore]) -> dict[str, float]:
        data = material({CONDITION: records_of(scores, Scored)}, how=Interval(level=level))
        [row] = condition_rows("table1", [CONDITION], data)
        return figures(row, FIGURES)

    return table


@scorer(metrics=[edct_table()])
def edct_scorer(judge: str = "lexical", seed: int = SEED) -> Scorer:
    """PCS, NCC and CCS of the edit."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        found, completion = await beside(partial(judged, state, judge, seed))
        value = {"pcs": found.pcs, "ncc": found.ncc, "ccs": found.ccs}
        texts = state.store.get(RECORDS)
        answers = [one["answer"] for name in ("baselines", "requeries") for one in texts[name]]
        return score_of(found, value, " → ".join(answers), completion)

    return score


def judged(state: TaskState, judge: str, seed: int) -> tuple[Scored, str]:
    """The score of a sample's edit, and the judge's replies as they came."""
    left = state.store.get(RECORDS)
    known: dict[str, list[Any]] = {
        name: [kind.model_validate(one) for one in left[name]] for name, kind in KINDS.items()
    }
    items = {item.id: item for item in items_in(state.metadata)}
    said = {one.id: one for one in known["baselines"]}
    told = {(one.id, one.edit): one for one in known["instructions"]}
    seen = {(one.id, one.edit): one for one in known["checks"]}
    asked = registry.build("judges", judge_spec(judge))
    [found] = verdicts(known["requeries"], said, told, _no_image, asked, EDCT_2025, seed, compare=True)
    [scored] = scores([found], items, said, told, seen, CONDITION)
    return scored, found.completion


def _no_image(item: str, edit: int) -> Image:
    raise NotImplementedError(f"item '{item}', edit {edit}: no judge of this task looks at images")
