"""From drafts to a set: nothing enters it unverified (C-VQA, Section 3.2)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core import images
from cfeval.core.cli_options import Archive, Cut, Out, Shards
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.records import Status
from cfeval.core.shards import sharded_gallery, whole_or_shards_of_all
from cfeval.core.streams import RecordIndex
from cfeval.cvqa.building.arithmetic import check_sum
from cfeval.cvqa.building.steps import numbers_fault, turn_fault
from cfeval.cvqa.decisions_file import read_decisions, write_decisions
from cfeval.cvqa.files import DraftsFiles, ReviewsFiles
from cfeval.cvqa.records import CvqaBuild, Decision, Draft, Fate, Question, QuestionPair, Review

Decisions = Annotated[
    Path | None, typer.Option("--decisions", help="People's decisions (CSV); see `cfeval cvqa decisions`.")
]
People = Annotated[bool, typer.Option("--people", help="Whether a person must have accepted each.")]
_Left = tuple[Fate, str]
"""Why a draft is left out, and the reason in words."""


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
    left = _left_out(draft, review, decision, people)
    if left is not None:
        return Assembly(CvqaBuild(id=draft.id, type=draft.type, fate=left[0], reason=left[1]))
    build = CvqaBuild(
        id=draft.id,
        type=draft.type,
        fate="accepted",
        by="person" if decision.accept else "model",
        corrected=1 if corrected else 0,
    )
    return Assembly(build, _pair(draft, decision))


def _left_out(draft: Draft, review: Review | None, decision: Decision, people: bool) -> _Left | None:
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
    """Whether the steps say something else than the new question and answer."""
    if draft.type == "boolean":
        return turn_fault(draft.step1, draft.answer)
    return numbers_fault(draft.step1, draft.original.question, draft.question)


def _unreviewed(review: Review | None) -> _Left | None:
    if review is None or review.status != Status.OK:
        return "not reviewed", review.reason if review else "there is no review of it"
    if review.related != 1:
        return "not related", review.reason_given
    if review.reasonable != 1:
        return "not reasonable", review.reason_given
    return None


def _pair(draft: Draft, decision: Decision) -> QuestionPair:
    return QuestionPair(
        id=draft.id,
        image=draft.image,
        original=draft.original,
        counterfactual=Question(question=decision.question or draft.question, answer=decision.answer or draft.answer),
        type=draft.type,
        img_path=draft.img_path,
        coco=draft.coco,
        metadata=draft.metadata,
    )


def run(
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
        for file, one in made:
            if pair := one.pair:
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
    builds = [one.build for _, one in _decided(out, drafts, reviews or (), decisions, people, cut)]
    write_jsonl(out, builds)
    print(_counted(Counter(build.fate for build in builds)))


def _decided(
    out: Path, drafts: Iterable[Path], reviews: Iterable[Path], decisions: Path | None, people: bool, cut: int | None
) -> Iterator[tuple[Path, Assembly]]:
    """What comes of each draft, with the file that it stands in; InputError where OUT is a file that is read."""
    files, reviewed = whole_or_shards_of_all(drafts, cut), whole_or_shards_of_all(reviews, cut)
    read = [*files, *reviewed, *([decisions] if decisions else ())]
    if out.absolute() in [file.absolute() for file in read]:
        raise InputError(f"--out: {out} is named twice; choose another name")
    known, said = RecordIndex(files, Draft), RecordIndex(reviewed, Review)
    decided = read_decisions(decisions, known) if decisions else {}
    return ((file, one) for file in files for one in assembled(read_jsonl(file, Draft), said, decided, people))


def _counted(fates: Counter[Fate]) -> str:
    left = ", ".join(f"{fate} {count}" for fate, count in sorted(fates.items()) if fate != "accepted")
    return f"{fates.total()} drafts: {fates['accepted']} accepted" + (f"; {left}" if left else "")


def run_decisions(drafts: DraftsFiles, out: Out, reviews: ReviewsFiles = None) -> None:
    """Write the CSV in which people decide about drafts: one row a draft, with what the checks found beside it.

    Fill in accept (yes or no), and where it needs one a corrected question and answer; then name the file in
    params.yaml (`decisions` of the build), or by `cfeval cvqa builds --decisions`. A file that exists is never
    overwritten.
    """
    if out.exists():
        raise InputError(f"{out}: exists already, and may hold decisions; choose another name")
    known = RecordIndex(whole_or_shards_of_all(reviews or ()), Review)
    files = whole_or_shards_of_all(drafts)
    write_decisions(out, chain.from_iterable(read_jsonl(file, Draft) for file in files), known)
    print(f"{out}: fill in accept (yes or no) for every row")
