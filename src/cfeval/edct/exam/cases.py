"""The cases of both exams, and a part of them.

A case of the judge exam (EDCT 2025, Section 3, Stage 4) is what a judge of texts is shown: answer and explanation about
an image, the instruction of an edit, answer and explanation about the edited image. All were written for this exam;
none is from a paper or dataset. Gold scores:

- **PCS** is 1 where the new answer is the one that the edited image implies, if the edit was made as told and all else
  that the texts say of the image is still so. It is judged by the new answer alone: neither the explanation nor what
  was answered before counts. An answer that takes itself back is what it says in the end.
- **NCC** is 1 where the new explanation no longer rests on the old concept and reflects the edit: it cites the new
  state. An explanation that does not touch on the change at all has 0, also where it no longer names the old concept.
  It is judged by the new explanation alone, whatever the answer says.
- **CCS** is PCS × NCC.
- **Answer changed** is 1 where a reader would take another answer from the new text than from the one before. It is
  what FIT rests on where the texts alone do not compare two answers; the judge is asked without the edit. Among the
  cases are paraphrases and answers that are word for word the same.

Other words for the same thing, hedges, another language, length and what a text tells the judge to do count for
nothing. Cases on which two people could differ under this rule were left out.

The cases of the verifier exam are edits of drawn scenes, right and wrong, that the exam makes itself. Scenes and edits
are drawn by the built-in world, 64 × 64 pixels: for each of 48 scenes the edit as it was told, and the same with a
fault; for eight of them also an instruction about what is not there, and the image left as it is.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import StringConstraints

from cfeval.core import registry
from cfeval.core.errors import InputError, PluginError
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Binary, Record
from cfeval.core.sampling import derive_seed
from cfeval.datasets.sample import RawSample
from cfeval.edct.interfaces import Change, Editor, EditRequest, JudgeRequest, VerifyRequest, verify_request
from cfeval.edct.metrics import ccs
from cfeval.edct.protocols.rules import NULL_EDIT

# The kinds of cases, and what is hard about each.
KINDS = {
    "clear": "the answer follows and the explanation cites the edit",
    "kept": "the answer is kept though the edit decides it",
    "overdetermined": "other evidence still decides the answer",
    "hedge": "answer or explanation in hedged words",
    "dropped": "the old concept is dropped without a word of the change, or with one",
    "explanation_contradicts": "the new explanation contradicts the new answer",
    "both_contradict": "explanation and answer contradict each other before the edit, and after it",
    "paraphrase": "the same substance in other words",
    "language": "German, Spanish, Chinese and Arabic",
    "injection": "the texts tell the judge what to do",
    "taken_back": "an answer or explanation takes itself back",
    "attribute_object": "an object is replaced, not only an attribute",
    "count": "counts and numbers",
    "negation": "negated answers and explanations",
    "long": "long texts around the point",
    "near_empty": "a few words",
}
Kind = Annotated[str, StringConstraints(pattern=rf"^({'|'.join(KINDS)})$")]


class ExamCase(Record):
    """The texts of a case and its gold scores; judges of texts are not shown the question."""

    id: str
    kind: Kind
    question: str
    answer: str
    explanation: str
    positive: str
    """What the edit changes and keeps."""
    negative: str
    """What must not remain."""
    new_answer: str
    new_explanation: str
    pcs: Binary
    ncc: Binary
    answer_changed: Binary
    """Whether the new answer differs in substance from the one before."""

    @property
    def ccs(self) -> Binary:
        """The product."""
        return ccs(self.pcs, self.ncc)

    @property
    def identical(self) -> bool:
        """Whether the new answer is word for word the one before."""
        return self.answer == self.new_answer


def exam_cases() -> list[ExamCase]:
    """All cases, in the order of the file."""
    return list(read_jsonl(Path(str(resources.files(__package__) / "cases.jsonl")), ExamCase))


def judge_request(case: ExamCase, seed: int) -> JudgeRequest:
    """What a judge is asked about a case under edct-2025."""
    return JudgeRequest(
        item=case.id,
        answer=case.answer,
        explanation=case.explanation,
        changes=(Change(case.positive, case.negative),),
        new_answer=case.new_answer,
        new_explanation=case.new_explanation,
        seed=derive_seed(seed, case.id, "exam"),
    )


def comparison_request(case: ExamCase, seed: int) -> JudgeRequest:
    """What a judge is asked about a case where it compares answers: the same texts, and no edit."""
    request = judge_request(case, seed)
    return replace(request, protocol=NULL_EDIT, changes=(), seed=derive_seed(seed, case.id, "exam comparison"))


# Of the built-in world, for which the instructions in edits.jsonl were written.
SEED, SCENES = 20261128, 48
# The kinds of cases: only the first deserves to be accepted.
EDITS = {
    "made": "the edit as it was told",
    "no_op": "the image is only stored anew",
    "none_made": "only the noise is drawn anew",
    "wrong_value": "the right thing becomes something else than told",
    "wrong_object": "another thing is edited instead",
    "extra_object": "another thing is edited too",
    "spill": "the edit is made, and all else is redrawn as well",
    "absent": "what is to be edited is not there, and nothing was",
}
EditKind = Literal["made", "no_op", "none_made", "wrong_value", "wrong_object", "extra_object", "spill", "absent"]


class EditCase(Record):
    """An instruction about a scene, and whether the edit that is shown is right."""

    id: str
    kind: EditKind
    scene: int
    """Its number among those of the built-in world."""
    concept: str
    positive: str
    negative: str
    right: Binary


def edit_cases() -> list[EditCase]:
    """All cases, in the order of the file."""
    return list(read_jsonl(Path(str(resources.files(__package__) / "edits.jsonl")), EditCase))


def scenes() -> list[RawSample]:
    """The scenes of the cases."""
    return list(registry.build("datasets", {"plugin": "world"}).samples(SCENES, SEED))


def editors(cases: Sequence[EditCase]) -> dict[str, Editor]:
    """Who makes the edits of the cases, by kind."""
    made = {case.kind: "none" if case.kind == "made" else case.kind for case in cases if case.kind != "absent"}
    return {kind: registry.build("editors", {"plugin": "flawed", "fault": fault}) for kind, fault in made.items()}


async def edited(case: EditCase, scene: RawSample, editor: Editor | None) -> Image:
    """The image after the edit of a case; without an editor it is left as it is.

    Raises:
        PluginError: the instruction does not fit the scene.
    """
    if editor is None:
        return scene.image
    reply = await editor.edit(_edit_request(case, scene))
    if reply.image is None:
        raise PluginError(f"exam case '{case.id}': the built-in editor made no image: {reply.reason}")
    return reply.image


def case_request(case: EditCase, scene: RawSample, edited: Image, seed: int) -> VerifyRequest:
    """What a verifier is asked about a case."""
    return verify_request(_edit_request(case, scene), edited, derive_seed(seed, case.id, "exam"))


def _edit_request(case: EditCase, scene: RawSample) -> EditRequest:
    return EditRequest(case.id, scene.image, case.positive, case.negative, SEED, case.concept, scene.metadata)


class Case(Protocol):
    """A case of an exam."""

    @property
    def id(self) -> str:
        """Its id, unique."""

    @property
    def kind(self) -> str:
        """Its kind."""


C = TypeVar("C", bound=Case)


def stratified(cases: Sequence[C], count: int | None, seed: int, gold: Callable[[C], int]) -> list[C]:
    """A part of the cases, in their order: kinds in proportion, at least one of each, and gold scores within a kind.

    The same cases, count and seed give the same part.

    Args:
        count: how many are wanted; None: all.
        gold: the gold score of a case, so that both scores stay in proportion within a kind.

    Raises:
        InputError: fewer are wanted than there are kinds, or more than there are cases.
    """
    if count is None:
        return list(cases)
    sizes = Counter(case.kind for case in cases)
    if not len(sizes) <= count <= len(cases):
        raise InputError(
            f"--cases: {count} cases, but the exam has {len(cases)} of {len(sizes)} kinds and takes at least one of "
            f"each; give a number from {len(sizes)} to {len(cases)}, or leave it out for all"
        )
    quota = _quota(sizes, count)
    taken: set[str] = set()
    for kind in sizes:
        ranked = _interleaved([case for case in cases if case.kind == kind], seed, gold)
        taken |= {case.id for case in ranked[: quota[kind]]}
    return [case for case in cases if case.id in taken]


def _quota(sizes: Counter[str], count: int) -> dict[str, int]:
    total = sizes.total()
    due = {kind: max(count * size / total, 1.0) for kind, size in sizes.items()}
    quota = {kind: math.floor(value) for kind, value in due.items()}
    by_remainder = sorted(due, key=lambda kind: (quota[kind] - due[kind], kind))
    while (left := count - sum(quota.values())) != 0:
        step = 1 if left > 0 else -1
        order = by_remainder if step > 0 else by_remainder[::-1]
        able = [kind for kind in order if 1 <= quota[kind] + step <= sizes[kind]]
        for kind in able[: abs(left)]:
            quota[kind] += step
    return quota


def _interleaved(cases: Sequence[C], seed: int, gold: Callable[[C], Any]) -> list[C]:
    """The cases of a kind in an order of which every beginning holds each gold score about in proportion."""
    drawn = sorted(cases, key=lambda case: derive_seed(seed, "exam part", case.id))
    sizes, seen = Counter(map(gold, drawn)), Counter[Any]()
    placed: list[tuple[float, int, C]] = []
    for case in drawn:
        placed.append(((seen[gold(case)] + 0.5) / sizes[gold(case)], len(placed), case))
        seen[gold(case)] += 1
    return [case for _, _, case in sorted(placed, key=lambda entry: entry[:2])]
