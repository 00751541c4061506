"""From drafts to a set: nothing enters it unverified (C-VQA, Section 3.2).

People decide about drafts in a CSV to be filled in, with what they need to know beside it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from cfeval.core import images
from cfeval.core.cli_options import Archive, Cut, Out, Shards
from cfeval.core.errors import InputError, nearest
from cfeval.core.files import atomic_writer
from cfeval.core.jsonl import first_fault, read_jsonl, write_jsonl
from cfeval.core.records import Status
from cfeval.core.shards import sharded_gallery, whole_or_shards_of_all
from cfeval.core.streams import RecordIndex
from cfeval.core.text_files import CsvFile, csv_line
from cfeval.cvqa.building import check_sum, numbers_fault, turn_fault
from cfeval.cvqa.files import DraftsFiles, ReviewsFiles
from cfeval.cvqa.records import CvqaBuild, Decision, Draft, Fate, Question, QuestionPair, Review, form_of, has_if_clause

Decisions = Annotated[
    Path | None, typer.Option("--decisions", help="People's decisions (CSV); see `cfeval cvqa decisions`.")
]
People = Annotated[bool, typer.Option("--people", help="Whether a person must have accepted each.")]
# Why a draft is left out, and the reason in words.
_Exclusion = tuple[Fate, str]


@dataclass(frozen=True)
class Assembly:
    """What came of a draft, and the pair where it became one."""

    build: CvqaBuild
    pair: QuestionPair | None = None


def assembled(
    drafts: Iterable[Draft], reviews: Mapping[str, Review], decisions: Mapping[str, Decision], people: bool
) -> Iterator[Assembly]:
    """Decide about every draft, in order.

    A person's `no` drops a draft; a `yes` overrules the second model, and what the person corrected replaces what the
    draft says. A sum that is wrong drops a draft that nobody corrected, whoever accepts it; a direct draft without a
    sum needs a person's yes.

    Args:
        drafts: what was written.
        reviews: what the second model says, by id.
        decisions: what people decided, by id.
        people: whether a person must have accepted each; where not, the second model suffices.
    """
    for draft in drafts:
        decision = decisions.get(draft.id, Decision(id=draft.id))
        yield _assembled(draft, reviews.get(draft.id), decision, people)


def _assembled(draft: Draft, review: Review | None, decision: Decision, people: bool) -> Assembly:
    corrected = bool(decision.question or decision.answer)
    left = _exclusion(draft, review, decision, people)
    if left is not None:
        return Assembly(CvqaBuild(id=draft.id, type=draft.type, fate=left[0], reason=left[1]))
    build = CvqaBuild(
        id=draft.id,
        type=draft.type,
        fate="accepted",
        by="person" if decision.accept else "model",
        corrected=1 if corrected else 0,
    )
    return Assembly(
        build,
        QuestionPair(
            id=draft.id,
            image=draft.image,
            original=draft.original,
            counterfactual=Question(
                question=decision.question or draft.question, answer=decision.answer or draft.answer
            ),
            type=draft.type,
            img_path=draft.img_path,
            coco=draft.coco,
            metadata=draft.metadata,
        ),
    )


def _exclusion(draft: Draft, review: Review | None, decision: Decision, people: bool) -> _Exclusion | None:
    """Why a draft does not enter the set, the first reason that holds; None where it does."""
    if draft.status != Status.OK:
        return "not written", f"{draft.status}: {draft.reason}"
    if decision.accept == "no":
        return "rejected", decision.comment
    sums = check_sum(draft.step2, draft.original.answer, draft.answer) if draft.type == "direct" else None
    if decision.accept == "yes":
        corrected = bool(decision.question or decision.answer)
        return ("wrong sum", sums.reason) if sums and sums.reason and not corrected else None
    if sums and sums.reason:
        return "wrong sum", sums.reason
    if sums and sums.verdict == "no sum":
        return "no sum", "step 2 states no sum that could be recomputed; a person can accept the draft"
    if fault := _step_fault(draft):
        return "inconsistent", fault
    return _unreviewed(review) or (("undecided", "") if people else None)


def _step_fault(draft: Draft) -> str:
    if draft.type == "boolean":
        return turn_fault(draft.step1, draft.answer)
    return numbers_fault(draft.step1, draft.original.question, draft.question)


def _unreviewed(review: Review | None) -> _Exclusion | None:
    if review is None or review.status != Status.OK:
        return "not reviewed", review.reason if review else "there is no review of it"
    if review.related != 1:
        return "not related", review.reason_given
    if review.reasonable != 1:
        return "not reasonable", review.reason_given
    return None


def run_builds(
    drafts: DraftsFiles,
    out: Out,
    reviews: ReviewsFiles = None,
    decisions: Decisions = None,
    people: People = False,
    shards: Shards = 1,
    cut: Cut = None,
    archive: Archive = False,
) -> None:
    """Let drafts into a set that every check and, where people decide, every person lets pass.

    A set that nothing has entered yet is an empty file. What became of every draft is told by `cfeval cvqa fates`.
    """
    made = _decided(out, drafts, reviews or (), decisions, people, cut)
    with sharded_gallery(out, shards, archive) as add:
        for file, assembly in made:
            if pair := assembly.pair:
                image = images.load(images.folder_of(file), pair.image)
                add(pair.id, pair, {pair.image.path: image})


def run_fates(
    drafts: DraftsFiles,
    out: Out,
    reviews: ReviewsFiles = None,
    decisions: Decisions = None,
    people: People = False,
    cut: Cut = None,
) -> None:
    """Write what became of every draft, with why it stays out of the set where it does (JSONL), and count it."""
    builds = [assembly.build for _, assembly in _decided(out, drafts, reviews or (), decisions, people, cut)]
    write_jsonl(out, builds)
    fates = Counter(build.fate for build in builds)
    left = ", ".join(f"{fate} {count}" for fate, count in sorted(fates.items()) if fate != "accepted")
    print(f"{fates.total()} drafts: {fates['accepted']} accepted" + (f"; {left}" if left else ""))


def _decided(
    out: Path, drafts: Iterable[Path], reviews: Iterable[Path], decisions: Path | None, people: bool, cut: int | None
) -> Iterator[tuple[Path, Assembly]]:
    """What comes of each draft, with the file that it stands in; InputError where OUT is a file that is read."""
    files, reviewed = whole_or_shards_of_all(drafts, cut), whole_or_shards_of_all(reviews, cut)
    read = [*files, *reviewed, *([decisions] if decisions else ())]
    if out.absolute() in [file.absolute() for file in read]:
        raise InputError(f"--out: {out} is named twice; choose another name")
    draft_index, review_index = RecordIndex(files, Draft), RecordIndex(reviewed, Review)
    decided = read_decisions(decisions, draft_index) if decisions else {}
    return (
        (file, assembly)
        for file in files
        for assembly in assembled(read_jsonl(file, Draft), review_index, decided, people)
    )


def run_decisions(drafts: DraftsFiles, out: Out, reviews: ReviewsFiles = None) -> None:
    """Write the CSV in which people decide about drafts: one row a draft, with what the checks found beside it.

    Fill in accept (yes or no), and where it needs one a corrected question and answer; then name the file in
    params.yaml (`decisions` of the build), or by `cfeval cvqa builds --decisions`. A file that exists is never
    overwritten.
    """
    if out.exists():
        raise InputError(f"{out}: exists already, and may hold decisions; choose another name")
    review_index = RecordIndex(whole_or_shards_of_all(reviews or ()), Review)
    files = whole_or_shards_of_all(drafts)
    write_decisions(out, chain.from_iterable(read_jsonl(file, Draft) for file in files), review_index)
    print(f"{out}: fill in accept (yes or no) for every row")


# Columns to be read only; what is written in them counts for nothing, and new question and answer must stay.
CONTEXT = (
    "image",
    "type",
    "original_question",
    "original_answer",
    "new_question",
    "new_answer",
    "step1",
    "step2",
    "sum",
    "related",
    "reasonable",
    "reason",
)
# Columns to be filled in: yes or no; a corrected question and answer where they need it; anything.
DECISION_COLUMNS = ("accept", "question", "answer", "comment")
_COLUMNS = ("id", *CONTEXT, *DECISION_COLUMNS)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_BOM = "\ufeff"
_ANSWER_FORMS = {
    "number": ("0|[1-9][0-9]{0,8}", "digits"),
    "boolean": ("yes|no", "yes or no"),
    "choice": ("[A-D]", "A–D"),
}


def write_decisions(path: Path, drafts: Iterable[Draft], reviews: Mapping[str, Review]) -> None:
    """Write the file for every draft that could be read, to be filled in; `reviews` by id.

    UTF-8 with the mark by which spreadsheets know it; a text that one would take for a formula has an apostrophe in
    front.
    """
    with atomic_writer(path) as add:
        add(_BOM + csv_line(_COLUMNS))
        for draft in drafts:
            if draft.status == Status.OK:
                review = reviews.get(draft.id)
                related, reasonable = (review.related, review.reasonable) if review else (None, None)
                reason = (review.reason_given or review.reason) if review else ""
                context = (
                    draft.image.path,
                    draft.type,
                    draft.original.question,
                    draft.original.answer,
                    draft.question,
                    draft.answer,
                    draft.step1,
                    draft.step2,
                    *("" if value is None else str(value) for value in (draft.arithmetic, related, reasonable)),
                    reason,
                )
                cells = (draft.id, *context, *[""] * len(DECISION_COLUMNS))
                add(csv_line([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells]))


def read_decisions(path: Path, drafts: Mapping[str, Draft]) -> dict[str, Decision]:
    """What was decided, by id; rows in which nothing was filled in are left out.

    Args:
        path: the file, filled in.
        drafts: what was to be decided about, by id.

    Raises:
        InputError: one line that names the line and what is wrong with it.
    """
    decided: dict[str, Decision] = {}
    seen: set[str] = set()
    for place, row in _decision_rows(path):
        item = row["id"]
        draft = drafts.get(item)
        if draft is None:
            raise InputError(f"{place}: no draft '{item[:40]}'; {nearest(item, drafts) if drafts else 'there is none'}")
        if item in seen:
            raise InputError(f"{place}: '{item}' is decided a second time; keep one row")
        seen.add(item)
        decision = _decision(place, row, draft)
        if decision != Decision(id=item):
            decided[item] = decision
    return decided


def _bare(cell: str) -> str:
    """A cell as it was before `write_decisions` put an apostrophe in front."""
    plain = cell.strip()
    return plain[1:] if plain.startswith("'") and plain[1:].startswith(_FORMULA) else plain


def _decision_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows with their places; InputError where the file is no such CSV."""
    table = CsvFile(path, ("id", *DECISION_COLUMNS), lambda row: row)
    for name in table.header:
        if name and name not in _COLUMNS:
            raise InputError(f"{path}: unknown column {name!r}; {nearest(name, _COLUMNS)}")
    for row in table:
        yield f"{path}, line {row.line}", {name: _bare(cell) for name, cell in row.cells.items()}
    if table.faults:
        raise InputError(table.faults[0])


