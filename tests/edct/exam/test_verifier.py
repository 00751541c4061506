"""The verifier exam, taken by verifiers whose error is known; and its cases."""

from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from cfeval.core import registry
from cfeval.core.jsonl import read_csv
from cfeval.edct.exam.cases import EDITS, EditKind, edit_cases, scenes
from cfeval.edct.exam.cli import VerifierReply, VerifierRow, call_failed, examine_verifier, verifier_rows
from cfeval.edct.interfaces import VerifyReply, VerifyRequest
from tests.conftest import Run
from tests.loopback.server import loopback
from tests.provider_study import KEY_ENV, params, target, written

CASES = edit_cases()
ACCEPTED = "PRESENT: 1\nAS_ASKED: 1\nOTHERS: 0"


class Always:
    """Says the same of every edit; remembers what it was shown."""

    def __init__(self, *said: VerifyReply) -> None:
        self.said, self.seen = said, list[VerifyRequest]()

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """One of the replies, by turns."""
        self.seen.append(request)
        return self.said[(len(self.seen) - 1) % len(self.said)]


def taken(verifier: Any) -> dict[str, VerifierRow]:
    return {row.kind: row for row in verifier_rows(list(examine_verifier(verifier, CASES, 0)), CASES)}


def test_every_kind_has_cases_and_about_half_are_right() -> None:
    counts = Counter(case.kind for case in CASES)
    assert set(get_args(EditKind)) == set(EDITS) == set(counts)
    assert min(counts.values()) >= 8
    assert {case.kind for case in CASES if case.right} == {"made"}
    assert 0.4 < sum(case.right for case in CASES) / len(CASES) < 0.6
    assert len({case.id for case in CASES}) == len(CASES)


def test_each_instruction_fits_its_scene_and_only_what_is_absent_does_not() -> None:
    """The built-in reader, which knows the scenes and is never wrong about them, tells each edit as it is meant."""
    table = taken(registry.build("verifiers", {"plugin": "reader", "align": True}))
    assert (table["all"].sensitivity, table["all"].specificity) == (1, 1)
    assert table["all"].n_scored == len(CASES) == 104


def test_edits_are_made_as_their_kind_says() -> None:
    verifier = Always(VerifyReply(True))
    list(examine_verifier(verifier, CASES, 0))
    drawn = scenes()
    for case, shown in zip(CASES, verifier.seen, strict=True):
        assert (shown.item, shown.positive) == (case.id, case.positive)
        assert shown.original == drawn[case.scene].image
        assert (shown.edited == shown.original) is (case.kind == "absent")
    right = {case.scene: shown.edited for case, shown in zip(CASES, verifier.seen, strict=True) if case.right}
    assert all(
        shown.edited != right[case.scene] for case, shown in zip(CASES, verifier.seen, strict=True) if not case.right
    )


def test_verifiers_of_one_answer_have_no_specificity_or_no_sensitivity() -> None:
    always, never = taken(Always(VerifyReply(True)))["all"], taken(Always(VerifyReply(False)))["all"]
    assert (always.sensitivity, always.specificity) == (1, 0)
    assert (never.sensitivity, never.specificity) == (0, 1)


def test_an_edit_of_what_is_said_to_be_absent_is_rejected_and_one_that_nobody_can_tell_is_missing() -> None:
    table = taken(Always(VerifyReply(None, absent=True)))
    assert (table["absent"].specificity, table["made"].sensitivity) == (1, 0)
    table = taken(Always(VerifyReply(None, "transport_error: no network")))
    assert (table["all"].n_scored, table["all"].sensitivity) == (0, None)
    unsure = VerifierReply(id="i", kind="made", scene=0, right=1, reason="all: transport_error: no network")
    assert call_failed(unsure)
    assert not call_failed(unsure.model_copy(update={"reason": "unparsable: no form"}))


@pytest.mark.parametrize(
    ("name", "status", "told"),
    [
        ("world", 0, "pass: fit for use. Sensitivity 1.00 ["),
        ("flawed-gated", 1, "fail: accepts edits that are wrong or were not made: do not use. Sensitivity 1.00 ["),
        ("flawed-gated-read", 0, "pass: fit for use."),
    ],
)
def test_verifiers_and_gates_of_the_parameters_are_examined_by_name(
    cfeval: Run, tmp_path: Path, name: str, status: int, told: str
) -> None:
    """The gate that only finds the place lets wrong values and extra objects pass, as its calibration says."""
    ended, printed, _ = cfeval("exam", "--verifier", name, "--out", tmp_path / "exam")
    assert (ended, printed.splitlines()[-1].startswith(told)) == (status, True)
    assert len(read_csv(tmp_path / "exam-replies.csv", VerifierReply)) == len(CASES)
    assert read_csv(tmp_path / "exam.csv", VerifierRow)[0].plugin in ("reader", "localised", "all_of")


def test_names_that_cannot_be_examined_are_one_line(cfeval: Run, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "exam")
    for arguments, told in (
        (("exam", "--verifier", "scene"), "edct.verifiers of params.yaml has no 'scene', and no editor of that name"),
        (("exam", "--verifier", "world", "--judge", "grammar"), "--judge and --verifier: one of them at a time"),
        (("exam", "--verifier", "world", "--cases", "7"), "give a number from 8 to 104"),
        (("edct", "exam"), "name either --judge or --verifier"),
        (("edct", "exam", "--verifier", "{}", "--judge", "{}"), "name either --judge or --verifier"),
    ):
        status, _, err = cfeval(*arguments, *out)
        assert (status, err.count("\n"), told in err) == (2, 1, True), err
    assert not (tmp_path / "exam.csv").exists()


def test_a_hosted_verifier_that_accepts_everything_is_found_out(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, "key")
    monkeypatch.setenv("CFEVAL_CALLS", "")
    with loopback(personas={"echo": lambda _: ACCEPTED}) as server:
        content = params(tmp_path, server.openai, max_connections=4)
        content["edct"]["verifiers"] = {"d": {"plugin": "semantic", "model": target(server.openai)}}
        written(tmp_path, content)
        status, printed, _ = cfeval("exam", tmp_path, "--verifier", "d", "--cases", 30, "--out", tmp_path / "exam")
        assert (status, server.sent().total(), server.most_in_flight <= 4) == (1, 30, True)
    assert printed.splitlines()[-1].startswith("fail: accepts whatever it is shown: do not use. Sensitivity 1.00 [")
