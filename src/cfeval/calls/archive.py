"""An export of the response store: one ZIP file, the same bytes for the same calls, without times or costs of attempts.

`calls.jsonl` holds a line a call, by key; `images/<sha256>` what came back as images. Nothing is compressed, because
another version of a compressor would give other bytes.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from cfeval.calls.call import canonical
from cfeval.calls.store import Store, StoredCall
from cfeval.errors import InputError
from cfeval.io.atomic import write_bytes_by

INDEX = "calls.jsonl"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def export(store: Store, keys: Iterable[str], out: Path) -> int:
    """Write the calls of these keys; those that the store lacks are taken from the archive at `out`, if there is one.

    Returns:
        How many calls were written.

    Raises:
        InputError: some calls are in neither.
    """
    wanted = sorted(set(keys))
    images = {call.key: None for call in store.calls(wanted)}
    missing = [key for key in wanted if key not in images]
    former = {call.key: (call, image) for call, image in read(out) if call.key in set(missing)} if missing else {}
    lost = [key for key in missing if key not in former]
    if lost:
        raise InputError(
            f"{store.path}: {len(lost)} of {len(wanted)} calls are not in the store (first: {lost[0][:12]}…); import "
            "the archive that has them with `cfeval store import`"
        )
    rows = {call.key: call for call in store.calls(wanted)} | {key: call for key, (call, _) in former.items()}

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            lines = (canonical(asdict(rows[key])) + "\n" for key in wanted)
            archive.writestr(_entry(INDEX), "".join(lines))
            named = {call.image: call.key for call in rows.values() if call.image}
            for sha256, key in sorted(named.items()):
                content = former[key][1] if key in former else store.image(sha256)
                archive.writestr(_entry(f"images/{sha256}"), content or b"")

    write_bytes_by(out, write)
    return len(wanted)


def read(path: Path) -> Iterator[tuple[StoredCall, bytes | None]]:
    """The calls of an archive and their images, checked; none where there is no file.

    Raises:
        InputError: not such an archive, or a call or image is not what its hash says.
    """
    if not path.exists():
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for number, line in enumerate(archive.read(INDEX).decode("utf-8").splitlines(), start=1):
                yield _checked(f"{path}: {INDEX}, line {number}", line, archive)
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: not an export of a response store ({' '.join(str(error).split())})") from None


def _checked(place: str, line: str, archive: zipfile.ZipFile) -> tuple[StoredCall, bytes | None]:
    try:
        call = StoredCall(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise InputError(f"{place}: not a stored call ({type(error).__name__})") from None
    if fault := call.fault():
        raise InputError(f"{place}: {fault}; take the archive from where it came from again")
    image = archive.read(f"images/{call.image}") if call.image else None
    if image is not None and hashlib.sha256(image).hexdigest() != call.image:
        raise InputError(
            f"{place}: its image is not what its hash says; take the archive from where it came from again"
        )
    return call, image


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.external_attr = 0o644 << 16
    return entry
