"""A small study as a run leaves it, with a record of each step, and ways to forge a bundle of it."""

import json
import zlib
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

from cfeval import cli
from cfeval.core.hashes import Hashes, digest
from cfeval.core.record import option, options, outputs_of, read, record_of, steps
from cfeval.study.whole import Job, whole
from cfeval_audit.bundle.build import Study, build
from cfeval_audit.bundle.contents import MANIFEST, manifest_text
from cfeval_audit.bundle.stored_zip import Reader, Source, write
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
    """Write the parameters beside the records of a study in the working folder, tables, and the records of all steps.

    The pages and figures that the parameters ask for are drawn by nobody here.
    """
    return ran(PARAMS.format(shards=shards), lambda job: job.words[1] == "tables")


def made_of_pairs(place: Path) -> Study:
    """Run a study of given pairs alone in a folder, every job of it; what a bundle is of."""
    place.mkdir(parents=True)
    with chdir(place):
        return ran(PAIRS, lambda _: True)


def ran(text: str, wanted: Callable[[Job], bool]) -> Study:
    """Write parameters into the working folder, run the jobs that are wanted, and write the records of all.

    Code and packages in them are made up, so that they are the same whatever else a test has loaded.
    """
    Path("params.yaml").write_text(text)
    study = whole()
    jobs = study.jobs(["edct"])
    for job in jobs:
        if wanted(job):
            assert cli.run(job.words) == 0
        for path in job.outputs:
            if not Path(path).exists() and "." in Path(path).name:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).write_bytes(b"drawn")
        record = Path(record_of(job.words))
        told = read(record) or [forged_step(step) for step in steps(job.words)]
        told = [{**step, "code": {"cfeval.edct": "1"}, "packages": {"numpy": "2.0"}} for step in told]
        record.write_text(json.dumps({"steps": told}, sort_keys=True))
    parameters = {"params.yaml": Path("params.yaml")}
    return Study(study.params, {EDCT: "edct"}, [record_of(job.words) for job in jobs], parameters, "2026-11-23")


def forged_step(words: list[str]) -> dict[str, Any]:
    """What a step would say that was never run: its files are those that its command names."""
    taken = [word for word in words if word.startswith("results/") and Path(word).is_file()]
    files = {path: Hashes().path(path) for path in taken if path != option(words, "--out")}
    made = {path: Hashes().path(path) for path in outputs_of(words)}
    return {"options": options(words), "inputs": files, "outputs": made}


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
    hashes = {name: digest(content) for name, content in files.items() if name != MANIFEST}
    files = {MANIFEST: manifest_text(hashes).encode(), **dict(sorted((n, files[n]) for n in hashes))}
    with out.open("wb") as stream:
        write(stream, (Source(n, content, len(content), zlib.crc32(content)) for n, content in files.items()))
    return out
