"""Documents for regulators and registries: figures are those of the tables, the rest is a marked place."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from cfeval.config import load
from cfeval.core.errors import InputError
from cfeval_audit.documents.forms import DOCUMENTS, documents
from cfeval_audit.documents.parts import load_facts
from tests.conftest import Run
from tests.edct.verification.study import PLAIN, Study

PROJECT = Path(__file__).parents[2]
TABLES = PROJECT / "results" / "edct" / "tables"
NAMES = ("edct_card.csv", "edct_faithfulness.csv")


@pytest.fixture
def root(tmp_path: Path) -> str:
    """Results with the tables of the repository, and an archive of calls."""
    Study(tmp_path / "edct", [PLAIN])
    (tmp_path / "edct" / "tables").mkdir(exist_ok=True)
    for name in NAMES:
        shutil.copy(TABLES / name, tmp_path / "edct" / "tables" / name)
    return str(tmp_path)


@pytest.fixture
def made(root: str) -> dict[str, str]:
    return dict(documents(load_facts(load(PROJECT / "params.yaml"), root)))


def rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_every_figure_is_one_of_the_tables(made: dict[str, str]) -> None:
    [table] = re.findall(r"\| model \|.*?\n\n", made["annex-iv-2g"], re.DOTALL)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    cards, strict = rows(NAMES[0]), {row["vlm"]: row["strict_ccs"] for row in rows(NAMES[1])}
    assert [(line[0], line[1], line[2]) for line in lines] == [(c["vlm"], c["dataset"], c["conclusion"]) for c in cards]
    for line, card in zip(lines, cards, strict=True):
        if not card["fit"]:  # without controls
            continue
        for said, figure in ((line[3], card["fit"]), (line[4], strict[card["vlm"]])):
            shown = re.match(r"[<>]?(\d\.\d\d)", said)
            assert shown is not None
            assert abs(float(shown[1]) - float(figure)) <= 0.01
        assert line[7] == f"{card['n_fit']} of {card['n']}"


def test_a_model_that_is_not_to_be_trusted_is_never_told_of_as_trusted(made: dict[str, str]) -> None:
    refuted = [row["vlm"] for row in rows(NAMES[0]) if row["conclusion"] == "do not trust"]
    assert refuted
    for text in made.values():
        for line in text.splitlines():
            if any(line.startswith((f"{name} on", f"| {name} |")) for name in refuted):
                assert "do not trust" in line


def test_what_only_a_person_can_say_is_a_marked_place_and_nothing_claims_that_a_law_is_met(
    made: dict[str, str],
) -> None:
    assert made.keys() == DOCUMENTS.keys()
    for text in made.values():
        assert text.count("[TO BE STATED: ") >= 2
        assert not re.search(r"\b(compl(y|ies|iant)|conform(s|ity)?|certif\w+)\b", text, re.IGNORECASE)
    assert "signature of the responsible persons" in made["annex-iv-2g"]
    assert "stand for no real one" in made["model-card"]


PRACTICES = ("1.1", "1.2", "2.1", "2.2", "2.3", "2.4", "3.1", "3.2", "3.3")
FIELDS = """Title Description Authors Code Paper Date|Purpose|Capabilities Tested|Model Properties Evaluated
|Input Modality|Output Modality|Input Data Source|Output Reference/Ground Truth Source|Size|Evaluation Splits
|Evaluation Data Type|Judge Type|Evaluation Protocol|Model Access Level Required|Held-out Test Details
|Measurement Validation|Baselines|Robustness Measures Applied|Known Sensitivities & Limitations|Similar Evaluations"""


def test_each_practice_of_nist_ai_800_2_has_its_part(made: dict[str, str]) -> None:
    parts = dict(re.findall(r"^## (\d\.\d) .*?$\n\n(.*?)(?=^## |\Z)", made["nist-ai-800-2"], re.DOTALL | re.MULTILINE))
    assert tuple(parts) == PRACTICES
    assert all(parts.values())
    study = load(PROJECT / "params.yaml").edct
    assert study is not None
    for card in rows(NAMES[0]):
        assert (
            f"- Target model `{card['vlm']}`: `{json.dumps(study.vlms[card['vlm']].plugin_options(), sort_keys=True)}`"
            in (parts["2.1"])
        )
    assert "no exam of it is named" in parts["2.4"]
    assert "not over runs" in parts["3.1"]  # the study defines a model that repeats another, and asks it nothing


def test_the_factsheet_has_every_field_of_the_questionnaire(made: dict[str, str]) -> None:
    told = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", made["eval-factsheet"], re.MULTILINE))
    first, *others = FIELDS.replace("\n", "").split("|")
    assert {*first.split(), *others} <= told.keys()
    items = {row["dataset"]: int(row["n"]) for row in rows(NAMES[0])}
    assert told["Size"] == f"Small (< 1K samples): {sum(items.values())}"
    assert told["Input Data Source"] == "Procedurally generated"
    assert told["Judge Type"] == "Automatic (Reference-free): `grammar` (plugin `grammar`)"
    assert told["Robustness Measures Applied"] == "Negative controls; Confidence intervals"
    assert told["Purpose"].startswith("**[TO BE STATED: ")


def test_without_trust_cards_there_is_nothing_to_write(root: str) -> None:
    card = Path(root, "edct", "tables", NAMES[0])
    card.write_text(card.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="has no row"):
        load_facts(load(PROJECT / "params.yaml"), root)
    card.unlink()
    with pytest.raises(InputError, match="not made yet"):
        load_facts(load(PROJECT / "params.yaml"), root)


def test_results_that_are_not_what_would_be_made_now_are_not_told_of(
    cfeval: Run, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study"
    study.mkdir()
    for name in ("params.yaml", "data"):
        (study / name).symlink_to(PROJECT / name)
    shutil.copytree(Path(root, "edct"), study / "results" / "edct")
    monkeypatch.chdir(study)
    status, _, err = cfeval("audit", "documents", "--out", "out")
    assert (status, "run the study first" in err, Path("out").exists()) == (2, True, False)
