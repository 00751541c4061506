"""An export replays a study elsewhere, byte for byte; a changed one is refused. What the calls of one came to."""

import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.inference.remote.archive import calls_total, export, read
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.request import Request, Response
from tests.conftest import Run
from tests.inference.remote.asking import Outcome, ask
from tests.inference.remote.child import conversations
from tests.inference.remote.conftest import Configure
from tests.loopback.fault import Kind
from tests.loopback.site import Loopback
from tests.slow import first_fast

EDITS = (Kind.IMAGE, Kind.EDIT, Kind.SUBMIT)

pytestmark = pytest.mark.usefixtures("hurry")


def study(server: Loopback) -> tuple[list[dict[str, Any]], list[Outcome]]:
    return conversations(server.openrouter, 0, 8), [ask(server, kind) for kind in EDITS]


@pytest.fixture
def exported(server: Loopback, configure: Configure, tmp_path: Path, cfeval: Run) -> tuple[Path, Any]:
    """An export of a study with failures that stand and failures that do not, and what the study said."""
    path = configure(max_retries=1)
    server.script(["wrong_model", "refusal_field", None, "http_500", "http_500"], at=Kind.CHAT)
    configure(max_retries=1, max_connections=1)
    said = study(server)
    assert {item["status"] for item in said[0]} == {"ok", "wrong_model", "refused", "transport_error"}
    archive = tmp_path / "calls.zip"
    status, out, _ = cfeval("cache", "export", "--out", archive, "--cache", path)
    assert (status, out) == (0, f"17 calls in {archive}\n")
    return archive, said


def test_an_import_on_another_machine_replays_the_study_offline(
    exported: tuple[Path, Any], server: Loopback, configure: Configure, tmp_path: Path, cfeval: Run
) -> None:
    archive, said = exported
    elsewhere = tmp_path / "elsewhere" / "calls.sqlite"
    status, out, _ = cfeval("cache", "import", archive, "--cache", elsewhere)
    assert (status, out) == (0, "17 calls imported, 0 already in the cache\n")
    sent = len(server.log)
    configure(cache=str(elsewhere), offline=True)
    assert study(server) == said
    assert len(server.log) == sent
    again = tmp_path / "again.zip"
    cfeval("cache", "export", "--out", again, "--cache", elsewhere)
    assert again.read_bytes() == archive.read_bytes()
    assert cfeval("cache", "import", archive, "--cache", elsewhere)[1] == "0 calls imported, 17 already in the cache\n"
    assert cfeval("cache", "verify", "--cache", elsewhere)[0] == 0


def test_only_the_calls_that_records_name_are_exported_and_lost_ones_come_from_the_former_archive(
    exported: tuple[Path, Any], configure: Configure, tmp_path: Path, cfeval: Run
) -> None:
    archive, (chats, _) = exported
    records = tmp_path / "records.jsonl"
    records.write_text("".join(json.dumps(item) + "\n" for item in chats[-2:]))
    few = tmp_path / "few.zip"
    assert cfeval("cache", "export", records, "--out", few)[1] == f"4 calls in {few}\n"
    assert {row.key for row, _ in read(few)} == {key for item in chats[-2:] for key in item["calls"]}
    whole = archive.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(tmp_path / "empty.sqlite")}))
        everything = tmp_path / "everything.jsonl"
        everything.write_text(json.dumps({"calls": [row.key for row, _ in read(archive)]}) + "\n")
        assert cfeval("cache", "export", everything, "--out", archive)[0] == 0
        assert archive.read_bytes() == whole
        status, _, err = cfeval("cache", "export", everything, "--out", few)
    assert (status, "13 of 17 calls are not in the cache" in err) == (2, True)
    assert len(err.splitlines()) == 1


def test_odd_characters_survive_an_export(cache: ResponseCache, tmp_path: Path) -> None:
    texts = ["a\u2028b\u2029c\x85d", "\x00\x1c\r\n", "😀é", "\ufeff"]
    for number, text in enumerate(texts):
        cache.keep(Request("chat", "u", "m", {"text": text}, number, text), Response(text=text))
    out = tmp_path / "a.zip"
    export(cache, [row.key for row in cache.calls()], out)
    assert [row for row, _ in read(out)] == list(cache.calls())


def test_an_export_of_nothing_is_read_as_nothing(cache: ResponseCache, tmp_path: Path) -> None:
    out = tmp_path / "a.zip"
    assert export(cache, [], out) == 0
    assert list(read(out)) == []
    assert list(read(tmp_path / "none.zip")) == []


