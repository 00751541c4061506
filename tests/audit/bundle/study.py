"""A small study as a run leaves it, with a provenance record for each job, and ways to forge a bundle of it."""

import json
import zlib
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from cfeval import cli
from cfeval.audit.bundle import manifest
from cfeval.audit.bundle.build import Study, build
from cfeval.audit.bundle.stored_zip import Reader, Source, write
from cfeval.config import parse, read
from cfeval.core.provenance.hashes import Hashes, digest
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.plans import named
from cfeval.jobs import jobs
from tests.edct.verification.study import PLAIN
from tests.edct.verification.study import Study as Records

EDCT = "results/edct"
TABLE = f"{EDCT}/tables/edct_table1"
PARAMS = """
shards: {shards}
edct:
  items: 7
  seed: 1
  edits: 1
  datasets: {{d: {{plugin: world}}}}
  vlms: {{m: {{plugin: openai, model: m, base_url: "http://h/v1"}}}}
  instruction_writers: {{w: {{plugin: grammar}}}}
  editors: {{e: {{plugin: scene}}}}
  judges: {{j: {{plugin: lexical}}}}
  interval: {{resamples: 100}}
  tables: {{table1: [{{dataset: [d], vlm: [m], writer: [w], editor: [e], judge: [j]}}]}}
"""
"""Of a study with one condition."""

PAIRS = """
edct:
  items: 6
  seed: 1
  vlms: {grounded: {plugin: world, persona: grounded}, listing: {plugin: world_behavior, behavior: blind-listing}}
  pair_sets: {world: {plugin: world}}
  pair_judges: {grammar: {plugin: grammar}}
  interval: {resamples: 100}
  pairs: [{pair_set: [world], vlm: [grounded, listing], pair_judge: [grammar]}]
  tables: {table1: []}
  expected: {listing: {faithful: 0, no_phi: its answer never moves}}
"""
"""Of a study of given pairs alone."""


def make(place: Path, shards: int = 1) -> Study:
    """Write a study of seven items into a folder, with its table; what a bundle is built from."""
    Records(place / EDCT, [PLAIN], shards=shards)
    with chdir(place):
        return recorded(shards)


def recorded(shards: int) -> Study:
    """Write the parameters beside the records of a study in the working folder, tables, and provenance records of all.

    The pages and figures that the parameters ask for are drawn by nobody here.
    """
    return ran(PARAMS.format(shards=shards), lambda job: job.stage in ("edct.table", "edct.metrics"))


def made_of_pairs(place: Path) -> Study:
    """Run a study of given pairs alone in a folder, every job of it, with provenance records; what a bundle is of."""
    place.mkdir(parents=True)
    with chdir(place):
        return ran(PAIRS, lambda _: True)


def ran(text: str, wanted: Callable[[Job], bool]) -> Study:
    """Write parameters into the working folder, run the jobs that are wanted, and write provenance records of all."""
    Path("params.yaml").write_text(text)
    params = parse(read(Path("params.yaml")))
    asked = list(jobs(params, "results", "edct"))
    for job in asked:
        if wanted(job):
            assert cli.run(["stage", *job.command]) == 0
        for path in job.outputs:
            if not path.endswith("/") and not Path(path).exists():
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).write_bytes(b"drawn")
        command = [named(word) if word in job.files else word for word in job.command]
        tabled = job.stage in ("edct.table", "edct.pair_table")
        files = {named(file): Hashes().path(file) for file in job.files if tabled}
        plan = {"stage": job.stage, "command": command, "code": {}, "files": files, "versions": {"numpy": "2.0"}}
        record = {
            "plan": plan,
            "inputs": {path: Hashes().path(path) for path in job.inputs},
            "outputs": {path: Hashes().path(path) or digest(b"") for path in job.outputs},
        }
        Path(job.sidecar).write_text(json.dumps(record, sort_keys=True))
    outputs = [path for job in asked for path in job.outputs]
    records = [job.sidecar for job in asked]
    return Study(params, {EDCT: "edct"}, outputs, records, {"params.yaml": Path("params.yaml")}, "2026-11-23")


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
