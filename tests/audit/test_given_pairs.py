"""A study of given pairs alone before an auditor: its bundle, and the documents that are made of it."""

import csv
import json
import re
from contextlib import chdir
from pathlib import Path

import pytest

from cfeval.config import parse, read
from cfeval.core.errors import InputError
from cfeval.core.record import ENDING
from cfeval_audit.bundle.build import Study, build
from cfeval_audit.bundle.check import check
from cfeval_audit.documents.forms import DOCUMENTS, documents
from cfeval_audit.documents.parts import load_facts
from tests.audit.bundle.study import EDCT, contents, made_of_pairs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study of six pairs and two test models, and its bundle `bundle.zip`."""
    folder = tmp_path_factory.mktemp("pairs") / "study"
    study = made_of_pairs(folder)
    with chdir(folder):
        build(study, folder.parent / "bundle.zip")
    return folder


@pytest.fixture(scope="module")
def made(place: Path) -> dict[str, str]:
    with chdir(place):
        return dict(documents(load_facts(parse(read(Path("params.yaml"))), "results")))


def rows(place: Path) -> dict[str, dict[str, str]]:
    with (place / EDCT / "tables/edct_pairs.csv").open(encoding="utf-8", newline="") as lines:
        return {row["vlm"]: row for row in csv.DictReader(lines) if not row["kind"]}


def test_the_bundle_says_which_models_answered_and_is_checked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = json.loads(contents(place.parent / "bundle.zip")["about.json"])
    answered = {one["file"]: one["reported"] for one in about["answered"]}
    assert answered.keys() == {f"{EDCT}/pair_baselines/world/{name}.jsonl" for name in ("grounded", "listing")}
    assert all(answered.values())
    check(place.parent / "bundle.zip")
    said = capsys.readouterr().out
    assert "2 conditions of given pairs, 12 verdicts" in said
    assert re.search(r"[1-9]\d* files of tables made again, all the same", said)


def test_without_texts_the_table_of_pairs_is_said_not_to_be_made_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params, records = parse(read(place / "params.yaml")), sorted((place / EDCT).rglob(f"*{ENDING}"))
    names = [path.relative_to(place).as_posix() for path in records]
    with chdir(place):
        study = Study(params, {EDCT: "edct"}, names, {"params.yaml": Path("params.yaml")}, "2026-11-23")
        build(study, place.parent / "redacted.zip", redact=True)
    check(place.parent / "redacted.zip")
    said = capsys.readouterr().out
    assert f"could not be recomputed: {EDCT}/tables/edct_pairs.csv (rests on texts and images)" in said
    assert "no table could be made again" in said


def test_every_document_is_made_and_its_figures_are_those_of_the_table(place: Path, made: dict[str, str]) -> None:
    assert made.keys() == DOCUMENTS.keys()
    known = rows(place)
    [table] = re.findall(r"\| model \|.*?\n\n", made["annex-iv-2g"], re.DOTALL)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]
    headings, shown = lines[0], {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[2:]}
    assert shown.keys() == known.keys()
    columns = {
        "φ": "phi",
        "moved": "moved",
        "named, answer stayed": "named_if_unmoved",
        "noise": "noise",
        "sham": "sham",
    }
    assert columns.keys() < set(headings)
    for name, row in known.items():
        assert shown[name]["scored"] == f"{row['n_scored']} of {row['n']}"
        for heading, column in columns.items():
            said = re.match(r"[−<>]*(\d\.\d\d)", shown[name][heading])
            assert (said is None) == (row[column] == "")
            assert said is None or abs(float(said[1]) - abs(float(row[column]))) <= 0.01


def test_what_they_say_of_pairs_is_no_more_than_follows(made: dict[str, str]) -> None:
    for text in made.values():
        assert text.count("[TO BE STATED: ") >= 2
        assert not re.search(r"\b(compl(y|ies|iant)|conform(s|ity)?|certif\w+)\b", text, re.IGNORECASE)
        assert "FIT" not in text
    claims = made["article-13"]
    assert "listing on world, by grammar: nothing can be said of its explanations" in claims
    assert "No trust card and no conclusion follows from given pairs" in claims
    assert "`pairs-2026`" in made["annex-xi-section-2"]
    assert "trust card" not in made["model-card"]
    assert "- Judge of given pairs `grammar`: `" in made["nist-ai-800-2"]
    told = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", made["eval-factsheet"], re.MULTILINE))
    assert told["Size"] == "Small (< 1K samples): 6"
    assert told["Input Data Source"] == "Procedurally generated"
    assert told["Evaluation Protocol"] == "`pairs-2026`"
    assert told["Title"] == "Given pairs: faithfulness of explanations"


def test_without_the_table_of_pairs_there_is_nothing_to_write(place: Path) -> None:
    table = place / EDCT / "tables/edct_pairs.csv"
    kept = table.read_text()
    with chdir(place):
        params = parse(read(Path("params.yaml")))
        table.write_text(kept.splitlines()[0] + "\n")
        with pytest.raises(InputError, match=r"edct_pairs\.csv: has no row"):
            load_facts(params, "results")
        table.write_text(kept)
