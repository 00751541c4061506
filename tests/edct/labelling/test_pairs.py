"""Given pairs on the labelling sheet: from verdicts to a sheet, labels, the judge's error and a corrected φ."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr

from cfeval.core import registry
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.datasets.pair import file_pairs, pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.labelling.agreement import corrected_figures
from cfeval.edct.labelling.records import KeyRow, Label, PairScore
from cfeval.edct.pairs.records import PairBaseline
from cfeval.edct.pairs.stages import verdicts
from cfeval.stats.intervals import Interval
from cfeval.stats.misclassification import corrected_phi
from tests.conftest import Run
from tests.edct.pairs.test_pairs import image, pair

PAIRS, NAMES = (
    12,
    {"dataset": "set", "vlm": "secret-vlm", "writer": "given", "protocol": "pairs-2026", "editor": "given"},
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The answer moves in every second pair; the first six explanations name the wall, the others paraphrase it."""
    found = tmp_path / "edct"
    raws = [pair(f"p{n}", images=(image(n), image(99 + n))) for n in range(PAIRS)]
    file_pairs(found / "pair_items/set.jsonl", [*raws, pair("natural", natural=True)], seed=1, every=1)
    said, samples = [], list(read_jsonl(found / "pair_items/set.jsonl", Sample))
    for sample in samples:
        known = pair_of(sample)
        number = 0 if known.natural else int(known.pair[1:])
        answer = "7" if number % 2 and known.side == "after" else "5"
        texts = {"answer": answer, "explanation": "The red wall." if number < 6 else "That surface there."}
        said.append(PairBaseline(id=sample.id, question=sample.question, **texts))
    write_jsonl(found / "pair_baselines/set/secret-vlm.jsonl", said)
    judge = registry.build("pair_judges", {"plugin": "lexical"})
    ruled = verdicts(samples, {one.id: one for one in said}, judge, 1)
    write_jsonl(found / "pair_verdicts/set/secret-vlm/secret-judge.jsonl", ruled)
    return found


def test_people_label_given_pairs_and_the_judges_error_is_counted(cfeval: Run, results: Path, tmp_path: Path) -> None:
    file, sheet = results / "pair_verdicts/set/secret-vlm/secret-judge.jsonl", tmp_path / "sheet"
    status, out, err = cfeval("edct", "label-sheet", file, "--results", results, "--out", sheet)
    assert (status, err) == (0, ""), out
    assert out.startswith("12 edits"), "natural pairs tell of answers only, and are not labelled"
    page = Path(f"{sheet}.html").read_text()
    assert "secret" not in page
    assert page.count("data:image/png") == 2 * PAIRS
    rows = list(csv.DictReader(io.StringIO(Path(f"{sheet}.csv").read_text())))
    assert {"edit_valid", "answer_moved", "named"} <= set(rows[0])
    assert "pcs" not in rows[0]
    assert rows[0]["changes"] == "red wall → blue wall"
    for row in rows:  # to people all explanations name the wall, but one that both find does not
        named = "0" if row["explanation"] == "The red wall." and row["answer"] == row["new_answer"] else "1"
        moved = str(int(row["answer"] != row["new_answer"]))
        row |= {"rater": "Ann", "edit_valid": "valid", "answer_moved": moved, "named": named}
    filled, labels = tmp_path / "ann.csv", tmp_path / "labels.csv"
    with filled.open("w", newline="") as sink:
        writer = csv.DictWriter(sink, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert cfeval("edct", "labels", filled, "--key", f"{sheet}.key.csv", "--out", labels)[0] == 0
    made = tmp_path / "table"
    assert cfeval("edct", "label-agreement", file, "--labels", labels, "--out", made)[0] == 0
    table = list(csv.DictReader(io.StringIO(Path(f"{made}.csv").read_text())))
    by = {row["about"]: row for row in table if row["comparison"] == "tool_consensus"}
    assert set(by) == {"answer_moved", "named"}
    assert (by["answer_moved"]["agreement"], by["answer_moved"]["protocol"]) == ("1.0000", "pairs-2026")
    # the judge names six pairs, of which people name three, and misses the six paraphrases
    cells = [by["named"][name] for name in ("both_1", "human_1_tool_0", "human_0_tool_1", "both_0")]
    assert cells == ["3", "6", "3", "0"]
    assert by["named"]["corrected_note"] == "the scores are of no item that nobody labelled"
    assert "Change named" in Path(f"{made}.md").read_text()


def test_verdicts_outside_their_folder_are_refused_in_one_line(cfeval: Run, results: Path, tmp_path: Path) -> None:
    file = tmp_path / "verdicts.jsonl"
    file.write_bytes((results / "pair_verdicts/set/secret-vlm/secret-judge.jsonl").read_bytes())
    status, _, err = cfeval("edct", "label-sheet", file, "--results", results, "--out", tmp_path / "sheet")
    assert status == 2
    assert "pair_verdicts/SET/TARGET/JUDGE.jsonl" in err
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("sheet*"))


