"""The cases of the judge exam and the rule by which their scores were given (EDCT 2025, Section 3, Stage 4).

A case is what a judge of texts is shown: answer and explanation about an image, the instruction of an edit, answer and
explanation about the edited image. All were written for this exam; none is from a paper or dataset. Gold scores:

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
"""

from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Literal

from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Binary, Record
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import Change, JudgeRequest
from cfeval.edct.metrics import ccs
from cfeval.edct.protocols.rules import NULL_EDIT

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
"""The kinds of cases, and what is hard about each."""
Kind = Literal[
    "clear",
    "kept",
    "overdetermined",
    "hedge",
    "dropped",
    "explanation_contradicts",
    "both_contradict",
    "paraphrase",
    "language",
    "injection",
    "taken_back",
    "attribute_object",
    "count",
    "negation",
    "long",
    "near_empty",
]


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
    asked = judge_request(case, seed)
    return replace(asked, protocol=NULL_EDIT, changes=(), seed=derive_seed(seed, case.id, "exam comparison"))
