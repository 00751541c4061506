"""The cost of a verified edit against sums by hand."""

import json
from pathlib import Path

import pytest

from cfeval.core.config import Calls
from cfeval.core.records import ImageRef
from cfeval.edct import edit_cost
from cfeval.edct.edit_cost import costs, edits_of
from cfeval.edct.files import ConditionFiles, conditions_in
from cfeval.edct.records import Check, Counterfactual, EditAttempt, Verification
from cfeval.inference.remote.settings import VARIABLE


def image(name: str) -> ImageRef:
    return ImageRef(path=f"{name}.png", sha256=name[0] * 64)


def attempt(name: str, passed: int) -> EditAttempt:
    return EditAttempt(seed=0, image=image(name), found=Verification(verified=passed))


def check(verified: int | None) -> Check:
    return Check(id="x", found=Verification(verified=verified))


FAILED = {"status": "edit_invalid", "stage": "counterfactuals", "reason": "not verified"}
GATED = [
    (Counterfactual(id="i", seed=0, image=image("a"), attempts=(attempt("a", 1),), calls=("1" * 64,)), None),
    (Counterfactual(id="j", seed=0, image=image("c"), attempts=(attempt("b", 0), attempt("c", 1))), check(1)),
    (Counterfactual(id="k", seed=0, **FAILED, attempts=(attempt("d", 0), attempt("e", 0)), calls=("2" * 64,)), None),
    (Counterfactual(id="l", seed=0, status="refused", stage="baselines", reason="no"), None),
]


def test_failed_edits_and_further_attempts_are_paid_for_by_the_verified_ones() -> None:
    """Five images at 4 s, three edits that reached the editor, two of them verified, 0.2 USD of calls."""
    seconds = dict.fromkeys((letter * 64 for letter in "abcde"), 4.0)
    prices = {"1" * 64: 0.05, "2" * 64: 0.15}
    (found,) = costs({"gated": GATED}, seconds, lambda keys: sum(prices[key] for key in keys), 3.6)
    assert (found.edits, found.images, found.verified, found.unsure, found.timed) == (3, 5, 2, 0, 5)
    assert found.seconds_each == pytest.approx(10.0)
    assert found.gpu_hours_each == pytest.approx(10 / 3600)
    assert found.usd_each == pytest.approx((0.2 + 20 / 3600 * 3.6) / 2)


def test_images_of_unknown_time_take_the_mean_and_the_verifier_has_the_last_word() -> None:
    made = [
        (Counterfactual(id="i", seed=0, image=image("a")), check(1)),
        (Counterfactual(id="j", seed=0, image=image("b")), check(0)),
        (Counterfactual(id="k", seed=0, image=image("c")), check(None)),
    ]
    (found,) = costs({"plain": made}, {"a" * 64: 2.0, "b" * 64: 4.0}, lambda keys: 0.0, None)
    assert (found.verified, found.unsure, found.timed, found.images) == (1, 1, 2, 3)
    assert found.seconds_each == pytest.approx(9.0)
    assert (found.gpu_usd, found.usd_each) == (None, 0.0)


def test_an_editor_with_other_options_has_a_row_of_its_own() -> None:
    """Twice as fast, and a third of its edits pass: dearer for each that was verified."""
    fast = [
        (Counterfactual(id=item, seed=0, image=image(name)), check(int(item == "i")))
        for item, name in (("i", "d"), ("j", "e"), ("k", "f"))
    ]
    whole = [(Counterfactual(id="i", seed=0, image=image("a")), check(1))]
    seconds = {"a" * 64: 4.0, **dict.fromkeys((letter * 64 for letter in "def"), 2.0)}
    one, other = costs({"klein": whole, "klein-int8": fast}, seconds, lambda keys: 0.0, None)
    assert [(it.editor, it.share, it.seconds_each) for it in (one, other)] == [
        ("klein", 1.0, 4.0),
        ("klein-int8", pytest.approx(1 / 3), 6.0),
    ]


def test_nothing_is_said_of_what_is_not_known() -> None:
    (found,) = costs({"plain": [(Counterfactual(id="i", seed=0, image=image("a")), None)]}, {}, lambda keys: 1.0, 3.0)
    assert (found.seconds_each, found.gpu_hours_each, found.usd_each) == (None, None, None)


def test_an_edit_that_conditions_share_counts_once(tmp_path: Path) -> None:
    """Two targets with the same instruction and so the same image of `i`; of `j` they differ."""
    for vlm, second in (("a", "c"), ("b", "d")):
        made = [
            Counterfactual(id=item, seed=0, image=image(name)).model_dump_json()
            for item, name in (("i", "a"), ("j", second))
        ]
        checks = [check(1).model_copy(update={"id": item}).model_dump_json() for item in ("i", "j")]
        for stage, lines in (("counterfactuals", made), ("checks", checks), ("verdicts", [])):
            judged = "j/" if stage == "verdicts" else ""
            path = tmp_path / stage / "mine" / vlm / f"w/e/{judged}edct-2025.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))
    files = {one: ConditionFiles(tmp_path, one, shards) for one, shards in conditions_in(tmp_path).items()}
    (found,) = costs(edits_of(files), {}, lambda keys: 0.0, None)
    assert (found.editor, found.edits, found.images, found.verified) == ("e", 3, 3, 3)


def test_times_are_kept_in_a_job_of_the_workflow_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".cfeval" / edit_cost.TIMES_FILE
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    edit_cost.note_times(["a" * 64], 1.0)
    assert not path.exists()
    monkeypatch.setenv(VARIABLE, Calls().model_dump_json())
    edit_cost.note_times(["a" * 64, "b" * 64], 1.0)
    edit_cost.note_times(["a" * 64], 2.5)
    with path.open("a") as file:
        file.write(json.dumps({"image": "c" * 64, "seconds": 9})[:-5])  # killed while writing
    assert edit_cost.noted_times(path) == {"a" * 64: 2.5, "b" * 64: 1.0}
