"""An audit bundle: equal bytes for equal studies, checked anywhere offline, and no byte of it can be changed."""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.core.hashes import digest
from cfeval_audit.bundle.check import unpack
from cfeval_audit.bundle.stored_zip import Reader
from tests.audit.bundle.study import EDCT, TABLE, bundled, contents, forged
from tests.conftest import Run

Files = dict[str, bytes]
BASE_ONLY = """
import socket, sys
for name in ("torch", "transformers", "diffusers", "cv2", "skimage", "pandas", "dvc", "cryptography", "rocrate"):
    sys.modules[name] = None
def refuse(*_): raise AssertionError("this is offline")
socket.socket.connect = socket.getaddrinfo = refuse
from cfeval.cli import run
sys.exit(run(sys.argv[1:]))
"""


def refused(bundle: Path, cfeval: Run) -> str:
    """The line that says why a bundle does not hold; the last of what is printed before it where that is about it."""
    status, out, err = cfeval("verify", bundle)
    assert status == 2
    assert err.startswith("cfeval: ")
    assert err.count("\n") == 1
    return out + err


def test_equal_studies_give_equal_bytes(bundle: Path, tmp_path: Path) -> None:
    again = bundled(tmp_path / "elsewhere", tmp_path / "again.zip")
    assert again.read_bytes() == bundle.read_bytes()


def test_other_tools_read_it(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"params.yaml", "about.json", "chain-edct.jsonl", "Snakefile", f"{EDCT}/calls/calls.zip"} < names
    done = subprocess.run(["sha256sum", "--check", "--quiet", "manifest-sha256.txt"], cwd=tmp_path, check=False)
    assert done.returncode == 0
    listed = {line[66:] for line in (tmp_path / "manifest-sha256.txt").read_text().splitlines()}
    assert listed == names - {"manifest-sha256.txt"}


