"""A bundle without texts and images still proves what is left, and says what it cannot."""

import json
from pathlib import Path

import pytest

from cfeval.core.hashes import digest
from cfeval_audit.bundle.build import only_score_tables
from tests.audit.bundle.study import EDCT, TABLE, contents, forged
from tests.audit.bundle.test_bundle import SCORES, edited, refused, resealed
from tests.conftest import Run
from tests.edct.verification.study import IMAGES, MASK


def test_no_text_and_no_image_is_in_it(redacted: Path, bundle: Path) -> None:
    texts = ("What is in", "It is blue", "I see a", "Make a blue", "said at length", "the background")
    whole, left = bundle.read_bytes(), redacted.read_bytes()
    for content in (*(text.encode() for text in texts), IMAGES["a"].png, MASK.png):
        assert content in whole
        assert content not in left


def test_hashes_of_all_stay(redacted: Path, bundle: Path) -> None:
    assert contents(redacted)["full-manifest-sha256.txt"] == contents(bundle)["manifest-sha256.txt"]


def test_what_is_left_holds_and_what_cannot_be_recomputed_is_said(redacted: Path, cfeval: Run) -> None:
    status, out, _ = cfeval("verify", redacted)
    assert status == 0
    assert "7 scores are those of the chain, 5 without their reasons" in out
    assert "could not be recomputed: results/edct: what rests on texts and images" in out
    assert f"could not be recomputed: {TABLE}" not in out
    assert "16 files of tables made again, all the same" in out


@pytest.mark.parametrize(("name", "old", "new"), [(SCORES, b",1,1,", b",1,0,"), (f"{TABLE}.csv", b"1.0000", b"0.9")])
def test_a_forged_score_or_table_is_refused(
    redacted: Path, tmp_path: Path, cfeval: Run, name: str, old: bytes, new: bytes
) -> None:
    for change in (edited(name, old, new), resealed(name, old, new)):
        assert refused(forged(redacted, tmp_path / "forged.zip", change), cfeval)


def test_a_score_does_not_escape_its_hash_by_a_reason_that_is_left_out(
    redacted: Path, tmp_path: Path, cfeval: Run
) -> None:
    change = edited(SCORES, b"edct-2025,e,j,ok,,,", b"edct-2025,e,j,ok,,left out,")
    assert "not the score whose hash the chain has" in refused(forged(redacted, tmp_path / "f.zip", change), cfeval)


def test_only_scores_may_differ_from_the_whole_bundle(redacted: Path, tmp_path: Path, cfeval: Run) -> None:
    said = refused(forged(redacted, tmp_path / "f.zip", edited("about.json", b"numpy", b"numpi")), cfeval)
    assert "about.json: not the file that full-manifest-sha256.txt names" in said


def test_a_forged_hash_of_what_is_left_out_is_refused(redacted: Path, tmp_path: Path, cfeval: Run) -> None:
    item = digest(IMAGES["a"].png).encode()
    change = edited("full-manifest-sha256.txt", item, b"0" * 64)
    assert f"{EDCT}/items/d/" in refused(forged(redacted, tmp_path / "forged.zip", change), cfeval)


def test_it_is_described_as_redacted(redacted: Path) -> None:
    crate = json.loads(contents(redacted)["ro-crate-metadata.json"])
    root = next(entity for entity in crate["@graph"] if entity["@id"] == "./")
    assert "left out" in root["description"]
    there = contents(redacted).keys()
    assert {part["@id"] for part in root["hasPart"]} <= there


def test_of_tables_those_are_made_again_that_are_made_of_scores() -> None:
    study = {
        "tables": {"table1": {"conditions": []}, "gate": {}, "none": {}},
        "pairs": {},
        "metrics": ["table1", "pairs"],
    }
    kept = {f"{EDCT}/scores/d.csv": "1", "cfeval:data/reference/edct-2025.csv": "2"}
    left_out = {f"{EDCT}/counterfactuals/d.jsonl": "3", f"{EDCT}/pair_verdicts/d.jsonl": "4"}
    tables = {f"{EDCT}/tables/{name}": "5" for name in ("edct_table1.csv", "edct_table1.md")}
    others = {f"{EDCT}/tables/{name}": "6" for name in ("edct_gate.csv", "edct_pairs.csv", "metrics.json")}
    options = {"": ["edct", "tables"], "--study": study, "--out": f"{EDCT}/tables"}
    step = {"options": options, "inputs": kept | left_out, "outputs": tables | others}
    made = only_score_tables(step, {EDCT: "edct"})
    assert (made["inputs"], made["outputs"]) == (kept, tables)
    assert made["options"]["--study"] == {"tables": {"table1": {"conditions": []}}, "metrics": ["table1"]}
    assert only_score_tables({**step, "options": {"": ["vce", "tables"]}}, {EDCT: "edct"})["inputs"] == kept | left_out
