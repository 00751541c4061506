"""The exam of a verifier: how often it accepts edits that are right, and rejects those that are not.

Sensitivity is the share of right edits that it accepts, specificity the share of wrong ones that it rejects; an edit of
which it cannot tell counts for neither. Wilson intervals with the scenes as clusters.
"""

from collections.abc import Iterator, Sequence

from cfeval.core.records import Binary, Record, Status
from cfeval.edct.exam.edits import EDITS, EditCase, case_request, edited, editors, scenes
from cfeval.edct.exam.identity import NOBODY, Identity
from cfeval.edct.exam.table import ALL, counted, examined_note, interval, right_share, share_of
from cfeval.edct.exam.verdict import VERIFIER, Task, Verdict, verdict
from cfeval.edct.interfaces import Verifier, VerifyReply
from cfeval.inference.batching import map_requests
from cfeval.report.tables import Figure, RenderedTable, figures_of, intervals, with_interval
from cfeval.stats.intervals import rounded
from cfeval.stats.proportions import Share

BATCH = 64


class VerifierReply(Record):
    """What a verifier gave for a case, next to the truth; `accepted` is empty where it cannot tell."""

    id: str
    kind: str
    scene: int
    right: Binary
    accepted: Binary | None = None
    reason: str = ""
    completion: str = ""


class VerifierRow(Identity):
    """One kind of cases; shares in [0, 1], None where there is no such case."""

    kind: str
    n: int
    n_scored: int
    sensitivity: Figure = None
    """The share of right edits that are accepted."""
    sensitivity_lo: Figure = None
    sensitivity_hi: Figure = None
    n_right: int = 0
    size_right: Figure = None
    """As how many independent edits they count: one scene has several."""
    specificity: Figure = None
    """The share of wrong edits that are rejected."""
    specificity_lo: Figure = None
    specificity_hi: Figure = None
    n_wrong: int = 0
    size_wrong: Figure = None
    ci: str = ""
    cases: int = 0
    """How many cases the exam was to have in all: one that was stopped has fewer in the row of all."""


def examine(verifier: Verifier, cases: Sequence[EditCase], seed: int) -> Iterator[VerifierReply]:
    """What a verifier says of every case, in order."""
    shown, made_by = scenes(), editors(cases)

    async def verify(case: EditCase) -> VerifyReply:
        scene = shown[case.scene]
        image = await edited(case, scene, made_by.get(case.kind))
        return await verifier.verify(case_request(case, scene, image, seed))

    for case, reply in map_requests(cases, lambda case: case, verify, BATCH):
        yield VerifierReply(
            id=case.id,
            kind=case.kind,
            scene=case.scene,
            right=case.right,
            accepted=_accepted(reply),
            reason=" ".join(reply.reason.split()),
            completion=reply.completion,
        )


def _accepted(reply: VerifyReply) -> Binary | None:
    """Whether the edit would count; one of what is not there does not, whatever else is said of it."""
    if reply.verified is None and not reply.absent:
        return None
    return 1 if reply.verified and not reply.absent else 0


def call_failed(reply: VerifierReply) -> bool:
    """Whether there is no verdict because a call failed."""
    return reply.accepted is None and str(Status.TRANSPORT_ERROR) in reply.reason


def rows(replies: Sequence[VerifierReply], cases: Sequence[EditCase], examined: Identity = NOBODY) -> list[VerifierRow]:
    """A row for all cases, then one for each kind."""
    kinds = [kind for kind in EDITS if any(reply.kind == kind for reply in replies)]
    chosen = {ALL: list(replies)} | {kind: [reply for reply in replies if reply.kind == kind] for kind in kinds}
    own = {**examined.model_dump(), "cases": len(cases)}
    return [_row(kind, some).model_copy(update=own) for kind, some in chosen.items()]


def _row(kind: str, replies: Sequence[VerifierReply]) -> VerifierRow:
    scored = [reply for reply in replies if reply.accepted is not None]
    right, wrong = ([reply for reply in scored if reply.right == truth] for truth in (1, 0))
    shares = {"right": _share(right), "wrong": _share(wrong)}
    figures = {"sensitivity": interval(shares["right"]), "specificity": interval(shares["wrong"])}
    sizes = {f"size_{name}": rounded(share.size) for name, share in shares.items() if share}
    counts = {"n": len(replies), "n_scored": len(scored), "n_right": len(right), "n_wrong": len(wrong)}
    return VerifierRow.model_validate({"kind": kind, **counts, **sizes, **figures_of(figures)})


def _share(replies: Sequence[VerifierReply]) -> Share | None:
    return right_share([(reply.accepted == reply.right, str(reply.scene)) for reply in replies])


def outcome(table: Sequence[VerifierRow]) -> Verdict:
    """Whether the verifier has passed: see `cfeval.edct.exam.verdict`."""
    whole = next(row for row in table if row.kind == ALL)
    sensitivity = share_of(whole.sensitivity, whole.n_right, whole.size_right)
    specificity = share_of(whole.specificity, whole.n_wrong, whole.size_wrong)
    return verdict({"": Task(whole.n, whole.n_scored, "", sensitivity, specificity)}, VERIFIER)


def render(table: Sequence[VerifierRow]) -> RenderedTable:
    """The table for readers."""
    headings = ("Edits", "Shown", "Told", "Right ones accepted", "Wrong ones rejected")
    body = tuple(
        (
            row.kind.replace("_", " "),
            str(row.n),
            str(row.n_scored),
            counted(with_interval(row, "sensitivity"), row.n_right),
            counted(with_interval(row, "specificity"), row.n_wrong),
        )
        for row in table
    )
    notes = (
        "In brackets: how many such edits have a verdict. " + intervals(table).strip(),
        *examined_note(table),
        "Edits: " + "; ".join(f"{kind.replace('_', ' ')}: {what}" for kind, what in EDITS.items()) + ".",
    )
    return RenderedTable("edct_exam", "Verifier exam: edits of drawn scenes, right and wrong", headings, body, notes)
