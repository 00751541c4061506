"""A chain that was kept finds every change since, also one that fits in itself."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval import cli
from tests.conftest import Run
from tests.edct.verification.study import CHAINED, CONDITIONS, IMAGES, PLAIN, Study, edited
from tests.edct.verification.tamper import Results
from tests.slow import examples


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a study without calls, and their chain beside them."""
    folder = tmp_path_factory.mktemp("bare")
    Study(folder / "results", calls=False)
    assert cli.run(["verify", "--results", f"{folder}/results", "--out", f"{folder}/chain.jsonl"]) == 0
    return folder


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_the_chain_has_a_line_for_each_score_that_names_everything_behind_it(bare: Path) -> None:
    lines = lines_of(bare / "chain.jsonl")
    assert len(lines) == 26
    [line] = [x for x in lines if (x["protocol"], x["id"], x["edit"]) == (CHAINED.protocol, "a", 2)]
    assert (line["image"], line["edited"]) == (IMAGES["a"].sha256, edited(CHAINED, "a", 2).sha256)
    assert len(line["images"]) == 6  # type: ignore[arg-type] # two tries, mask and heat map of the first and of the check
    verdicts = Results(bare / "results").file("verdicts", CHAINED).read_bytes().splitlines(keepends=True)
    assert line["verdict"] == hashlib.sha256(verdicts[1]).hexdigest()


def test_every_head_stands_for_its_line_and_all_before(bare: Path) -> None:
    head = hashlib.sha256(b"").hexdigest()
    for line in lines_of(bare / "chain.jsonl"):
        own = line.pop("head")
        head = hashlib.sha256(f"{head}\n{json.dumps(line, sort_keys=True)}\n".encode()).hexdigest()
        assert own == head


def test_the_chain_names_the_calls_of_an_item_in_order(cfeval: Run, tmp_path: Path) -> None:
    study = Study(tmp_path / "results", [PLAIN])
    status, out, _ = cfeval("verify", "--results", tmp_path / "results", "--out", tmp_path / "chain.jsonl")
    lines = lines_of(tmp_path / "chain.jsonl")
    assert (status, f"the chain's head is {lines[-1]['head']}" in out) == (0, True)
    assert [key for line in lines for key in line["calls"]] == study.keys  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_change_that_fits_in_itself_is_found_and_named(cfeval: Run, tmp_path: Path, bare: Path) -> None:
    Study(tmp_path / "results", calls=False)
    results = Results(tmp_path / "results")
    against = ("verify", "--results", results.folder, "--kept", bare / "chain.jsonl")
    assert cfeval(*against)[0] == 0
    results.alter("requeries", "a", explanation="Another one.")
    assert cfeval(*against[:3])[0] == 0
    status, out, err = cfeval(*against)
    assert (status, len(err.splitlines())) == (2, 1)
    assert "item 'a', edit 1: d/m/w/edct-2025/e/j: not what the kept chain holds: requery;" in out
    assert out.count("FAIL") == 1


def test_of_a_kept_chain_only_the_conditions_that_are_checked_count(cfeval: Run, bare: Path) -> None:
    conditions = json.dumps([PLAIN.model_dump()])
    options = ("--results", bare / "results", "--kept", bare / "chain.jsonl", "--conditions", conditions)
    status, out, _ = cfeval("verify", *options)
    assert (status, "kept 8" in out) == (0, True)


@pytest.mark.slow
def test_an_item_that_was_taken_out_everywhere_is_found(cfeval: Run, tmp_path: Path, bare: Path) -> None:
    Study(tmp_path / "results", calls=False)
    results = Results(tmp_path / "results")
    for condition in CONDITIONS:
        for stage in ("instructions", "counterfactuals", "checks", "requeries", "verdicts", "scores"):
            results.drop(stage, "b", condition)
    for stage in ("items", "baselines"):
        results.drop(stage, "b")
    results.image("items", "b.png").unlink()
    assert cfeval("verify", "--results", results.folder)[0] == 0
    status, out, _ = cfeval("verify", "--results", results.folder, "--kept", bare / "chain.jsonl")
    assert (status, out.count("item 'b', edit 1")) == (2, 3)
    assert "the line of the kept chain is gone" in out
    assert cfeval("verify", "--results", results.folder, "--out", tmp_path / "chain.jsonl")[0] == 0
    _, out, _ = cfeval("verify", "--results", bare / "results", "--kept", tmp_path / "chain.jsonl")
    assert "the kept chain has no such line" in out


def test_a_kept_chain_that_was_changed_is_found(cfeval: Run, tmp_path: Path, bare: Path) -> None:
    lines = (bare / "chain.jsonl").read_text().splitlines(keepends=True)
    forged = tmp_path / "chain.jsonl"
    forged.write_text("".join([lines[1], lines[0], *lines[2:]]))
    status, out, _ = cfeval("verify", "--results", bare / "results", "--kept", forged)
    assert (status, "a head is not that of its lines" in out) == (2, True)


def test_no_chain_is_written_of_results_that_do_not_hold(cfeval: Run, tmp_path: Path) -> None:
    Study(tmp_path / "results", calls=False)
    Results(tmp_path / "results").drop("requeries", "a")
    status, _, err = cfeval("verify", "--results", tmp_path / "results", "--out", tmp_path / "chain.jsonl")
    assert (status, "no chain is written" in err) == (2, True)
    assert not (tmp_path / "chain.jsonl").exists()


@examples(60)
@given(file=st.integers(0, 2**32), place=st.integers(0, 2**32), mask=st.integers(1, 255))
def test_any_changed_byte_is_found_or_changes_no_record(bare: Path, file: int, place: int, mask: int) -> None:
    files = sorted(path for path in (bare / "results").rglob("*") if path.is_file())
    path = files[file % len(files)]
    before = path.read_bytes()
    after = bytearray(before)
    after[place % len(before)] ^= mask
    path.write_bytes(after)
    now = bare / "now.jsonl"
    now.unlink(missing_ok=True)
    options = ["--limit", "0", "--kept", f"{bare}/chain.jsonl", "--out", str(now)]
    try:
        status = cli.run(["verify", "--results", f"{bare}/results", *options])
    finally:
        path.write_bytes(before)
    assert status in (0, 2)
    assert status == 2 or now.read_bytes() == (bare / "chain.jsonl").read_bytes()
