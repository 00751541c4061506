"""From the records of an arm to what people see of its edits."""

from collections.abc import Iterator, Mapping, Sequence
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
    """The records of one arm that a sheet draws on, by item, or by item and edit."""

    scores: Sequence[Score]
    samples: Mapping[str, Sample]
    baselines: Mapping[str, Baseline]
    instructions: Mapping[Key, Instruction]
    counterfactuals: Mapping[Key, Counterfactual]
    requeries: Mapping[Key, Requery]


def candidates(of: ArmRecords) -> Iterator[Candidate]:
    """The edits that people can label: those that were scored, and those that the editor's own gate rejected.

    What failed otherwise, before or after the edit, has nothing that a label could be compared with.
    """
    for score in of.scores:
        made = of.counterfactuals.get((score.id, score.edit))
        if made and _edited(made) and score.status in (Status.OK, Status.EDIT_INVALID):
            yield Candidate(score, _gate(made))


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
