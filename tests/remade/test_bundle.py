"""The audit bundle of the default study: equal bytes when it is built again, checked elsewhere, and no byte can change.

`make demo` makes the study; without it there is nothing to build a bundle of, and these tests fail.
"""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from cfeval.core.errors import InputError
from cfeval_audit.bundle.contents import MANIFEST, read_manifest
from cfeval_audit.bundle.stored_zip import Entry, Reader
from tests.audit.bundle.test_bundle import places
from tests.workflow.study import PROJECT

DAY = "2026-11-26"
BASE_ONLY = """
import socket, sys
from importlib.machinery import PathFinder
APART = {"torch", "transformers", "diffusers", "cv2", "skimage", "pandas", "dvc", "cryptography", "rocrate"}
class Base(PathFinder):
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in APART else PathFinder.find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Base
def refuse(*_): raise AssertionError("this is offline")
socket.socket.connect = socket.getaddrinfo = refuse
from cfeval.cli import run
sys.exit(run(sys.argv[1:]))
"""
"""The command where what the base install does not bring cannot be imported."""
SAMPLED = 4
"""So many files are flipped on disk, and the whole command run on them."""


def built(out: Path) -> str:
    """Build the bundle of the default study; what the command says."""
    command = [
        sys.executable,
        "-m",
        "cfeval.cli",
        "audit",
        "build",
        "--out",
        str(out),
        "--date",
        DAY,
        "--evaluation",
        "edct",
    ]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if "run the study" in done.stderr:
        pytest.fail(f"the default study is not finished: make demo first ({done.stderr.strip()[-200:]})")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("default") / "bundle.zip"
    built(out)
    return out


def verified(bundle: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the check in a folder, where the interpreter finds the base packages alone, and no network."""
    environment = {"PATH": os.defpath, "PYTHONPATH": str(PROJECT / "src"), "HOME": str(folder.parent)}
    command = [sys.executable, "-c", BASE_ONLY, "verify", str(bundle)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_same_study_gives_the_same_bytes_again(bundle: Path, tmp_path: Path) -> None:
    said = built(tmp_path / "again.zip")
    assert sha256(tmp_path / "again.zip") == sha256(bundle)
    assert re.search(r"the bundle's head is [0-9a-f]{64}", said)


def test_it_holds_in_an_empty_folder_with_the_base_packages_alone(bundle: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = verified(Path(shutil.move(shutil.copy(bundle, tmp_path / "copy.zip"), tmp_path / "moved.zip")), empty)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    tables = len(list((PROJECT / "results/edct/tables").glob("edct_*.csv")))
    [again] = re.findall(r"(\d+) files of tables made again, all the same", done.stdout)
    assert int(again) >= 3 * tables, "CSV, Markdown and LaTeX of every table"
    assert "could not be recomputed" not in done.stdout
    assert list(empty.iterdir()) == []


class Flipping(Reader):
    """Reads a bundle once; on the way each file is read with one byte flipped, which must be refused by its name."""

    def __init__(self, path: Path, wanted: dict[str, str]) -> None:
        super().__init__(path)
        self.wanted, self.refused = wanted, list[str]()

    def _content(self, stream: IO[bytes], entry: Entry) -> Iterator[bytes]:
        content = stream.read(entry.size)
        if content:
            at = len(content) * 2 // 3
            other = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
            with pytest.raises(InputError, match=rf"{re.escape(entry.name)}: it was changed after the bundle"):
                list(super()._content(io.BytesIO(other), entry))
            assert self.wanted.get(entry.name) != hashlib.sha256(other).hexdigest(), "nor would the manifest take it"
            self.refused.append(entry.name)
        yield from super()._content(io.BytesIO(content), entry)


def test_a_flipped_byte_of_any_file_is_refused_by_its_name(bundle: Path) -> None:
    with Reader(bundle).entries() as entries:
        _, pieces = next(entries)
        wanted = dict(read_manifest(b"".join(pieces).decode(), MANIFEST))
    reader = Flipping(bundle, wanted)
    with reader.entries() as entries:
        empty = [name for name, pieces in entries if not sum(map(len, pieces))]
    assert sorted([*reader.refused, *empty]) == sorted([MANIFEST, *wanted])
    assert len(reader.refused) > 500


def test_the_command_names_a_file_whose_byte_was_flipped_on_disk(bundle: Path, tmp_path: Path) -> None:
    filled = [place for place in places(bundle) if place[2]]
    other = Path(shutil.copy(bundle, tmp_path / "other.zip"))
    for name, start, size in filled[:: max(1, len(filled) // SAMPLED)]:
        flip(other, start + size // 2)
        done = verified(other, tmp_path)
        assert (done.returncode, name in done.stderr) == (2, True), (name, done.stderr)
        flip(other, start + size // 2)


def flip(file: Path, at: int) -> None:
    """Flip a bit of a file in place."""
    with file.open("r+b") as stream:
        stream.seek(at)
        byte = stream.read(1)[0]
        stream.seek(at)
        stream.write(bytes([byte ^ 1]))


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
