"""From the records of an arm to what people see of its edits."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cfeval.protocols.rules import RULES
from cfeval.records.common import ImageRef, Status
from cfeval.records.edct import Baseline, Bit, Counterfactual, Instruction, Requery, Sample, Score
from cfeval.report.asks import asked
from cfeval.report.sheet import Change, SheetItem
from cfeval.studies.edct.sheet import Candidate

Key = tuple[str, int]


@dataclass(frozen=True)
class ArmRecords:
    """The records of one arm that a sheet shows, by item, or by item and edit."""

    samples: Mapping[str, Sample]
    baselines: Mapping[str, Baseline]
    instructions: Mapping[Key, Instruction]
    counterfactuals: Mapping[Key, Counterfactual]
    requeries: Mapping[Key, Requery]


def gates(made: Iterable[Counterfactual]) -> dict[Key, Bit | None]:
    """What the editor's own gate said of each edit that there is a picture of, if it has one."""
    return {(one.id, one.edit): _gate(one) for one in made if _edited(one)}


def candidates(scores: Iterable[Score], gate: Mapping[Key, Bit | None]) -> Iterator[Candidate]:
    """The edits that people can label: those that were scored, and those that the editor's own gate rejected.

    What failed otherwise, before or after the edit, has nothing that a label could be compared with.

    Args:
        gate: see `gates`.
    """
    for score in scores:
        if (score.id, score.edit) in gate and score.status in (Status.OK, Status.EDIT_INVALID):
            yield Candidate(score, gate[score.id, score.edit])


def sheet_item(of: ArmRecords, score: Score) -> SheetItem:
    """What people see of a candidate."""
    key = (score.id, score.edit)
    before, after = of.baselines[score.id], of.requeries.get(key)
    talked = score.status == Status.OK and after is not None
    first = 1 if RULES[score.protocol].chained else score.edit
    chain = [(score.id, edit) for edit in range(first, score.edit + 1)]
    edited = [picture for one in chain if (picture := _edited(of.counterfactuals[one]))]
    return SheetItem(
        asks=asked(score.protocol, talked),
        question=of.samples[score.id].question,
        changes=tuple(_change(of.instructions[one]) for one in chain if RULES[score.protocol].edits != "none"),
        pictures=(of.samples[score.id].image.sha256, *(picture.sha256 for picture in edited)),
        answer=before.answer,
        explanation=before.explanation,
        new_answer=after.answer if after and talked else "",
        new_explanation=after.explanation if after and talked else "",
    )


def _change(instruction: Instruction) -> Change:
    return Change(instruction.concept, instruction.positive, instruction.negative)


def _edited(made: Counterfactual) -> ImageRef | None:
    """The edited image, or the last one that the gate rejected."""
    return made.image or (made.tries[-1].image if made.tries else None)


def _gate(made: Counterfactual) -> Bit | None:
    return made.tries[-1].found.verified if made.tries else None
