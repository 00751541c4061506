import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from snakemake.persistence import RECORD_FORMAT_VERSION
from snakemake.persistence.file import FilePersistence

import provenance
from provenance import Journal, Outcome, Sealed, sweep

KEPT, RESTORED, STALE = Outcome(kept=1), Outcome(restored=1), Outcome(stale=1)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str = "content") -> None:
    """Write a file anew, as a checkout would: another inode, another time."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_text(text)
    write.clock += 10.0  # type: ignore[attr-defined]
    os.utime(file, (write.clock, write.clock))  # type: ignore[attr-defined]


write.clock = 1e9  # type: ignore[attr-defined]


def record(journal: Journal, file: str, inputs: tuple[str, ...] = (), **changed: Any) -> None:
    """What Snakemake writes when a job has made `file`."""
    time = Path(file).stat().st_mtime
    content = {
        "rule": "make",
        "code": "make {output}",
        "params": ["'p'"],
        "input": sorted(inputs),
        "input_checksums": {path: f"sha256:{journal.hashes.file(path)}" for path in inputs},
        "software_stack_hash": "s",
        "record_format_version": 6,
        "starttime": time - 1,
        "endtime": time,
        "incomplete": False,
        "shellcmd": f"make {file}",
    }
    path = journal.record_path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | changed))


def params_of(file: str) -> list[str]:
    found: list[str] = json.loads(Journal(()).record_path(file).read_text())["params"]
    return found


def journal(pictures: bool = False) -> Journal:
    return Journal((Sealed("out", ("out/x.jsonl",), pictures=pictures),))


@pytest.fixture
def finished() -> Journal:
    """`out/x.jsonl`, made from `in`, its record saved beside it."""
    write("in")
    write("out/x.jsonl")
    made = journal()
    record(made, "out/x.jsonl", ("in",))
    made.save()
    return made


def test_records_are_those_of_the_installed_snakemake(tmp_path: Path) -> None:
    keeper = FilePersistence(path=tmp_path / ".snakemake")
    assert RECORD_FORMAT_VERSION == provenance.FORMAT
    for file in ("out/x.jsonl", "out/" + "long/" * 80 + "x"):
        assert str(tmp_path / journal().record_path(file)) == keeper._record_path(keeper._metadata_path, file)


def test_a_record_of_the_very_file_is_kept(finished: Journal) -> None:
    assert journal().reconcile() == KEPT


def test_entries_hold_no_time_and_no_absolute_path(finished: Journal, tmp_path: Path) -> None:
    text = Path("out/.provenance.json").read_text()
    assert str(tmp_path) not in text
    assert "time" not in text
    assert set(json.loads(text)["out/x.jsonl"]) == {"rule", "command", "parameters", "inputs", "software", "sha256"}


def test_the_same_results_give_the_same_entries(finished: Journal) -> None:
    before = Path("out/.provenance.json").read_bytes()
    write("out/x.jsonl")
    record(finished, "out/x.jsonl", ("in",))
    journal().save()
    assert Path("out/.provenance.json").read_bytes() == before


def test_a_checked_out_file_gets_its_record_back(finished: Journal) -> None:
    record(finished, "out/x.jsonl", ("in",), params=["'another'"], endtime=5.0)
    write("out/x.jsonl")
    assert journal().reconcile() == RESTORED
    assert params_of("out/x.jsonl") == ["'p'"]
    assert journal().reconcile() == KEPT


def test_an_equal_file_made_from_other_parameters_follows_the_entry(finished: Journal) -> None:
    record(finished, "out/x.jsonl", ("in",), params=["'another'"])
    assert journal().reconcile() == RESTORED
    assert params_of("out/x.jsonl") == ["'p'"]


def test_a_clone_gets_its_records_back(finished: Journal) -> None:
    shutil.rmtree(".snakemake")
    assert journal().reconcile() == RESTORED


def test_a_new_result_counts_before_its_entry_is_written(finished: Journal) -> None:
    write("out/x.jsonl", "new")
    record(finished, "out/x.jsonl", ("in",), params=["'new'"])
    assert journal().reconcile() == KEPT
    assert params_of("out/x.jsonl") == ["'new'"]


def test_an_edited_file_is_stale(finished: Journal) -> None:
    write("out/x.jsonl", "edited")
    assert journal().reconcile() == STALE
    assert params_of("out/x.jsonl") != ["'p'"]
    assert Path("out/x.jsonl").read_text() == "edited"


def test_a_stale_file_put_back_is_fresh_again(finished: Journal) -> None:
    write("out/x.jsonl", "edited")
    journal().reconcile()
    write("out/x.jsonl")
    assert journal().reconcile() == RESTORED


def test_a_file_nobody_recorded_is_stale() -> None:
    write("out/x.jsonl")
    assert journal().reconcile() == STALE


def test_a_changed_input_makes_stale_whatever_its_time(finished: Journal) -> None:
    write("in", "changed")
    os.utime("in", (1, 1))
    assert journal().reconcile() == STALE


def test_a_missing_input_changes_nothing(finished: Journal) -> None:
    Path("in").unlink()
    assert journal().reconcile() == KEPT


def test_a_stale_file_is_not_saved(finished: Journal) -> None:
    write("out/x.jsonl", "edited")
    again = journal()
    again.reconcile()
    before = Path("out/.provenance.json").read_text()
    again.save()
    assert Path("out/.provenance.json").read_text() == before


def test_an_entry_stays_while_an_input_is_wrong(finished: Journal) -> None:
    write("in", "edited")
    again = journal()
    assert again.reconcile() == STALE
    again.save()
    write("in")
    assert journal().reconcile() == RESTORED


class TestPictures:
    @pytest.fixture
    def gallery(self) -> Journal:
        write("out/x/a.png", "A")
        write("out/x/b.png", "B")
        write("out/x.jsonl")
        made = journal(pictures=True)
        record(made, "out/x.jsonl")
        made.save()
        return made

    def test_untouched_pictures_keep_the_record(self, gallery: Journal) -> None:
        assert journal(pictures=True).reconcile() == KEPT

    def test_an_equal_picture_of_another_time_keeps_the_record(self, gallery: Journal) -> None:
        write("out/x/a.png", "A")
        assert journal(pictures=True).reconcile() == KEPT

    @pytest.mark.parametrize("saved", [True, False])
    def test_a_repainted_picture_makes_stale(self, gallery: Journal, saved: bool) -> None:
        if not saved:
            Path("out/.provenance.json").unlink()
        write("out/x/a.png", "Z")
        assert journal(pictures=True).reconcile() == STALE

    def test_a_removed_picture_makes_stale(self, gallery: Journal) -> None:
        Path("out/x/a.png").unlink()
        assert journal(pictures=True).reconcile() == STALE

    def test_a_missing_folder_makes_stale(self, gallery: Journal) -> None:
        shutil.rmtree("out/x")
        Path("out/.provenance.json").unlink()
        assert journal(pictures=True).reconcile() == STALE

    def test_a_sweep_spares_pictures(self, gallery: Journal) -> None:
        write("out/x/deep/stray.png")
        write("out/y.jsonl")
        write("out/y/c.png")
        gone = sweep(gallery.sealed[0])
        assert sorted(gone) == ["out/x/deep/stray.png", "out/y.jsonl", "out/y/c.png"]
        assert sorted(str(path) for path in Path("out").rglob("*")) == [
            "out/.provenance.json",
            "out/x",
            "out/x.jsonl",
            "out/x/a.png",
            "out/x/b.png",
        ]


def test_a_sweep_of_a_shared_folder_spares_what_others_own() -> None:
    for name in ("edct_a.csv", "edct_old.csv", "vce_a.csv", ".edct_provenance.json"):
        write(f"tables/{name}")
    assert sweep(Sealed("tables", ("tables/edct_a.csv",), prefix="edct_")) == ["tables/edct_old.csv"]


def test_writing_does_not_go_through_a_link(finished: Journal) -> None:
    os.link("out/.provenance.json", "cached")
    before = Path("cached").read_text()
    write("out/x.jsonl", "new")
    record(finished, "out/x.jsonl", ("in",))
    journal().save()
    assert Path("cached").read_text() == before
    assert Path("out/.provenance.json").read_text() != before


def test_hashes_are_computed_once(finished: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal().reconcile()

    def refuse(*_: object) -> None:
        raise AssertionError("hashed again")

    monkeypatch.setattr(provenance.hashlib, "file_digest", refuse)
    assert journal().reconcile() == KEPT


def test_the_memory_of_hashes_does_not_grow_with_the_pictures() -> None:
    for number in range(100):
        write(f"out/x/{number}.png")
    hashes = provenance.Hashes(Path("hashes.json"))
    hashes.folder("out/x")
    hashes.remember()
    assert len(json.loads(Path("hashes.json").read_text())) == 1


def test_a_broken_memory_of_hashes_does_no_harm(finished: Journal) -> None:
    Path(".snakemake/hashes.json").write_text("{")
    assert journal().reconcile() == KEPT
