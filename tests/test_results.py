"""A study's results in Python: frames whose columns and dtypes are those that the records declare."""

import subprocess
import sys
from pathlib import Path

import pytest
from pandas import DataFrame

import cfeval
from cfeval.core.errors import InputError
from cfeval.core.jsonl import write_csv, write_jsonl
from cfeval.cvqa.records import Answer, CvqaScore
from cfeval.edct.records import Baseline, Instruction, Requery, Score
from cfeval.report.tables import meanings
from cfeval.results import Call, CvqaItem, Item, VceItem
from tests.images import image

ROOT = Path(__file__).parents[1]
NAMES = {"dataset": "d", "vlm": "v", "writer": "w", "protocol": "edct-2025", "editor": "e", "judge": "j"}


def dtypes(frame: DataFrame) -> dict[str, str]:
    return {str(name): str(dtype) for name, dtype in frame.dtypes.items()}


def test_importing_cfeval_imports_nothing_else() -> None:
    code = "import sys, cfeval; print(sorted({'pandas', 'numpy', 'pydantic', 'torch', 'typer'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_tables_of_the_repository_are_frames_as_their_records_say() -> None:
    results = cfeval.load(ROOT / "results")
    assert results.evaluations == ("edct", "vce", "cvqa")
    for name, table in results.tables.items():
        told = results.columns(name)
        assert list(table.columns) == list(told.index), name
        assert dtypes(table) == dict(told["dtype"]), name
        assert "object" not in set(told["dtype"]), name
    table = results.tables["edct_table1"]
    assert results.tables["agreement"] is results.tables["edct_agreement"]
    with pytest.raises(KeyError, match="edct_table1"):  # vce has one, too
        results.tables["table1"]
    assert (dtypes(table)["vlm"], dtypes(table)["n"], dtypes(table)["ccs"]) == ("string", "Int64", "Float64")
    assert len(table) == len((ROOT / "results/edct/tables/edct_table1.csv").read_text().splitlines()) - 1
    with pytest.raises(KeyError, match="no table 'agrement'; did you mean 'edct_agreement'"):
        results.tables["agrement"]


def test_items_are_scores_with_the_texts_they_rest_on(tmp_path: Path) -> None:
    edct = tmp_path / "edct"
    sample = cfeval_sample()
    write_jsonl(edct / "items/d.jsonl", [sample])
    write_jsonl(edct / "baselines/d/v.jsonl", [Baseline(id="a", question="what?", answer="a cat", explanation="ears")])
    write_jsonl(edct / "instructions/d/v/w/edct-2025.jsonl", [Instruction(id="a", concept="ears", positive="No ears")])
    write_jsonl(edct / "requeries/d/v/w/e/edct-2025.jsonl", [Requery(id="a", answer="a dog", explanation="tail")])
    scored = Score(**NAMES, id="a", pcs=1, ncc=0, ccs=0, correct=0.5)
    failed = Score(**NAMES, id="b", status="refused", stage="baselines", reason="no")
    write_csv(edct / "scores/d/v/w/e/j/edct-2025.csv", Score, [scored, failed])
    results = cfeval.load(tmp_path)
    items = results.items()
    assert dtypes(items) == dict(results.columns("items")["dtype"])
    first, second = items.to_dict("records")
    assert (first["question"], first["answer"], first["new_answer"]) == ("what?", "a cat", "a dog")
    assert (first["concept"], first["pcs"], first["ncc"], first["correct"]) == ("ears", 1, 0, 0.5)
    assert (second["status"], second["answer"]) == ("refused", "")
    assert items["ccs"].isna().tolist() == [False, True], "what has no score is no 0"
    assert dtypes(results.calls()) == dict(results.columns("calls")["dtype"])
    assert results.calls().empty


def cfeval_sample() -> object:
    from cfeval.datasets.sample import Sample

    return Sample(id="a", image=image(1).ref("a.png"), question="what?")


