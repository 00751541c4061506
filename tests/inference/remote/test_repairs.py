"""What is forgotten and what is saved: `cfeval cache forget`, and `cfeval cache recover` on damaged files."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from cfeval.core.records import Status
from cfeval.inference import cli
from cfeval.inference.remote.cache import Budget, ResponseCache, UsageEntry
from cfeval.inference.remote.recovery import recover
from cfeval.inference.remote.request import Request, Response, Usage
from tests.conftest import Run

CALLS = 100
PAGE = 4096


def stored(
    cache: ResponseCache, number: int, reply: Response, usd: float | None = None, model: str = "vlm", **more: Any
) -> str:
    """Keep a reply to a call, sent for so many USD, or from elsewhere; returns its key."""
    call = Request("chat", "http://x/v1", model, {"messages": [f"{number}: " + "é" * 50 * number], **more}, 1, "i")
    entry = None
    if usd is not None:
        entry = UsageEntry(cache.send(call, 9.0, Budget()).number, "ok", Usage(3, 2, cost_usd=usd), None, charged=True)
    cache.keep(call, reply, entry)
    return call.key


def keys(path: Path) -> set[str]:
    cache = ResponseCache(path)
    try:
        return {call.key for call in cache.calls()}
    finally:
        cache.close()


# Forgetting


@pytest.fixture
def mixed(tmp_path: Path) -> dict[str, str]:
    """Calls of two models that ended in several ways; their keys by what they are."""
    cache = ResponseCache(tmp_path / "s")
    moderated = Response(status=Status.MODERATED, reason="HTTP 403: Filter SAFETY")
    made = {
        "good": stored(cache, 1, Response(text="yes"), 0.5),
        "moderated": stored(cache, 2, moderated, 0.25),
        "judge": stored(cache, 3, moderated, 0.125, model="judge"),
        "edit": stored(cache, 4, Response(image=b"png"), 1.0, modalities=["image", "text"]),
        "imported": stored(cache, 5, Response(status=Status.TRUNCATED, reason="cut off"), model="judge"),
    }
    cache.close()
    return made


@pytest.mark.parametrize(
    ("options", "gone", "said"),
    [
        (["--status", "moderated"], {"moderated", "judge"}, "2 calls; to send them again costs about 0.3750 USD"),
        (["--status", "moderated", "--model", "vlm"], {"moderated"}, "vlm: 1 moderated\n1 calls; "),
        (["--reason", "safety"], {"moderated", "judge"}, "judge: 1 moderated\nvlm: 1 moderated\n2 calls; "),
        (["--model", "judge", "--model", "vlm"], {"good", "moderated", "judge", "edit", "imported"}, "of unknown cost"),
        (["--purpose", "edit"], {"edit"}, "1 calls; to send them again costs about 1.0000 USD"),
        (["--status", "refused"], set(), "0 calls"),
        (["RECORDS"], {"good"}, "vlm: 1 ok"),
        (["RECORDS", "--status", "moderated"], set(), "0 calls"),
    ],
)
def test_the_calls_that_are_meant_are_forgotten_and_what_they_cost_stays(
    mixed: dict[str, str], tmp_path: Path, cfeval: Run, options: list[str], gone: set[str], said: str
) -> None:
    (tmp_path / "r.jsonl").write_text(f'{{"calls": ["{mixed["good"]}"]}}\n')
    given = [str(tmp_path / "r.jsonl") if option == "RECORDS" else option for option in options]
    status, out, err = cfeval("cache", "forget", *given, "--yes", "--cache", tmp_path / "s")
    assert status == 0, err
    assert said in out
    assert keys(tmp_path / "s") == {key for name, key in mixed.items() if name not in gone}
    cache = ResponseCache(tmp_path / "s")
    assert cache.paid(mixed.values()) == (4, 1.875, 0.0)
    assert cache.integrity_error() == ""
    cache.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "select calls by"),
        (["--reason", " "], "select calls by"),
        (["--status", "moderate"], "did you mean 'moderated'?"),
        (["--model", "vlmm"], "did you mean 'vlm'?"),
        (["--purpose", "judge"], "allowed: chat, edit"),
        (["--status", "moderated", "none.jsonl"], "none.jsonl"),
        (["--status", "moderated"], "no terminal to ask on; confirm with --yes"),
    ],
)
def test_nonsense_forgets_nothing(
    mixed: dict[str, str], tmp_path: Path, cfeval: Run, options: list[str], words: str
) -> None:
    status, _, err = cfeval("cache", "forget", *options, "--cache", tmp_path / "s")
    assert (status, len(err.splitlines())) == (2, 1)
    assert words in err
    assert keys(tmp_path / "s") == set(mixed.values())


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked(
    mixed: dict[str, str], tmp_path: Path, cfeval: Run, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    monkeypatch.setattr(cli.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda _: answer)
    status, out, _ = cfeval("cache", "forget", "--status", "truncated", "--cache", tmp_path / "s")
    assert status == (0 if answer else 1)
    assert ("1 calls forgotten" in out, "nothing was forgotten" in out) == (answer, not answer)
    assert (mixed["imported"] in keys(tmp_path / "s")) is not answer


def test_a_call_that_is_answered_meanwhile_stays(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "s")
    stored(cache, 1, Response(status=Status.TRANSPORT_ERROR, final=False))
    [failed] = cache.calls()
    stored(cache, 1, Response(text="yes"), 1.0)
    assert cache.forget([(failed.key, failed.checksum)]) == 0
    assert keys(tmp_path / "s") == {failed.key}
    cache.close()


# Recovering


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of calls with long and short requests, some with an image over many pages."""
    path = tmp_path_factory.mktemp("whole") / "s"
    cache, dice = ResponseCache(path), random.Random(1)
    for number in range(CALLS):
        stored(cache, number, Response(text="yes", image=dice.randbytes(20_000) if number % 10 == 0 else None), 0.5)
    cache.close()
    return path


