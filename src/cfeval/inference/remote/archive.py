"""An export of the response cache: one ZIP file, the same bytes for the same calls, without times or costs of attempts.

`calls.jsonl` holds a line a call, by key; `images/<sha256>` what came back as images. Nothing is compressed, because
another version of a compressor would give other bytes. `calls_total` sums an archive up: how many
calls, what they cost, and on which days.
"""

import hashlib
import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from cfeval.core.errors import InputError
from cfeval.core.files import NO_ARCHIVE, entry, write_bytes_by
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.cache_db import COLUMNS, StoredCall
from cfeval.inference.remote.request import canonical

INDEX = "calls.jsonl"
# What the standard library raises over an archive that cannot be read, or lacks the file that is asked for.
_UNREADABLE = (*NO_ARCHIVE, zlib.error, KeyError, OSError)


def export(cache: ResponseCache, keys: Iterable[str], out: Path) -> int:
    """Write the calls of these keys; those that the cache lacks are taken from the archive at `out`, if there is one.

    Of the calls no more than the keys and the names of images are in memory.

    Returns:
        How many calls were written.

    Raises:
        InputError: some calls are in neither, or an image is lost.
    """
    wanted = sorted(set(keys))

    def write(path: Path) -> None:
        with tempfile.TemporaryFile(dir=path.parent) as index:
            images = _write_index(cache, wanted, out, index)
            _write_archive(cache, index, images, out, path)

    write_bytes_by(out, write)
    return len(wanted)


def _write_index(cache: ResponseCache, wanted: Sequence[str], out: Path, index: IO[bytes]) -> dict[str, bool]:
    """Write the calls, a line each; returns their images: by hash, whether only the previous archive has them."""
    stored, previous_calls = _InOrder(cache.calls(wanted)), _InOrder(call for call, _ in read(out))
    images: dict[str, bool] = {}
    lost: list[str] = []
    for key in wanted:
        own = stored.at(key)
        call = own or previous_calls.at(key)
        if call is None:
            lost.append(key)
            continue
        index.write(f"{canonical(dict(zip(COLUMNS, call.row(), strict=True)))}\n".encode())
        if call.image:
            images[call.image] = images.get(call.image, False) or own is None
    if lost:
        raise InputError(
            f"{cache.path}: {len(lost)} of {len(wanted)} calls are not in the cache (first: {lost[0][:12]}…); "
            "import the archive that has them with `cfeval cache import`"
        )
    return images


def _write_archive(
    cache: ResponseCache, index: IO[bytes], images: Mapping[str, bool], previous: Path, path: Path
) -> None:
    """Write the ZIP file of an index and its images, some of which only the previous archive has."""
    with ExitStack() as stack:
        previous_archive = stack.enter_context(zipfile.ZipFile(previous)) if any(images.values()) else None
        archive = stack.enter_context(zipfile.ZipFile(path, "w", zipfile.ZIP_STORED))
        info = entry(INDEX)
        info.file_size = index.tell()  # decides on the form of the entry: one over 2 GB needs another
        index.seek(0)
        with archive.open(info, "w") as stream:
            shutil.copyfileobj(index, stream)
        for sha256 in sorted(images):
            name = f"images/{sha256}"
            if previous_archive is not None and images[sha256]:
                content = previous_archive.read(name)
            elif (image := cache.image(sha256)) is not None:
                content = image
            else:
                restore = "restore it with `cfeval cache import`"
                raise InputError(f"{cache.path}: the image {sha256} is lost; {restore}")
            archive.writestr(entry(name), content)


class _InOrder:
    """Calls that come in the order of their keys, looked up in that order; nothing is read before the first look."""

    def __init__(self, calls: Iterator[StoredCall]) -> None:
        self._calls = calls
        self._next: StoredCall | None = None

    def at(self, key: str) -> StoredCall | None:
        """The call of a key that is not before the last one asked for."""
        while self._next is None or self._next.key < key:
            self._next = next(self._calls, None)
            if self._next is None:
                return None
        return self._next if self._next.key == key else None