def test_of_a_mapping_each_key_is_a_column(tmp_path: Path) -> None:
    rows = [
        CvqaScore(id="a", side="original", type="direct", image="0" * 64, gold="1", correct={"robust": 1}),
        CvqaScore(id="b", side="original", type="direct", image="0" * 64, gold="1", status="refused"),
    ]
    write_jsonl(tmp_path / "cvqa/scores/mine/who.jsonl", rows)
    assert cfeval.load(tmp_path).items("cvqa")["text"].tolist() == ["", ""], "answers that are not there"
    said = [
        Answer(id="b", side="original", asked="m?", status="refused"),
        Answer(id="a", side="original", asked="n?", text="1"),
    ]
    write_jsonl(tmp_path / "cvqa/answers/mine/who.jsonl", said)
    items = cfeval.load(tmp_path).items("cvqa")
    assert (items["asked"].tolist(), items["text"].tolist()) == (["n?", "m?"], ["1", ""])
    assert items["correct.robust"].tolist()[0] == 1
    assert items["correct.robust"].isna().tolist() == [False, True]
    assert (items["question_set"].tolist(), items["solver"].tolist()) == (["mine"] * 2, ["who"] * 2)


@pytest.mark.parametrize("name", ["", "mine"])
def test_a_study_is_loaded_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    study, root = tmp_path / "my study", f"results/{name}".rstrip("/")
    study.mkdir()
    (study / "params.yaml").write_text(f"name: {name}\n" if name else "edct: {}\n")
    with pytest.raises(InputError, match=r"no results yet; `cfeval run '.*/my study'` makes them"):
        cfeval.load(study)
    (study / root / "cvqa").mkdir(parents=True)
    for folder in (study, study / root, *([study / "results"] if not name else [])):
        assert cfeval.load(folder).folder == study / root
    monkeypatch.chdir(study)
    assert cfeval.load().evaluations == ("cvqa",)
    with pytest.raises(InputError, match=r"my studdy: no such folder; did you mean '.*/my study'\?"):
        cfeval.load(tmp_path / "my studdy")


def test_what_is_there_is_listed_without_pandas_and_a_frame_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cvqa").mkdir()
    monkeypatch.setattr("cfeval.core.extras.find_spec", lambda _: None)
    results = cfeval.load(tmp_path)
    assert "cvqa" in repr(results)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'cfeval\[frames\]'"):
        results.columns("cvqa items")


def test_of_several_runs_one_is_to_be_named(tmp_path: Path) -> None:
    for name in ("a", "b c"):
        (tmp_path / "results" / name / "edct").mkdir(parents=True)
    with pytest.raises(InputError, match=r"results of several runs; give one of .*/results/a, '.*/results/b c'"):
        cfeval.load(tmp_path / "results")


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results; give the folder of a study"):
        cfeval.load(tmp_path)
    (tmp_path / "vce").mkdir()
    with pytest.raises(InputError, match="vce: no scores; run the study with `cfeval run`"):
        cfeval.load(tmp_path).items("vce")
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        cfeval.laod  # noqa: B018


@pytest.mark.parametrize("kind", [Item, VceItem, CvqaItem, Call])
def test_every_column_that_only_frames_have_is_explained(kind: type) -> None:
    own = set(kind.__annotations__)
    assert own <= set(meanings(kind))


def test_one_item_is_tried_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.png").write_bytes(image(1).png)
    section = "{m: {plugin: mock}}"
    named = "{dataset: [m], vlm: [m], writer: [m], editor: [m], judge: [m]}"
    (tmp_path / "params.yaml").write_text(
        f"edct: {{items: 1, seed: 1, datasets: {{m: {{plugin: files, path: ., question: why?}}}}, vlms: {section},\n"
        f"  instruction_writers: {section}, editors: {section}, judges: {section}, verifiers: {{}},\n"
        f"  tables: {{table1: [{named}], table2: []}}}}\n"
    )
    tried = cfeval.try_item("x.png", "what is it?", vlm="m")
    assert tried.steps["question"] == "what is it?"
    assert tried.steps["answer"].startswith("answer ")
    assert "CCS" in tried.steps["verdict"]
    assert tried.counterfactual
    assert tried.calls == ()
    assert (tried._repr_png_() or b"").startswith(b"\x89PNG")
    with pytest.raises(InputError, match="the question is empty"):
        cfeval.try_item("x.png", " ", vlm="m")
