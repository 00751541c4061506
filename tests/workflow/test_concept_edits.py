"""The study that judges diffusion and concept edits by the same oracles, by the command that its file names."""

import re
from pathlib import Path

import pytest

from tests.workflow.study import whole


@pytest.mark.slow
def test_the_planted_cause_of_shortcut_is_found_by_concept_edits_and_by_diffusion(tmp_path: Path) -> None:
    study = whole(tmp_path / "home" / "study")
    study.run("snakemake", "--configfile", "workflow/params/vce-concepts.yaml", "--", "vce")
    page = (study.root / "results/vce-concepts/vce/report/index.html").read_text()
    [row] = re.findall(r'<th scope="row">shortcut<.*?</tr>', page, flags=re.DOTALL)
    said = " ".join(re.sub(r"<svg.*?</svg>|<[^>]+>", " ", row, flags=re.DOTALL).split())
    assert re.search(r"At the top left: \d+ % of the change, \d+ % by noise alone", said), said
    assert "it follows the patch in the top left corner in 12 of 12, the oracles in 0 of 12" in said
    [sound] = re.findall(r'<th scope="row">standard<.*?</tr>', page, flags=re.DOTALL)
    assert "a cause of its own" not in sound
    assert "like the oracles it follows the shape of the object" in sound