def read(path: Path) -> Iterator[tuple[StoredCall, bytes | None]]:
    """The calls of an archive and their images, checked; none where there is no file.

    Raises:
        InputError: not such an archive, or a call or image is not what its hash says.
    """
    if not path.exists():
        return
    try:
        with zipfile.ZipFile(path) as archive:
            last = ""
            for number, line in enumerate(archive.open(INDEX), start=1):  # bytes: texts may hold other line ends
                place = f"{path}: {INDEX}, line {number}"
                call, image = _checked(place, line.decode("utf-8").removesuffix("\n"), archive)
                if call.key <= last:
                    raise InputError(
                        f"{place}: not in the order of keys; take the archive from where it came from again"
                    )
                last = call.key
                yield call, image
    except _UNREADABLE as error:
        raise InputError(f"{path}: not an export of a response cache ({' '.join(str(error).split())})") from None


def _checked(place: str, line: str, archive: zipfile.ZipFile) -> tuple[StoredCall, bytes | None]:
    try:
        call = StoredCall.of_columns(**json.loads(line))
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


@dataclass(frozen=True)
class CallsTotal:
    """Calls to models behind a server, on this machine too; tokens are those that the servers counted."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    """In USD, of the calls whose provider reported a cost."""
    priced: int = 0
    """How many calls those are."""
    days: tuple[str, ...] = ()
    """The first and the last day on which a server says that it replied (UTC); none where no reply has a time."""

    @property
    def text(self) -> str:
        """In a few words: `1,200 model calls, 0.84 USD as the providers reported`."""
        if not self.calls:
            return "no call to a hosted model, 0 USD"
        tokens = f"{self.input_tokens:,} tokens read, {self.output_tokens:,} written"
        cost = f"{self.usd:,.2f} USD" if self.priced else "no cost reported"
        share = f" for {self.priced:,} of them" if 0 < self.priced < self.calls else ""
        return f"{self.calls:,} model calls, {tokens}, {cost}{share}"

    @property
    def when(self) -> str:
        """`2026-03-02 to 2026-03-04`; empty where no reply has a time."""
        return " to ".join(dict.fromkeys(self.days))


def calls_total(archive: Path) -> CallsTotal:
    """The sum over an archive of calls.

    Raises:
        InputError: it is missing, or no such archive.
    """
    calls = read = written = priced = 0
    usd, days = 0.0, set[str]()
    with _lines_of(archive) as lines:
        for line in lines:
            reply = json.loads(line["reply"])
            usage, calls = reply["usage"], calls + 1
            read, written = read + usage["input_tokens"], written + usage["output_tokens"]
            if usage["cost_usd"] is not None:
                usd, priced = usd + usage["cost_usd"], priced + 1
            made = reply["raw"].get("created") if isinstance(reply["raw"], dict) else None
            if isinstance(made, int) and made > 0:
                days.add(datetime.fromtimestamp(made, UTC).date().isoformat())
    return CallsTotal(calls, read, written, usd, priced, (min(days), max(days)) if days else ())


def paid_by_call(archive: Path) -> dict[str, float]:
    """What each call cost in USD, by its key, where the provider reported it.

    Raises:
        InputError: it is missing, or no such archive.
    """
    with _lines_of(archive) as lines:
        costs = ((line["key"], json.loads(line["reply"])["usage"]["cost_usd"]) for line in lines)
        return {key: usd for key, usd in costs if usd is not None}


@contextmanager
def _lines_of(archive: Path) -> Iterator[Iterator[dict[str, Any]]]:
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(INDEX) as lines:
            yield map(json.loads, lines)
    except (*NO_ARCHIVE, OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{archive}: not an archive of calls ({' '.join(str(error).split())})") from None
