"""`cfeval audit build` and `cfeval audit sign`: make an audit bundle of a study, and sign one."""

import datetime
import getpass
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from cfeval.core.errors import InputError
from cfeval.core.files import ensure_writable, write_bytes, write_text
from cfeval.core.folder import PARAMS, Evaluations, Folder, Name, ParamsFiles, study_in
from cfeval.core.record import record_of
from cfeval.study.whole import Job, Whole, outdated, whole
from cfeval_audit.bundle import signature
from cfeval_audit.bundle.build import NO_LICENCE, Study, build
from cfeval_audit.bundle.check import check, unpack


def run_build(
    out: Annotated[Path, typer.Option(help="The archive (ZIP).")],
    folder: Folder = Path(),
    evaluation: Evaluations = None,
    params: ParamsFiles = None,
    name: Name = "",
    redact: Annotated[bool, typer.Option("--redact", help="Leave out texts and images; keep their hashes.")] = False,
    date: Annotated[str, typer.Option(help="Date of the bundle, YYYY-MM-DD. Default: today (UTC).")] = "",
    licence: Annotated[str, typer.Option(help="Terms under which the results may be used: a URL or a text.")] = "",
) -> None:
    """Build the audit bundle of a study: one archive with everything that its tables rest on.

    It is a ZIP file and a Workflow Run RO-Crate: parameters, prompts, code revision and packages, the calls without
    keys, images, records, tables, the report, and hashes of all. `cfeval verify BUNDLE` checks it anywhere, offline.
    The same study and date give the same bytes. Outdated results are refused.
    """
    ensure_writable(out)
    if date and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        raise InputError(f"--date: {date!r} is not a date; write YYYY-MM-DD")
    archive = out.absolute()
    day = date or datetime.datetime.now(datetime.UTC).date().isoformat()
    with study_in(folder, params) as files:
        study = whole(files, name)
        jobs = valid_jobs(study, evaluation)
        names = dict.fromkeys(job.study for job in jobs)
        parameters = {str(PARAMS): PARAMS}
        parameters |= {f"overlays/{number}-{file.name}": file for number, file in enumerate(files[1:])}
        content = Study(
            study.params,
            {f"{study.root}/{evaluated}": evaluated for evaluated in names},
            [record_of(job.words) for job in jobs],
            parameters,
            day,
            licence or NO_LICENCE,
        )
        head = build(content, archive, redact)
    print(f"{out}: {out.stat().st_size:,} bytes; the bundle's head is {head}")


def valid_jobs(study: Whole, names: Sequence[str] | None) -> list[Job]:
    """The jobs of some studies, or of all; InputError if one is outdated."""
    jobs = study.jobs(names)
    if reasons := outdated(jobs):
        path, why = next(iter(reasons.items()))
        raise InputError(f"{path}: {why}; {len(reasons)} of {len(jobs)} results are outdated: run the study first")
    return jobs


def run_sign(
    bundle: Annotated[Path, typer.Argument(help="The archive that `cfeval audit build` made.")],
    key: Annotated[Path, typer.Option(help="Your private SSH key (Ed25519), such as ~/.ssh/id_ed25519.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the signature; empty: next to the bundle, with `.dsse.json`.")
    ] = None,
    stamp_by: Annotated[
        str, typer.Option("--timestamp", help="URL of a time-stamping authority (RFC 3161) that stamps the signature.")
    ] = "",
) -> None:
    """Sign an audit bundle with your SSH key: an in-toto statement about its manifest, in a DSSE envelope.

    Every file is compared with the manifest first; whether the files fit together is what `cfeval verify` says. A time
    stamp is a file next to the signature, with `.tsr`; the authority is sent the signature's hash alone.
    """
    to = out or bundle.with_name(f"{bundle.name}{signature.ENDING}")
    ensure_writable(to)
    with TemporaryDirectory(prefix="cfeval-sign-") as folder:
        unpacked = unpack(bundle, Path(folder, "bundle"))
    tables = {name: sha256 for name, sha256 in unpacked.files.items() if "/tables/" in name and name.endswith(".csv")}
    stated = {"bundle": bundle.name, "redacted": unpacked.redacted, "tables": tables}
    payload = signature.statement(unpacked.head, stated)
    envelope = signature.signed(payload, key.expanduser(), lambda: getpass.getpass(f"{key}: ").encode())
    beside = to.with_name(f"{to.name}{signature.STAMP_ENDING}")
    stamp = signature.stamped(envelope.encode(), stamp_by) if stamp_by else b""
    write_text(to, envelope)
    print(f"{to}: signs the bundle with the head {unpacked.head}")
    if stamp:
        write_bytes(beside, stamp)
        print(f"{beside}: the time stamp of {stamp_by}")


def verify(bundle: Path, key: Path | None, envelope: Path | None, root: Path | None, limit: int) -> None:
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
    place = envelope or bundle.with_name(f"{bundle.name}{signature.ENDING}")
    stamp = place.with_name(f"{place.name}{signature.STAMP_ENDING}")
    signer = signature.check(place, key, head)
    seen = signature.check_stamp(stamp, place.read_bytes(), root) if root is not None else None
    print(f"signed by {signer}")
    if seen is not None:
        print(f"signed before {seen:%Y-%m-%d %H:%M:%S %Z}, by the clock of an authority of {root}")
    elif stamp.exists():
        print(f"could not be checked: {stamp} (name the authority's root certificate by --tsa-root)")
