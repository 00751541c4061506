"""The labelling sheet: what people see, what they must not see, and that it needs nothing from elsewhere."""

import base64
import csv
import hashlib
import io
import json
import re
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL.PngImagePlugin import PngInfo
from scipy.stats import pearsonr

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.jsonl import read_csv, read_jsonl, write_csv, write_jsonl
from cfeval.core.records import Status
from cfeval.datasets.pair import file_pairs, pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.labelling.agreement import corrected_figures
from cfeval.edct.labelling.records import KeyRow, Label, PairScore
from cfeval.edct.labelling.sheet import ASKS, Candidate, Change, SheetItem, draw, sheet_csv, sheet_hash
from cfeval.edct.pairs.records import PairBaseline
from cfeval.edct.pairs.stages import verdicts
from cfeval.edct.records import Score
from cfeval.report.html import MAX_SIDE, data_url
from cfeval.stats.intervals import Interval
from cfeval.stats.misclassification import corrected_phi
from tests.conftest import Run
from tests.edct.labelling.sheet_study import CHAIN, NULL, SINGLE, write_sheet_study
from tests.edct.pairs.test_pairs import image, pair
from tests.edct.report.study import HOSTILE
from tests.edct.report.test_page import parsed
from tests.edct.tables.study import GROUNDED, condition, failed, score, scores

Shown = tuple[dict[str, Any], KeyRow]


def make_sheet(cfeval: Run, folder: Path, *options: object) -> Path:
    """The sheet of the made-up study; returns the path without ending."""
    scores = write_sheet_study(folder / "edct")
    given = ["--results", folder / "edct", "--out", folder / "sheet", *options]
    status, out, err = cfeval("edct", "label-sheet", *scores, *given)
    assert (status, err) == (0, "")
    assert "sheet.html" in out
    return folder / "sheet"


@pytest.fixture
def sheet(cfeval: Run, tmp_path: Path) -> Path:
    """All edits of the study."""
    return make_sheet(cfeval, tmp_path)


def data(sheet: Path) -> dict[str, Any]:
    """The data in the page."""
    found = re.search(r'id="data">(.*?)</script>', Path(f"{sheet}.html").read_text(), re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def items(sheet: Path) -> list[Shown]:
    """Each item of the page with its row of the key."""
    key = read_csv(Path(f"{sheet}.key.csv"), KeyRow)
    assert [row.item for row in key] == list(range(1, len(key) + 1))
    return list(zip(data(sheet)["items"], key, strict=True))


def about(sheet: Path, protocol: str, item: str, edit: int = 1) -> dict[str, Any]:
    """What the page shows of one edit."""
    [found] = [i for i, row in items(sheet) if (row.protocol, row.id, row.edit) == (protocol, item, edit)]
    return found


def test_neither_page_nor_csv_tells_the_condition_or_the_verdict(sheet: Path) -> None:
    for ending in ("html", "csv"):
        text = Path(f"{sheet}.{ending}").read_text()
        assert "secret" not in text
        assert "edit_invalid" not in text
    assert all(set(item) == set(SheetItem.__dataclass_fields__) for item in data(sheet)["items"])
    assert "secret-vlm" in Path(f"{sheet}.key.csv").read_text()


def test_the_page_needs_nothing_from_elsewhere_and_runs_its_own_script_only(sheet: Path) -> None:
    html = Path(f"{sheet}.html").read_text()
    assert parsed(Path(f"{sheet}.html")).open == []
    assert parsed(Path(f"{sheet}.html")).links == []
    assert not re.search(r"https?://|url\(|@import", html)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy
    assert "default-src 'none'; img-src data:;" in policy[1]
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        content = html.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy[1]


def test_hostile_texts_stand_in_the_page_as_data_only(sheet: Path) -> None:
    html = Path(f"{sheet}.html").read_text()
    assert html.count("<script") == html.count("</script>") == 2
    assert "<img src=x" not in html
    assert about(sheet, "edct-2025", "q1")["question"] == HOSTILE
    assert about(sheet, "edct-2025", "q0")["new_explanation"] == HOSTILE


def test_the_csv_has_the_same_items_and_nothing_that_a_spreadsheet_would_run(sheet: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(Path(f"{sheet}.csv").read_text())))
    assert [int(row["item"]) for row in rows] == list(range(1, len(rows) + 1))
    for row, (shown, key) in zip(rows, items(sheet), strict=True):
        assert (row["sheet"], row["answer"], row["new_answer"]) == (key.sheet, shown["answer"], shown["new_answer"])
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row.values())
        assert not any(row.get(name) for name in (*ASKS, "comment", "rater"))


