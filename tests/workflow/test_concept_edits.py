"""The study that judges diffusion and concept edits by the same oracles, by the command that its file names."""

import re
from pathlib import Path

import pytest

from tests.workflow.study import whole

SMALLER = """
vce:
  images: 3
  conditions:
    - image_set: [world]
      denoiser: [world]
      classifier: [shortcut]
      method: [diffusion, concepts, null-edits]
"""
"""Fewer images, and the classifier with the planted cause alone; sound ones are its oracles."""


@pytest.mark.slow
def test_the_planted_cause_of_shortcut_is_found_by_concept_edits_and_by_diffusion(tmp_path: Path) -> None:
    study = whole(tmp_path / "home" / "study")
    (study.root / "smaller.yaml").write_text(SMALLER)
    study.run("snakemake", "--configfile", "workflow/params/vce-concepts.yaml", "smaller.yaml", "--", "vce")
    [page] = [path.read_text() for path in study.root.glob("results/*/vce/report/index.html")]
    [row] = re.findall(r'<th scope="row">shortcut<.*?</tr>', page, flags=re.DOTALL)
    said = " ".join(re.sub(r"<svg.*?</svg>|<[^>]+>", " ", row, flags=re.DOTALL).split())
    assert re.search(r"At the top left: \d+ % of the change, \d+ % of the area", said), said
    assert "it follows the patch in the top left corner in 9 of 9, the oracles in 0 of 9: a cause of its own" in said
    assert "like the oracles it follows the shape of the object" in said