def saved(whole: Path, folder: Path, damage: Callable[[bytearray], object]) -> tuple[Any, Path]:
    """What is recovered of a damaged copy, and where."""
    content = bytearray(whole.read_bytes())
    damage(content)
    source, out = folder / "damaged", folder / "saved"
    source.write_bytes(content)
    result = recover(source, out)
    assert source.read_bytes() == content, "the source stays as it is"
    assert sorted(folder.iterdir()) == [source, out]
    return result, out


def sound(path: Path, original: Path) -> int:
    """How many calls are in a cache, each exactly as in the original, with its image."""
    cache, former = ResponseCache(path), ResponseCache(original)
    try:
        assert cache.integrity_error() == ""
        calls = list(cache.calls())
        assert calls == list(former.calls(call.key for call in calls))
        assert all(cache.image(call.image) == former.image(call.image) for call in calls)
        return len(calls)
    finally:
        cache.close()
        former.close()


def overwritten(page: int, length: int = PAGE, at: int = 0) -> Callable[[bytearray], object]:
    def damage(content: bytearray) -> None:
        begin = (page - 1) * PAGE + at
        content[begin : begin + length] = b"\xab" * length

    return damage


def cut(share: float) -> Callable[[bytearray], object]:
    def damage(content: bytearray) -> None:
        del content[int(len(content) * share) :]

    return damage


def test_a_whole_cache_is_saved_whole(whole: Path, tmp_path: Path) -> None:
    result, out = saved(whole, tmp_path, lambda _: None)
    assert (result.calls, result.named, result.whole, result.sends) == (CALLS, CALLS, True, CALLS)
    assert sound(out, whole) == CALLS
    cache = ResponseCache(out)
    assert [line["paid_usd"] for line in cache.ledger()] == [CALLS / 2]
    cache.close()


@pytest.mark.slow
def test_where_any_one_page_is_overwritten_all_else_is_saved(whole: Path, tmp_path: Path) -> None:
    """Among them the head of the file, the roots of all tables and what lies between these and the rows."""
    pages = whole.stat().st_size // PAGE
    most_lost = 0
    for number in [*range(1, 13), *range(13, pages + 1, 19)]:
        folder = tmp_path / str(number)
        folder.mkdir()
        result, out = saved(whole, folder, overwritten(number))
        assert sound(out, whole) == result.calls
        assert result.named == CALLS
        most_lost = max(most_lost, CALLS - result.calls)
    assert 0 < most_lost < 0.3 * CALLS


@pytest.mark.parametrize("share", [0.9, 0.5, 0.25])
def test_of_a_file_that_is_cut_off_what_is_left_is_saved(whole: Path, tmp_path: Path, share: float) -> None:
    result, out = saved(whole, tmp_path, cut(share))
    assert sound(out, whole) == result.calls
    assert 0.5 * share * CALLS < result.calls < CALLS
    assert result.calls <= result.named <= CALLS
    assert not result.whole


def test_a_row_that_was_changed_is_not_saved(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    at = content.index(b'"text":"yes"')
    result, out = saved(whole, tmp_path, lambda copy: copy.__setitem__(slice(at + 8, at + 11), b"noo"))
    assert (result.calls, result.named) == (CALLS - 1, CALLS)
    assert sound(out, whole) == CALLS - 1


def test_what_a_killed_run_left_in_the_log_is_saved_and_what_was_removed_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s"
    cache = ResponseCache(path)
    first = [stored(cache, number, Response(text="a" * 3000)) for number in range(40)]
    cache.remove(first[:30])
    cache._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    late = [stored(cache, number, Response(text="late")) for number in range(100, 110)]
    copy = tmp_path / "killed"
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    cache.close()
    assert sqlite3.connect(f"file:{copy}?immutable=1", uri=True).execute("SELECT count(*) FROM calls").fetchone() == (
        10,
    )
    result = recover(copy, tmp_path / "out")
    assert (result.calls, result.named, result.whole) == (20, 20, True)
    assert keys(tmp_path / "out") == {*first[30:], *late}


def test_the_verb_prints_how_many_of_how_many(whole: Path, tmp_path: Path, cfeval: Run) -> None:
    content = bytearray(whole.read_bytes())
    cut(0.5)(content)
    (tmp_path / "half").write_bytes(content)
    assert cfeval("cache", "verify", "--cache", tmp_path / "half")[0] == 2
    status, out, err = cfeval("cache", "recover", tmp_path / "half", tmp_path / "new")
    assert status == 0, err
    assert " calls that it still names and " in out
    assert cfeval("cache", "verify", "--cache", tmp_path / "new")[0] == 0


@pytest.mark.parametrize(
    ("content", "there", "words"),
    [
        (None, False, "no such file"),
        (b"", False, "nothing of a"),
        (b"x" * 9000, False, "nothing of a"),
        (b"", True, "there"),
    ],
)
def test_where_nothing_can_be_saved_nothing_is_made(
    tmp_path: Path, cfeval: Run, content: bytes | None, there: bool, words: str
) -> None:
    source, out = tmp_path / "s", tmp_path / "new" / "out"
    if content is not None:
        source.write_bytes(content)
    if there:
        out.parent.mkdir()
        out.write_bytes(b"mine")
    status, _, err = cfeval("cache", "recover", source, out)
    assert (status, len(err.splitlines())) == (2, 1)
    assert words in err
    assert (list(out.parent.iterdir()) if out.parent.is_dir() else []) == ([out] if there else [])