def _decision(place: str, row: Mapping[str, str], draft: Draft) -> Decision:
    accept, question, answer = row["accept"].lower(), row["question"], row["answer"]
    if accept not in ("", "yes", "no"):
        raise InputError(f"{place}: accept must be yes, no, or empty, but got {row['accept'][:40]!r}")
    for name, was in (("new_question", draft.question), ("new_answer", draft.answer)):
        if name in row and row[name] != _bare(was):
            column = name.removeprefix("new_")
            raise InputError(f"{place}: {name} is there to be read; write the correction in the column '{column}'")
    if (question or answer) and accept != "yes":
        raise InputError(f"{place}: a correction counts only where accept is yes; write yes, or leave it empty")
    if question and not has_if_clause(question):
        raise InputError(f"{place}: the question supposes nothing: it has no 'if'; write it as a counterfactual one")
    pattern, allowed = _ANSWER_FORMS[form_of(draft.original)]
    if answer and not re.fullmatch(pattern, answer):
        raise InputError(f"{place}: the answer to a {draft.type} question is {allowed}, but got {answer[:40]!r}")
    try:
        return Decision.model_validate(
            {"id": draft.id, "accept": accept, "question": question, "answer": answer, "comment": row["comment"]}
        )
    except ValidationError as error:
        raise InputError(f"{place}: {first_fault(error)}") from None
