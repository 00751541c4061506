"""A study of given pairs alone, from an empty folder to the report, on VisMin's published layout; figures by hand.

Of eight pairs, half are legible. `frank` answers by what it sees and names it, and elsewhere names the frame: phi is 1.
`sly` answers in the same way and names the changed thing where its answer stays: phi is −1.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import PIL.Image
import pyarrow as arrow
import pytest

from tests.loopback.conversation import Conversation
from tests.loopback.personas import filled
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

ROOT = Path(__file__).parents[2]
THINGS = ("wall", "gate", "roof", "boat", "lamp", "door", "tent", "kite")
LEGIBLE = 4
"""So many pairs have large images."""
pytestmark = pytest.mark.slow


def target(conversation: Conversation, frank: bool) -> str:
    """Says whether the thing is red, where the image is large; else yes."""
    image = PIL.Image.open(io.BytesIO(conversation.images[-1])).convert("RGB")
    [thing] = set(re.findall(r"red (\w+)", conversation.text))
    pixel, legible = image.getpixel((1, 1)), image.width > 40
    assert isinstance(pixel, tuple)
    red = pixel[0] > pixel[2]
    if conversation.replies == 0:
        return "Yes." if red or not legible else "No."
    if legible == frank:
        return f"I looked at the {thing}; its color decides."
    return "The frame of the picture decides."


def judge(conversation: Conversation) -> str:
    """Rules that a thing is named where its last word is in the explanation."""
    before, explanation = (
        re.findall(rf"<{name}-\w+>\n(.*?)\n</{name}", conversation.prompt, re.DOTALL)[-1]
        for name in ("one-version", "explanation")
    )
    named = int(before.split()[-1] in explanation)
    if conversation.schema is not None:
        return filled(conversation.schema, {"named": named}, conversation.digest)
    return f"It is {'there' if named else 'not there'}.\nNAMED: {named}"


@pytest.fixture
def server() -> Iterator[Loopback]:
    personas = {
        "frank": lambda of: target(of, frank=True),
        "sly": lambda of: target(of, frank=False),
        "judge": judge,
    }
    with loopback(personas=personas, models=tuple(personas)) as running:
        yield running


def download(folder: Path) -> None:
    """Eight pairs as VisMin's benchmark is published: an Arrow stream with images in its cells."""

    def cell(color: tuple[int, int, int], side: int) -> dict[str, object]:
        buffer = io.BytesIO()
        PIL.Image.new("RGB", (side, 40), color).save(buffer, format="PNG")
        return {"bytes": buffer.getvalue(), "path": None}

    rows = []
    for number, thing in enumerate(THINGS):
        side = 48 if number < LEGIBLE else 40
        row = {"image_0": cell((200 - number, 10, 10), side), "text_0": f"A red {thing} in the rain."}
        row |= {"image_1": cell((10, 10, 200 - number), side), "text_1": f"A blue {thing} in the rain."}
        rows.append(row | {f"question_{n}": "unused" for n in range(1, 5)} | {"id": f"pair_{number}"})
    folder.mkdir(parents=True)
    table = arrow.Table.from_pylist(rows)
    with (folder / "data-00000-of-00001.arrow").open("wb") as sink, arrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)


def params(url: str) -> str:
    """As the guide has them, with the server's address."""
    guide = (ROOT / "docs/guides/given-pairs.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    lines = [line.removeprefix("    ") for line in shown.splitlines()]
    text = "\n".join(lines).replace("http://localhost:8000/v1", url).replace("items: 200", "items: 8\n  again: 1")
    for guides, ours in (("model-a", "frank"), ("model-b", "sly")):
        text = text.replace(guides, ours)
    return text


def rows(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "results/edct/tables/edct_pairs.csv").open(encoding="utf-8", newline="") as lines:
        return {row["vlm"]: row for row in csv.DictReader(lines)}


def test_a_study_of_given_pairs_alone_goes_from_an_empty_folder_to_the_report(tmp_path: Path, server: Loopback) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_KEY")}
    environment |= {"PYTHONPATH": str(ROOT / "src")}

    def cfeval(*words: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "cfeval.cli", *words],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, f"{words}: {done.stdout[-3000:]}{done.stderr[-4000:]}"
        return done.stdout

    download(tmp_path / "data/vismin-bench/data/test")
    (tmp_path / "params.yaml").write_text(params(server.openai), encoding="utf-8")
    assert "2 conditions of given pairs, 8 pairs of each set" in cfeval("check")
    assert "FAIL" not in cfeval("doctor", "--seconds", "240")
    told = json.loads(cfeval("estimate", "--json"))
    stages = {(line["stage"], line["plugin"]): line for line in told["stages"]}
    assert stages["pair_baselines", "frank"]["typical"]["calls"] == 2 * 3 * 8
    assert stages["pair_verdicts", "chat"]["typical"]["calls"] == 2 * 3 * (4 * 8 + 2 * 8)
    most = sum(line["most"]["calls"] for line in told["stages"])

    said = cfeval("run", "--yes")
    assert "frank on the pairs of vismin by chat: φ 1.0000 [" in said
    assert "sly on the pairs of vismin by chat: φ -1.0000 [" in said
    assert said.endswith("report: results/edct/report/index.html\n")
    asked = len(server.log)
    probes = 2 * 3  # of two models and a judge, by the doctor and by the run
    # the first pair has no other before it, and texts decide
    assert server.sent().total() == 2 * 2 * 24 + 2 * 3 * 30 + probes
    assert server.sent().total() <= most
    frank, sly = (rows(tmp_path)[name] for name in ("frank", "sly"))
    cells = ("moved_named", "moved_unnamed", "unmoved_named", "unmoved_unnamed")
    assert [frank[name] for name in cells] == ["4", "0", "0", "4"]
    assert [sly[name] for name in cells] == ["0", "4", "4", "0"]
    assert (frank["n_scored"], frank["pair_accuracy"], frank["noise"]) == ("8", "0.5000", "0.0000")
    assert float(frank["phi_lo"]) < 1
    page = (tmp_path / "results/edct/report/index.html").read_text(encoding="utf-8")
    first = page[page.index('<main id="main">') : page.index('<section id="items">')]
    assert "φ 1.00" in first
    assert 'id="table-pairs"' in first
    assert "<figure><svg" in first
    assert not re.search(r"Strict CCS|Citation rate|FIT", page)
    metrics = json.loads((tmp_path / "results/edct/tables/metrics.json").read_text())
    assert metrics == {"pairs": {"frank": 1.0, "sly": -1.0}}

    results = "results/edct"
    checked = ["verify", "--results", results, "--table", f"{results}/tables/edct_pairs.csv"]
    checked += ["--interval", json.dumps({})]
    assert "2 conditions of given pairs, 16 verdicts" in cfeval(*checked)
    kept = (tmp_path / results / "tables/edct_pairs.csv").read_text()
    (tmp_path / results / "tables/edct_pairs.csv").write_text(kept.replace("-1.0000", "-0.9000"))
    assert "phi is '-0.9000', not '-1.0000'" in cfeval(*checked, status=2)
    (tmp_path / results / "tables/edct_pairs.csv").write_text(kept)

    archive = shutil.copy(tmp_path / results / "calls/calls.zip", tmp_path / "calls.zip")
    shutil.rmtree(tmp_path / "results")
    shutil.rmtree(tmp_path / ".cfeval")
    cfeval("cache", "import", str(archive))
    cfeval("run", "--params", "offline")
    assert len(server.log) == asked
    assert (tmp_path / results / "tables/edct_pairs.csv").read_text() == kept