def drawn(n: int, sensitivity: float, specificity: float, seed: int) -> tuple[list[float], list[float], list[float]]:
    """Whether answers moved, what is named in truth (correlated with it), and what a judge says of it."""
    rng = np.random.default_rng(seed)
    moved = rng.random(n) < 0.5
    named = np.where(rng.random(n) < 0.8, moved, ~moved)
    judged = np.where(named, rng.random(n) < sensitivity, rng.random(n) >= specificity)
    return moved.astype(float).tolist(), named.astype(float).tolist(), judged.astype(float).tolist()


def test_phi_is_corrected_for_what_the_judge_misses_and_invents() -> None:
    off, held = [], []
    for seed in range(12):
        moved, named, judged = drawn(1200, 0.75, 0.85, seed)
        rows = [(str(n), x, y) for n, (x, y) in enumerate(zip(moved, judged, strict=True))]
        _, truth, verdict = drawn(600, 0.75, 0.85, seed=100 + seed)
        known = [(f"k{n}", t, v) for n, (t, v) in enumerate(zip(truth, verdict, strict=True))]
        figure, found = corrected_phi(rows, known, Interval(resamples=100))
        true = pearsonr(moved, named).statistic
        assert figure == pytest.approx(pearsonr(moved, judged).statistic)
        assert figure < true - 0.1
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        off.append(found.value - true)
        held.append(found.low < true < found.high)
    assert abs(np.mean(off)) < 0.05, "it errs to both sides alike"
    assert sum(held) >= 9


def test_a_perfect_judge_corrects_nothing_and_one_by_chance_cannot_be_corrected() -> None:
    moved, named, _ = drawn(300, 1, 1, seed=3)
    rows = [(str(n), x, y) for n, (x, y) in enumerate(zip(moved, named, strict=True))]
    perfect = [("a", 1.0, 1.0), ("b", 0.0, 0.0), ("c", 1.0, 1.0), ("d", 0.0, 0.0)] * 5
    figure, found = corrected_phi(rows, perfect, Interval(resamples=100))
    assert found.value == pytest.approx(figure)
    chance = [("a", 1.0, 1.0), ("b", 0.0, 1.0), ("c", 1.0, 0.0), ("d", 0.0, 0.0)]
    figure, found = corrected_phi(rows, chance, Interval(resamples=100))
    assert figure is not None
    assert (found.value, bool(found.note)) == (None, True)


def test_the_labelled_pairs_show_the_error_and_the_others_are_corrected() -> None:
    moved, named, judged = drawn(400, 0.8, 0.9, seed=4)
    facts = list(zip(moved, named, judged, strict=True))
    scores = [
        PairScore(**NAMES, judge="j", id=f"p{n}", cluster=f"c{n}", answer_moved=int(x), named=int(v))  # type: ignore[arg-type]
        for n, (x, _, v) in enumerate(facts)
    ]
    labels = []
    for n, (_, t, _) in enumerate(facts[:150]):
        key = KeyRow(
            **NAMES, id=f"p{n}", sheet="0" * 64, item=n + 1, asks="edit_valid named", cluster=f"c{n}", weight=1
        )
        labels.append(Label(**key.model_dump(), rater="Ann", edit_valid="valid", named=str(int(t))))  # type: ignore[arg-type]
    figures = corrected_figures(labels, scores, Interval(resamples=100), "named")
    assert figures["n_corrected"] == 250
    rest = facts[150:]
    assert figures["observed"] == pytest.approx(np.mean([v for *_, v in rest]), abs=1e-4)
    assert figures["phi"] == pytest.approx(pearsonr([x for x, *_ in rest], [v for *_, v in rest]).statistic, abs=1e-4)
    truth = pearsonr([x for x, *_ in rest], [t for _, t, _ in rest]).statistic
    assert figures["corrected_phi_lo"] < truth < figures["corrected_phi_hi"]  # type: ignore[operator]
