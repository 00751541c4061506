"""Take a set of items from the candidates, stratified and with a seed, and freeze it by hash."""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cfeval.cli.common import Out, SamplesFile, Seed, originals
from cfeval.io.frozen import content_hash, write_set
from cfeval.io.records import read_csv, read_jsonl
from cfeval.records.curation import Decision, Override
from cfeval.records.edct import Sample
from cfeval.studies.edct.candidates import fates
from cfeval.studies.edct.stratified import By, Plan, Stratum, select

COLUMNS = ("there", "undecided", "kept", "free", "taken")


def run(
    samples: SamplesFile,
    items: Annotated[int, typer.Option(min=1, help="How many to take.")],
    seed: Seed,
    out: Out,
    decisions: Annotated[
        Path | None, typer.Option(help="What `cfeval edct filter` decided (JSONL); without it all candidates are kept.")
    ] = None,
    overrides: Annotated[
        Path | None, typer.Option(help="What people decided instead (CSV: id, keep, reason, who).")
    ] = None,
    by: Annotated[By, typer.Option(help="The field of a sample that strata are made by.")] = "kind",
    equal: Annotated[
        bool, typer.Option("--equal", help="As many of each stratum, instead of in proportion to its size.")
    ] = False,
    per_image: Annotated[int, typer.Option(min=0, help="At most so many questions about an image; 0: any.")] = 0,
) -> None:
    """Take a set of items from the candidates, stratified and with a seed, and freeze it by hash.

    OUT lists the ids, each with the SHA-256 of its question, image and right answer; give it to a data set's option
    `ids`. The table says of every stratum how many candidates are there, undecided and kept, how many of the kept ones
    --per-image leaves free, and how many are taken. A stratum with fewer than its share gives all, the others make up
    for it. The order of files does not matter.
    """
    candidates = {sample.id: sample for sample in read_jsonl(samples, Sample)}
    said = None if decisions is None else read_jsonl(decisions, Decision)
    fate = fates(candidates, said, read_csv(overrides, Override) if overrides else ())
    taken, strata = select(candidates, fate, Plan(items, seed, by, equal, per_image))
    picture_of = originals(samples)
    write_set(out, {item: content_hash(candidates[item], picture_of(candidates[item])) for item in taken})
    _show(strata, "all" if by == "none" else by)
    print(f"{len(taken)} items frozen in {out} (SHA-256 {hashlib.sha256(out.read_bytes()).hexdigest()})")


def _show(strata: Sequence[Stratum], field: str) -> None:
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column(field)
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for stratum in strata:
        table.add_row(Text(stratum.name or "(none)"), *(str(getattr(stratum, column)) for column in COLUMNS))
    table.add_section()
    table.add_row("sum", *(str(sum(getattr(stratum, column) for stratum in strata)) for column in COLUMNS))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
