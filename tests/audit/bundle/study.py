"""A small study as a run leaves it, with a provenance record for each job, and ways to forge a bundle of it."""

import json
import shutil
import zlib
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from cfeval import cli
from cfeval.audit.bundle import manifest
from cfeval.audit.bundle.build import Study, build
from cfeval.audit.bundle.stored_zip import Reader, Source, write
from cfeval.config import parse, read
from cfeval.core.images import folder_of
from cfeval.core.provenance.hashes import Hashes, digest
from cfeval.edct.files import STAGES
from tests.edct.verification.study import PLAIN
from tests.edct.verification.study import Study as Records
from tests.edct.verification.tamper import Results

DEFAULT = Path(__file__).parents[3] / "params.yaml"
EDCT = "results/edct"
TABLE = f"{EDCT}/tables/edct_table1"
PICTURED = ("items", "counterfactuals", "checks")


def make(place: Path, shards: int = 1) -> Study:
    """Write a study of seven items into a folder, with its table; what a bundle is built from."""
    Records(place / EDCT, [PLAIN], shards=shards)
    outputs, records = [], []
    results = Results(Path(EDCT))
    with chdir(place):
        jobs = [(f"edct.{stage}", _stage(results, stage), [], ()) for stage in STAGES]
        jobs.append(("edct.calls", [f"{EDCT}/calls/calls.zip"], [], ()))
        words = (
            "--conditions",
            json.dumps([PLAIN.model_dump()]),
            "--results",
            EDCT,
            "--interval",
            '{"resamples": 100}',
        )
        command = ("table", "table1", *words, "--out", TABLE)
        assert cli.run(["stage", "edct", *command]) == 0
        tables = [f"{TABLE}.{ending}" for ending in ("csv", "md", "tex")]
        jobs.append(("edct.table", tables, [str(results.file("scores"))], ("edct", *command)))
        for stage, made, inputs, words in jobs:
            record = {
                "plan": {"stage": stage, "command": words, "code": {}, "files": {}, "versions": {"numpy": "2.0"}},
                "inputs": {path: Hashes().path(path) for path in inputs},
                "outputs": {path: Hashes().path(path) for path in made},
            }
            Path(f"{made[0]}.made.json").write_text(json.dumps(record, sort_keys=True))
            outputs += made
            records.append(f"{made[0]}.made.json")
        shutil.copy(DEFAULT, "params.yaml")
    return Study(
        parse(read(DEFAULT)), {EDCT: "edct"}, outputs, records, {"params.yaml": Path("params.yaml")}, "2026-11-23"
    )


def _stage(results: Results, stage: str) -> list[str]:
    file = results.file(stage)
    pictures = f"{folder_of(file)}/"
    return [str(file), *([pictures] if stage in PICTURED and Path(pictures).is_dir() else [])]


def bundled(place: Path, out: Path, redact: bool = False) -> Path:
    """The bundle of a study that `make` wrote anew into a folder."""
    study = make(place)
    with chdir(place):
        build(study, out, redact)
    return out


def contents(bundle: Path) -> dict[str, bytes]:
    """The files of a bundle."""
    with Reader(bundle).entries() as entries:
        return {name: b"".join(pieces) for name, pieces in entries}


def forged(bundle: Path, out: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A bundle with other files and a manifest that fits them."""
    files = contents(bundle)
    change(files)
    hashes = {name: digest(content) for name, content in files.items() if name != manifest.NAME}
    files = {manifest.NAME: manifest.text_of(hashes).encode(), **dict(sorted((n, files[n]) for n in hashes))}
    with out.open("wb") as stream:
        write(stream, (Source(n, content, len(content), zlib.crc32(content)) for n, content in files.items()))
    return out