def test_the_csv_filled_in_comes_back_as_labels(cfeval: Run, sheet: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(Path(f"{sheet}.csv").read_text())))
    for row in rows:
        row |= {"rater": "Ann", "edit_valid": "Cannot tell", "comment": HOSTILE}
    with (tmp_path / "ann.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    given = ("--key", f"{sheet}.key.csv", "--out", tmp_path / "labels.csv")
    status, out, err = cfeval("edct", "labels", tmp_path / "ann.csv", *given)
    assert (status, out, err) == (0, f"Ann: {len(rows)} of {len(rows)} edits\n", "")
    labels = read_csv(tmp_path / "labels.csv", Label)
    assert [(one.item, one.edit_valid, one.vlm) for one in labels] == [
        (number, "cannot_tell", "secret-vlm") for number in range(1, len(rows) + 1)
    ]
    assert {one.comment for one in labels} == {HOSTILE}


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@x", "\t=1"])
def test_a_text_that_looks_like_a_formula_is_quoted(start: str) -> None:
    item = SheetItem(("edit_valid",), start, (), ("a" * 64,), "a", "e")
    [row] = csv.DictReader(io.StringIO(sheet_csv([item])))
    assert row["question"] == "'" + start


def test_two_runs_agree_and_neither_time_nor_place_stands_in_them(cfeval: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_sheet(cfeval, tmp_path / name)
    for ending in ("html", "csv", "key.csv"):
        first = (tmp_path / f"a/sheet.{ending}").read_bytes()
        assert first == (tmp_path / f"b/sheet.{ending}").read_bytes()
        assert str(tmp_path).encode() not in first


def test_the_second_edit_of_a_chain_shows_both_changes_and_the_image_between(sheet: Path) -> None:
    first, second = (about(sheet, CHAIN.protocol, "q0", edit) for edit in (1, 2))
    assert [change["positive"] for change in second["changes"]] == ["Do q0 1.", "Do q0 2."]
    assert second["images"][:2] == first["images"]
    assert len(second["images"]) == 3
    assert second["new_answer"] == "new q0 2"
    assert second["asks"] == ["edit_valid", "ac", "ef", "grade"]


def test_an_edit_that_the_gate_rejected_shows_its_last_try_and_asks_for_no_score(sheet: Path) -> None:
    rejected = about(sheet, CHAIN.protocol, "q3")
    assert (rejected["asks"], rejected["new_answer"]) == (["edit_valid"], "")
    assert len(rejected["images"]) == 2
    assert {(row.id, row.edit, row.gate) for _, row in items(sheet) if row.protocol == CHAIN.protocol} >= {
        ("q3", 1, 0),
        ("q4", 2, 0),
        ("q0", 2, 1),
    }
    assert not [row for _, row in items(sheet) if (row.id, row.edit) == ("q3", 2)], "there is no image of it"


def test_a_null_edit_has_no_instruction_and_other_questions(sheet: Path) -> None:
    item = about(sheet, NULL.protocol, "q0")
    assert item["changes"] == []
    assert item["asks"] == ["edit_valid", "answer_moved", "explanation_moved"]


def test_every_question_has_a_sentence_that_defines_it(sheet: Path) -> None:
    asks = data(sheet)["asks"]
    assert set(asks) == {name for item, _ in items(sheet) for name in item["asks"]}
    assert all(ask["definition"].endswith(".") and len(ask["definition"].split()) > 8 for ask in asks.values())
    for ask in asks.values():
        assert len({key for _, _, key in ask["answers"]}) == len(ask["answers"])


def test_a_study_without_an_edit_to_label_is_refused(cfeval: Run, tmp_path: Path) -> None:
    [scores, *_] = write_sheet_study(tmp_path / "edct")
    write_csv(scores, Score, [failed(SINGLE, f"q{number}", Status.TRUNCATED) for number in range(3)])
    status, _, err = cfeval("edct", "label-sheet", scores, "--results", tmp_path / "edct", "--out", tmp_path / "s")
    assert (status, err.count("\n")) == (2, 1)
    assert "no edit to label" in err
    assert not list(tmp_path.glob("s.*"))


def test_a_missing_image_is_one_line_that_names_it(cfeval: Run, tmp_path: Path) -> None:
    scores = write_sheet_study(tmp_path / "edct")
    (tmp_path / "edct/items/secret-set/q2.png").unlink()
    status, _, err = cfeval("edct", "label-sheet", *scores, "--results", tmp_path / "edct", "--out", tmp_path / "s")
    assert (status, err.count("\n")) == (2, 1)
    assert "q2.png" in err
    assert not list(tmp_path.glob("s.*"))


def test_the_hash_of_a_sheet_is_of_all_that_people_see() -> None:
    one = SheetItem(("edit_valid", "pcs"), "q", (Change("c", "p", "n"),), ("a" * 64, "b" * 64), "a", "e", "b", "f")
    others = [
        replace(one, question="r"),
        replace(one, changes=(Change("c", "p", "m"),)),
        replace(one, images=("a" * 64, "c" * 64)),
        replace(one, asks=("edit_valid",)),
        replace(one, new_explanation="g"),
    ]
    assert len({sheet_hash([item]) for item in (one, *others)} | {sheet_hash([one, one])}) == 7


def test_an_image_in_the_page_says_nothing_of_its_maker(tmp_path: Path) -> None:
    noted = PngInfo()
    noted.add_text("Software", "secret-editor")
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (8, 6), "red").save(buffer, format="PNG", pnginfo=noted)
    assert b"secret-editor" in buffer.getvalue()
    assert b"secret-editor" not in embedded(Image(buffer.getvalue()))


@pytest.mark.slow
def test_a_large_image_is_shrunk_and_stays_itself() -> None:
    y, x = np.mgrid[0:900, 0:1200]
    noise = np.random.default_rng(1).integers(0, 60, (900, 1200))
    pixels = np.stack([x / 5, y / 4, noise], axis=-1).astype(np.uint8)
    content = embedded(Image.from_pixels(pixels))
    assert len(content) < 400_000
    with PIL.Image.open(io.BytesIO(content)) as image:
        assert image.size == (MAX_SIDE, MAX_SIDE * 3 // 4)
        exact = PIL.Image.fromarray(pixels).resize(image.size, PIL.Image.Resampling.LANCZOS)
        assert np.abs(np.asarray(image, dtype=int) - np.asarray(exact, dtype=int)).mean() < 6


def embedded(image: Image) -> bytes:
    """The file inside a data URL."""
    return base64.b64decode(data_url(image).partition("base64,")[2])


# The draw of edits for people to label.


CONDITIONS = [condition(vlm=name) for name in ("a", "b", "c")]


def candidates(ones: int = 5, zeros: int = 95) -> list[Candidate]:
    """So many faithful and unfaithful edits of each condition."""
    return [Candidate(row) for one in CONDITIONS for row in scores(one, ones, zeros)]


def test_every_condition_gives_as_many_and_the_same_seed_gives_the_same_draw() -> None:
    drawn = draw(candidates(), 30, seed=1)
    assert Counter(one.score.vlm for one in drawn) == {"a": 10, "b": 10, "c": 10}
    assert drawn == draw(candidates(), 30, seed=1)
    assert drawn == draw(reversed(candidates()), 30, seed=1)
    assert {one.score.id for one in drawn} != {one.score.id for one in draw(candidates(), 30, seed=2)}


def test_conditions_that_have_too_few_leave_the_rest_to_the_others() -> None:
    few = [Candidate(row) for row in scores(CONDITIONS[0], 1, 2)]
    rest = [Candidate(row) for row in scores(CONDITIONS[1], 20, 20)]
    assert Counter(one.score.vlm for one in draw(few + rest, 20, seed=1)) == {"a": 3, "b": 17}
    assert len(draw(few + rest, 500, seed=1)) == 43


def test_by_verdict_all_outcomes_occur_however_rare() -> None:
    rejected = [Candidate(failed(CONDITIONS[0], f"x{i}", Status.EDIT_INVALID), gate=0) for i in range(2)]
    wrong = [Candidate(score(CONDITIONS[0], f"y{i}", verified=0)) for i in range(2)]
    drawn = draw([*candidates(), *rejected, *wrong], 42, seed=1, by_verdict=True)
    assert {one.score.id[0] for one in drawn} == {"i", "x", "y"}
    assert sum(one.score.ccs == 1 and one.score.id[0] == "i" for one in drawn) == 15, "all that there are"


@pytest.mark.slow
@given(st.integers(1, 400), st.booleans(), st.integers(0, 9))
def test_the_weights_add_up_to_all_candidates(items: int, by_verdict: bool, seed: int) -> None:
    drawn = draw(candidates(), max(items, 6), seed, by_verdict)
    assert sum(one.weight for one in drawn) == pytest.approx(300, abs=0.05)


def test_an_edit_that_two_judges_read_is_drawn_once() -> None:
    both = [Candidate(row) for judge in ("one", "two") for row in scores(condition(judge=judge), 3, 3)]
    drawn = draw(both, 100, seed=1)
    assert len(drawn) == 6
    assert {one.score.judge for one in drawn} == {"one"}


@pytest.mark.slow
def test_the_order_does_not_tell_rare_outcomes_from_frequent_ones() -> None:
    places = [
        place / 29
        for seed in range(40)
        for place, one in enumerate(draw(candidates(), 30, seed, by_verdict=True))
        if one.score.ccs == 1
    ]
    assert len(places) == 40 * 15
    assert sum(places) / len(places) == pytest.approx(0.5, abs=0.04)


def test_two_edits_of_one_item_are_two_candidates() -> None:
    chain = [Candidate(score(GROUNDED, f"i{i}", edit=edit)) for i, edit in product(range(3), (1, 2))]
    assert len(draw(chain, 100, seed=1)) == 6


# Given pairs on the labelling sheet: from verdicts to a sheet, labels, the judge's error and a corrected φ.


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
