"""Figures as files: the same in every process, without a date, with text that stays text."""

import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

DRAW = """
import sys
from pathlib import Path
from matplotlib.figure import Figure
from cfeval.report.figures import save, use_style
use_style()
figure = Figure(figsize=(2, 1))
figure.text(0.1, 0.5, "zażółć − Ωß")
figure.subplots().plot([0, 1], label="a")
save(figure, Path(sys.argv[1]))
"""


def drawn(out: Path, seed: int) -> dict[str, bytes]:
    """What another process writes, whose hashes of texts begin elsewhere, on another day."""
    env = os.environ | {"PYTHONHASHSEED": str(seed), "SOURCE_DATE_EPOCH": str(seed * 10**6)}
    subprocess.run([sys.executable, "-c", DRAW, out / "figure"], check=True, env=env)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


@pytest.mark.slow
def test_two_processes_write_the_same_bytes_without_a_date_and_pdf_has_its_fonts(tmp_path: Path) -> None:
    found = []
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        found.append(drawn(tmp_path / str(seed), seed))
    assert list(found[0]) == ["figure.pdf", "figure.png", "figure.svg"]
    assert found[0] == found[1]
    pdf = found[0]["figure.pdf"]
    streams = [zlib.decompress(one) for one in re.findall(rb"stream\r?\n(x.*?)\r?\nendstream", pdf, re.DOTALL)]
    whole = b"".join([pdf, *streams])
    assert pdf.startswith(b"%PDF-1.4\n")
    assert not re.search(rb"CreationDate|Producer|matplotlib", whole)
    assert b"/FontFile2" in whole
    assert b"/Type3" not in whole
