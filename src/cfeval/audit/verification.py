"""`cfeval verify`: check an audit bundle, or that the results of an evaluation belong together, offline."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.audit.bundle import signature as signatures
from cfeval.audit.bundle import timestamp
from cfeval.audit.bundle.check import check
from cfeval.audit.recompute import tables_again
from cfeval.core.errors import InputError
from cfeval.cvqa import verification as cvqa
from cfeval.edct.verification import cli as edct
from cfeval.vce import verification as vce


def run(
    bundle: Annotated[
        Path | None,
        typer.Argument(help="An audit bundle (ZIP), with --key, --signature, --tsa-root and --limit alone."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="Or the folder of an evaluation's results, such as results/edct or results/cvqa."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The public SSH key (….pub) that must have signed the bundle.")
    ] = None,
    signature: Annotated[
        Path | None, typer.Option(help="The bundle's signature; empty: next to it, with `.dsse.json`.")
    ] = None,
    tsa_root: Annotated[
        Path | None, typer.Option(help="Root certificate (PEM) of the authority that must have stamped the signature.")
    ] = None,
    conditions: Annotated[
        str, typer.Option(help="edct: the conditions to check, a JSON list of objects of names; empty: all.")
    ] = "",
    calls: Annotated[
        Path | None, typer.Option(help="Archive of the calls; empty: calls/calls.zip of the results.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="A response cache to look for calls in, besides.")] = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(help="edct: tables (CSV) of one condition a row whose figures must fit; may be repeated."),
    ] = None,
    interval: Annotated[
        str,
        typer.Option(help="edct: how tables' intervals were computed, as JSON; empty: intervals are not compared."),
    ] = "",
    failed_edits: Annotated[
        float, typer.Option(min=0, max=0.9, help="edct: as the trust card was told, share of edits that failed unseen.")
    ] = 0.0,
    exams: Annotated[
        str,
        typer.Option(help='edct: as the tables were told, exams by judge, as JSON: {"panel": "exam.csv"}.'),
    ] = "{}",
    kept: Annotated[Path | None, typer.Option(help="edct: a chain written before, with which all must agree.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="edct: where to write the chain (JSONL): a line of hashes for each score.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many faults to print.")] = 20,
) -> None:
    """Check an audit bundle, or that results in a folder belong together, offline: from image to score, item by item.

    Of a bundle every byte is compared with its manifest, and every table is made again from what it rests on.
    Images are those that their records name; items and statuses agree from stage to stage; scores follow from what
    they rest on; calls are the ones that the records name; every table that has a provenance record is made again, and
    the first cell that differs is named. Ends with status 2 where something does not fit; then no chain is written.
    """
    if bundle is not None:
        others = (results, conditions, calls, cache, table, interval, failed_edits, kept, out)
        if any(others) or exams != "{}":
            raise InputError(
                f"{bundle}: of a bundle only --key, --signature, --tsa-root and --limit are asked; leave the others out"
            )
        verify_bundle(bundle, key, signature, tsa_root, limit)
        return
    if results is None or key or signature or tsa_root:
        raise InputError("name what to check: BUNDLE [--key KEY.pub], or --results results/edct")
    evaluation = evaluation_of(results)
    if evaluation == "edct":
        again = () if conditions else tables_again(results)
        edct.verify(results, conditions, calls, cache, table, interval, failed_edits, exams, kept, out, limit, again)
        return
    taken = "--calls, --cache and --limit" if evaluation == "cvqa" else "--limit"
    of_edct = (conditions, table, interval, kept, out, exams != "{}", failed_edits)
    if any(of_edct) or (evaluation == "vce" and (calls or cache)):
        raise InputError(f"--results is of {evaluation}: it takes {taken} alone; leave the others out")
    if calls and not calls.is_file():
        raise InputError(f"--calls: no file {calls}")
    if evaluation == "cvqa":
        cvqa.verify(results, calls, cache, limit, tables_again(results))
    else:
        vce.verify(results, limit, tables_again(results))


def evaluation_of(results: Path) -> str:
    """The evaluation that results are of, by the folders that no other one has; edct where there is none of them."""
    of = {"answers": "cvqa", "groups": "vce"}
    own = (name for folder, name in of.items() if (results / folder).is_dir())
    return next(own, results.name if results.name in of.values() else "edct")


def verify_bundle(bundle: Path, key: Path | None, envelope: Path | None, root: Path | None, limit: int) -> None:
    """Check a bundle, its signature where a key is named, and the signature's time stamp where a root is.

    Raises:
        InputError: something does not fit.
    """
    if key is None and (envelope is not None or root is not None):
        option = "--tsa-root" if envelope is None else "--signature"
        raise InputError(f"{option}: name the public key that must have signed the bundle by --key")
    head = check(bundle, limit)
    if key is None:
        return
    place = envelope or bundle.with_name(f"{bundle.name}{signatures.ENDING}")
    stamp = place.with_name(f"{place.name}{timestamp.ENDING}")
    signer = signatures.check(place, key, head)
    seen = timestamp.check(stamp, place.read_bytes(), root) if root is not None else None
    print(f"signed by {signer}")
    if seen is not None:
        print(f"signed before {seen:%Y-%m-%d %H:%M:%S %Z}, by the clock of an authority of {root}")
    elif stamp.exists():
        print(f"could not be checked: {stamp} (name the authority's root certificate by --tsa-root)")