@pytest.mark.slow
def test_it_holds_offline_on_another_path_with_the_base_install_alone(bundle: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copy(bundle, tmp_path / "other name.zip"))
    command = [sys.executable, "-c", BASE_ONLY, "verify", moved.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 conditions, 7 items and edits" in done.stdout
    assert "16 files of tables made again, all the same" in done.stdout
    assert done.stdout.endswith(f"the bundle's head is {digest(contents(bundle)['manifest-sha256.txt'])}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["other name.zip"]


def test_what_models_said_of_themselves_is_in_it(bundle: Path) -> None:
    about = json.loads(contents(bundle)["about.json"])
    [called] = about["calls"]
    assert (called["model"], called["reported"]) == ("m", "m-1")
    assert called["host"] == "h"
    assert about["answered"][0]["reported"] == "m-1"
    assert about["packages"] == {"numpy": ["2.0"]}


@pytest.mark.slow
def test_a_flipped_byte_of_any_file_is_refused_by_the_files_name(bundle: Path, tmp_path: Path) -> None:
    content = bundle.read_bytes()
    for name, start, size in places(bundle):
        if size:
            with pytest.raises(InputError, match="changed after the bundle was written") as refusal:
                unpack(flipped(content, start + size // 2, tmp_path), tmp_path / f"u{start}")
            assert name in str(refusal.value)


@pytest.mark.slow
def test_no_byte_outside_the_files_can_be_flipped_either(bundle: Path, tmp_path: Path) -> None:
    content = bundle.read_bytes()
    inside = {at for _, start, size in places(bundle) for at in (range(start, start + size))}
    outside = [at for at in range(len(content)) if at not in inside]
    for number, at in enumerate(outside[:: max(1, len(outside) // 150)] + outside[-30:]):
        with pytest.raises(InputError):
            unpack(flipped(content, at, tmp_path), tmp_path / f"o{number}")


def test_neither_a_byte_less_nor_one_more_is_taken(bundle: Path, tmp_path: Path) -> None:
    content = bundle.read_bytes()
    for number, other in enumerate((content[:-1], content + b"\0", content[: len(content) // 2], b"", b"PK\3\4")):
        path = tmp_path / "other.zip"
        path.write_bytes(other)
        with pytest.raises(InputError):
            unpack(path, tmp_path / f"c{number}")


def places(bundle: Path) -> list[tuple[str, int, int]]:
    """The name of each file, where its content begins, and its bytes."""
    with zipfile.ZipFile(bundle) as archive:
        return [(e.filename, e.header_offset + 30 + len(e.filename.encode()), e.file_size) for e in archive.infolist()]


def flipped(content: bytes, at: int, place: Path) -> Path:
    path = place / "flipped.zip"
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    return path


def test_another_archive_is_no_bundle(cfeval: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest-sha256.txt", "")
    for name in (path, tmp_path, tmp_path / "none.zip"):
        assert str(name) in refused(name, cfeval)


def edited(name: str, old: bytes, new: bytes) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        assert old in files[name]
        files[name] = files[name].replace(old, new)

    return change


SCORES = f"{EDCT}/scores/d/m/w/e/j/edct-2025.csv"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (SCORES, b",1,1,", b",1,0,"),
        (f"{TABLE}.csv", b"1.0000", b"0.9000"),
        (f"{EDCT}/baselines/d/m.jsonl", b"It is red.", b"It is gray"),
        (f"{EDCT}/items/d/a.png", b"IHDR", b"IHDX"),
        (f"{EDCT}/calls/calls.zip", b"It is", b"It as"),
    ],
)
def test_a_change_with_a_manifest_that_fits_is_refused_by_records(
    bundle: Path, tmp_path: Path, cfeval: Run, name: str, old: bytes, new: bytes
) -> None:
    said = refused(forged(bundle, tmp_path / "forged.zip", edited(name, old, new)), cfeval)
    assert name in said or f"{name.rpartition('/')[0]}/" in said
    assert "not the file that" in said


def resealed(name: str, old: bytes, new: bytes) -> Callable[[Files], None]:
    """A change with records that fit too."""

    def change(files: Files) -> None:
        before = digest(files[name])
        edited(name, old, new)(files)
        for record in [path for path in files if path.endswith(".made.json")]:
            files[record] = files[record].replace(before.encode(), digest(files[name]).encode())

    return change


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (f"{TABLE}.csv", b"1.0000", b"0.9000", "comes out different"),
        (f"{TABLE}.tex", b"&", b"& ", "comes out different"),
        (SCORES, b",1,1,", b",1,0,", "links do not hold"),
        (f"{EDCT}/baselines/d/m.jsonl", b"It is red.", b"It is gray", "links do not hold"),
    ],
)
def test_a_change_with_records_that_fit_is_refused_by_what_follows_from_it(
    bundle: Path, tmp_path: Path, cfeval: Run, name: str, old: bytes, new: bytes, said: str
) -> None:
    told = refused(forged(bundle, tmp_path / "forged.zip", resealed(name, old, new)), cfeval)
    assert said in told
    assert name in told


def test_a_changed_chain_is_refused(bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    change = edited("chain-edct.jsonl", b'"status": "ok"', b'"status": "oh"')
    assert "chain-edct.jsonl, line 1" in refused(forged(bundle, tmp_path / "forged.zip", change), cfeval)


@pytest.mark.parametrize(
    "name", [f"{EDCT}/extra.csv", f"{EDCT}/tables/edct_table2.csv", "more/extra.csv", "data/x", "x.csv"]
)
def test_a_file_that_no_job_made_is_refused(bundle: Path, tmp_path: Path, cfeval: Run, name: str) -> None:
    said = refused(forged(bundle, tmp_path / "forged.zip", lambda files: files.update({name: b"x"})), cfeval)
    assert f"{name}: no record" in said


def test_a_file_that_is_gone_is_named(bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    change = forged(bundle, tmp_path / "forged.zip", lambda files: files.pop(SCORES) and None)
    assert SCORES in refused(change, cfeval)


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "a/../../out.txt", "a//b", "a\\b"])
def test_nothing_is_unpacked_outside_its_folder(bundle: Path, tmp_path: Path, name: str) -> None:
    path = forged(bundle, tmp_path / "forged.zip", lambda files: files.update({name: b"x"}))
    with pytest.raises(InputError, match="not a manifest as cfeval writes it"):
        unpack(path, tmp_path / "in" / "unpacked")
    assert [one.name for one in tmp_path.iterdir()] == ["forged.zip"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"": ["edct", "items"]}, "no record of a step that makes tables names it"),
        ({"--reference": "/etc/passwd"}, "the record is not one of cfeval's"),
        ({"--results": "../elsewhere"}, "the record is not one of cfeval's"),
        ({"--nothing": "x"}, "cannot be made again"),
    ],
)
def test_a_command_that_makes_no_table_is_not_run(
    bundle: Path, tmp_path: Path, cfeval: Run, options: dict[str, Any], said: str
) -> None:
    record = f"{EDCT}/tables.made.json"

    def change(files: Files) -> None:
        made = json.loads(files[record])
        made["steps"][0]["options"] |= options
        files[record] = json.dumps(made).encode()

    assert said in refused(forged(bundle, tmp_path / "forged.zip", change), cfeval)


@pytest.mark.parametrize("content", [b"{}", b"[1]", b"no JSON", b'{"steps": [{"options": {}}]}'])
def test_what_is_no_record_is_refused(bundle: Path, tmp_path: Path, cfeval: Run, content: bytes) -> None:
    record = f"{EDCT}/scores/d/m.made.json"
    change = forged(bundle, tmp_path / "forged.zip", lambda files: files.update({record: content}))
    assert f"{record}: is no record of a step" in refused(change, cfeval)


def test_an_unfinished_study_gets_no_bundle(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(Path(__file__).parents[3] / "params.yaml", "params.yaml")
    status, _, err = cfeval("audit", "build", "--evaluation", "cvqa", "--out", "bundle.zip")
    assert status == 2
    assert "run the study first" in err
    assert not Path("bundle.zip").exists()
    assert cfeval("audit", "build", "--out", "b.zip", "--date", "soon")[0] == 2


def test_options_of_results_are_refused_for_a_bundle(bundle: Path, cfeval: Run) -> None:
    assert cfeval("verify", bundle, "--results", "results/edct")[0] == 2
    assert cfeval("verify", bundle, "--signature", "x")[0] == 2


def test_the_reader_gives_what_was_written(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive, Reader(bundle).entries() as entries:
        for name, pieces in entries:
            assert b"".join(pieces) == archive.read(name)
