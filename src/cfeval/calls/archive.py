"""An export of the response store: one ZIP file, the same bytes for the same calls, without times or costs of attempts.

`calls.jsonl` holds a line a call, by key; `images/<sha256>` what came back as images. Nothing is compressed, because
another version of a compressor would give other bytes.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from cfeval.calls.call import canonical
from cfeval.calls.store import Store
from cfeval.calls.stored import COLUMNS, StoredCall
from cfeval.errors import InputError
from cfeval.io.atomic import write_bytes_by

INDEX = "calls.jsonl"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_NO_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)
"""What the standard library raises over a file that is no ZIP file, or an odd one."""


def export(store: Store, keys: Iterable[str], out: Path) -> int:
    """Write the calls of these keys; those that the store lacks are taken from the archive at `out`, if there is one.

    Returns:
        How many calls were written.

    Raises:
        InputError: some calls are in neither, or an image is lost.
    """
    wanted = sorted(set(keys))
    rows = {call.key: call for call in store.calls(wanted)}
    missing = set(wanted) - set(rows)
    former = {call.key: (call, image) for call, image in read(out) if call.key in missing} if missing else {}
    lost = sorted(missing - set(former))
    if lost:
        raise InputError(
            f"{store.path}: {len(lost)} of {len(wanted)} calls are not in the store (first: {lost[0][:12]}…); import "
            "the archive that has them with `cfeval store import`"
        )
    rows |= {key: call for key, (call, _) in former.items()}
    images = {call.image: image for call, image in former.values()}

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_entry(INDEX), "".join(f"{_line(rows[key])}\n" for key in wanted))
            for sha256 in sorted({call.image for call in rows.values() if call.image}):
                archive.writestr(_entry(f"images/{sha256}"), images.get(sha256) or _image(store, sha256))

    write_bytes_by(out, write)
    return len(wanted)


def _line(call: StoredCall) -> str:
    return canonical(dict(zip(COLUMNS, call.row(), strict=True)))


def _image(store: Store, sha256: str) -> bytes:
    image = store.image(sha256)
    if image is None:
        raise InputError(f"{store.path}: the image {sha256} is lost; restore it with `cfeval store import`")
    return image


def read(path: Path) -> Iterator[tuple[StoredCall, bytes | None]]:
    """The calls of an archive and their images, checked; none where there is no file.

    Raises:
        InputError: not such an archive, or a call or image is not what its hash says.
    """
    if not path.exists():
        return
    try:
        with zipfile.ZipFile(path) as archive:
            lines = archive.read(INDEX).decode("utf-8").removesuffix("\n").split("\n")  # texts may hold other line ends
            for number, line in enumerate(lines if lines != [""] else [], start=1):
                yield _checked(f"{path}: {INDEX}, line {number}", line, archive)
    except _NO_ARCHIVE as error:
        raise InputError(f"{path}: not an export of a response store ({' '.join(str(error).split())})") from None


def _checked(place: str, line: str, archive: zipfile.ZipFile) -> tuple[StoredCall, bytes | None]:
    try:
        call = StoredCall(**json.loads(line))
    except (ValueError, TypeError, RecursionError) as error:
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