def changed(archive: Path, out: Path, **files: Any) -> Path:
    """A copy in which each file that `files` has a function for is another."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            change = files.get(name.partition("/")[0].partition(".")[0], lambda content: content)
            content = change(old.read(name))
            if content is not None:
                new.writestr(name, content)
    return out


@pytest.mark.parametrize(
    ("files", "words"),
    first_fast(
        [
            ({"calls": lambda c: c.replace(b"umbrella", b"parasols")}, "was changed after it was stored"),
            ({"calls": lambda c: c.replace(b"Item 1", b"Item 9")}, "is not the call that its key names"),
            ({"calls": lambda c: c.replace(b'"draw":', b'"drew":')}, "not a stored call"),
            ({"calls": lambda c: c[:-200]}, "line 17: not a stored call"),
            ({"calls": lambda c: b"\xff" + c}, "not an export"),
            ({"calls": lambda c: None}, "not an export"),
            ({"images": lambda c: c[:-1]}, "its image is not what its hash says"),
            ({"images": lambda c: None}, "not an export"),
        ],
        4,
    ),
)
def test_a_changed_archive_is_refused_whole(
    exported: tuple[Path, Any], tmp_path: Path, cfeval: Run, files: dict[str, Any], words: str
) -> None:
    bad = changed(exported[0], tmp_path / "bad.zip", **files)
    target = tmp_path / "target.sqlite"
    status, out, err = cfeval("cache", "import", bad, "--cache", target)
    assert (status, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert not target.exists()


def test_damaged_bytes_of_an_archive_are_refused(exported: tuple[Path, Any], tmp_path: Path, cfeval: Run) -> None:
    content = exported[0].read_bytes()
    bad = tmp_path / "bad.zip"
    for spoilt in (b"", b"no zip", content[: len(content) // 2], content[:5000] + b"\xab" * 50 + content[5050:]):
        bad.write_bytes(spoilt)
        status, _, err = cfeval("cache", "import", bad, "--cache", tmp_path / "target.sqlite")
        assert status == 2
        assert len(err.splitlines()) == 1
    status, _, err = cfeval("cache", "import", tmp_path / "none.zip", "--cache", tmp_path / "target.sqlite")
    assert (status, "no such file" in err) == (2, True)


@pytest.mark.parametrize("cache", ["file"], indirect=True)
def test_a_cache_that_lost_an_image_exports_nothing(cache: ResponseCache, tmp_path: Path) -> None:
    cache.keep(Request("chat", "u", "m", {}, 1), Response(image=b"a"))
    (row,) = cache.calls()
    cache._db.execute("DELETE FROM images")
    out = tmp_path / "a.zip"
    with pytest.raises(InputError, match="is lost"):
        export(cache, [row.key], out)
    assert not out.exists()


def test_a_failure_is_replaced_by_the_answer_of_an_import_and_never_the_other_way_round(
    cache: ResponseCache, tmp_path: Path
) -> None:
    asked = Request("chat", "u", "m", {}, 1)
    good, failed = ResponseCache(tmp_path / "good"), ResponseCache(tmp_path / "failed")
    good.keep(asked, Response(text="yes"))
    failed.keep(asked, Response(reason="cut", final=False))
    (answer,), (failure,) = good.calls(), failed.calls()
    assert failed.add(answer, None)
    assert not good.add(failure, None)
    for held in (good, failed):
        found = held.find(asked.key)
        assert found is not None
        assert found.text == "yes"
        held.close()


@pytest.mark.slow
def test_an_export_and_its_import_hold_no_calls_however_many_there_are(cache: ResponseCache, tmp_path: Path) -> None:
    def peak(keys: list[str]) -> int:
        out = tmp_path / "a.zip"
        tracemalloc.start()
        try:
            assert export(cache, keys, out) == sum(1 for _ in read(out))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    for number in range(300):
        cache.keep(Request("chat", "u", "m", {"text": "long " * 800}, number), Response(text="long " * 800))
    keys = [row.key for row in cache.calls()]
    peak(keys[:3])
    assert peak(keys) - peak(keys[:100]) < 200 * 1000, "a call is eight times as long"


def test_calls_of_the_cache_and_of_the_former_archive_come_in_one_order(cache: ResponseCache, tmp_path: Path) -> None:
    for number in range(20):
        cache.keep(Request("chat", "u", "m", {}, number), Response(text=str(number), image=b"%d" % (number % 5)))
    rows, whole, mixed = list(cache.calls()), tmp_path / "whole.zip", tmp_path / "mixed.zip"
    export(cache, [row.key for row in rows], whole)
    mixed.write_bytes(whole.read_bytes())
    cache.remove([row.key for row in rows[::2]])
    assert export(cache, [row.key for row in rows], mixed) == 20
    assert mixed.read_bytes() == whole.read_bytes()


def test_an_archive_whose_calls_are_in_another_order_is_refused(
    exported: tuple[Path, Any], tmp_path: Path, cfeval: Run
) -> None:
    turned = changed(exported[0], tmp_path / "bad.zip", calls=lambda c: b"".join(reversed(c.splitlines(keepends=True))))
    status, _, err = cfeval("cache", "import", turned, "--cache", tmp_path / "target.sqlite")
    assert (status, "line 2: not in the order of keys" in err) == (2, True)


def archive(folder: Path, *calls: tuple[float | None, object]) -> Path:
    """An archive of calls, each with its cost in USD and the server's own reply."""
    usage = {"input_tokens": 1000, "output_tokens": 10, "images": 0}
    lines = [json.dumps({"reply": json.dumps({"usage": {**usage, "cost_usd": usd}, "raw": raw})}) for usd, raw in calls]
    path = folder / "calls.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("calls.jsonl", "".join(f"{line}\n" for line in lines))
    return path


def test_calls_tokens_costs_and_days_are_summed(tmp_path: Path) -> None:
    found = calls_total(
        archive(tmp_path, (0.5, {"created": 1772452800}), (None, {"created": 1772625600}), (0.25, None))
    )
    assert found.text == "3 model calls, 3,000 tokens read, 30 written, 0.75 USD for 2 of them"
    assert found.when == "2026-03-02 to 2026-03-04"


def test_a_study_without_calls_cost_nothing_and_names_no_day(tmp_path: Path) -> None:
    found = calls_total(archive(tmp_path))
    assert (found.text, found.when) == ("no call to a hosted model, 0 USD", "")


def test_what_is_no_archive_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("no")
    for name in ("x.zip", "missing.zip"):
        with pytest.raises(InputError, match="not an archive of calls"):
            calls_total(tmp_path / name)
