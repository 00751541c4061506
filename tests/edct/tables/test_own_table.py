"""A table of another package: one file with its entry point, and one line of parameters."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cfeval.config import parse
from cfeval.core.errors import ParamsError
from tests.audit.bundle.study import EDCT, PARAMS
from tests.edct.verification.study import PLAIN, Study

EXAMPLE = Path(__file__).parents[3] / "examples" / "table_package"
BLOCK = "{dataset: [d], vlm: [m], writer: [w], editor: [e], judge: [j]}"
ASKED = PARAMS.format(shards=1).replace("tables: {", f"tables: {{more: {{half_faithful: [{BLOCK}]}}, ")
"""The parameters of a study that asks for the table."""
RUN = """
import json
from cfeval import cli
from cfeval.study.whole import whole
from cfeval.core.record import read, record_of
from cfeval.results import Results
[job] = [job for job in whole().jobs(["edct"]) if job.rule == "edct_tables"]
assert cli.run(job.words) == 0
frame = Results("results").tables["edct_half_faithful"]
[step] = read(record_of(job.words))
print(json.dumps([frame["answer_alone"].tolist(), "half_faithful" in step["code"]]))
"""


@pytest.mark.slow
def test_a_package_adds_a_table_by_one_file_and_a_line_of_parameters(tmp_path: Path) -> None:
    site, study = tmp_path / "site", tmp_path / "study"
    about = site / "half_faithful-0.1.0.dist-info"
    about.mkdir(parents=True)
    (site / "half_faithful.py").write_bytes((EXAMPLE / "half_faithful.py").read_bytes())
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: half-faithful\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[cfeval.tables]\nhalf_faithful = half_faithful:TABLE\n")
    Study(study / EDCT, [PLAIN])
    (study / "params.yaml").write_text(ASKED)
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=study,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *sys.path])},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    alone, known = json.loads(done.stdout.splitlines()[-1])
    assert known
    [file] = (study / EDCT / "scores").rglob("*.csv")
    judged = [row for row in csv.DictReader(file.read_text().splitlines()) if row["pcs"] and row["ncc"]]
    assert alone == [round(sum(row["pcs"] == "1" and row["ncc"] == "0" for row in judged) / len(judged), 4)]
    shown = (study / EDCT / "tables/edct_half_faithful.md").read_text()
    assert "| Answer alone | Explanation alone |" in shown


def test_a_table_that_no_package_offers_is_one_line() -> None:
    with pytest.raises(ParamsError, match="no installed package offers the table 'half_faithful'") as refused:
        parse(yaml.safe_load(ASKED))
    assert "\n" not in str(refused.value)
