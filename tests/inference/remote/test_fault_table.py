"""Every row of the fault table, through every plugin whose calls it can meet: the one right reaction to it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfeval.core.records import Status
from cfeval.inference.remote.cache import ResponseCache
from tests.inference.remote.asking import Outcome, ask
from tests.inference.remote.conftest import HURRY, Configure
from tests.inference.remote.keys import KEY, KEY_ENV
from tests.loopback.effects import Task
from tests.loopback.fault import Fault, Kind, Reaction
from tests.loopback.faults import FAULTS
from tests.loopback.site import Loopback

KINDS = (Kind.CHAT, Kind.IMAGE, Kind.EDIT, Kind.SUBMIT, Kind.POLL, Kind.DOWNLOAD)
ATTEMPTS = 4
GIVEN_UP_SOON = {"finish_null", "content_null", "content_empty", "content_blank", "content_number", "image_missing"}
GIVEN_UP_SOON |= {"image_refusal_text", "html_200"}
BROKEN = {"image_bad_base64", "image_truncated", "image_html", "image_empty"}
"""The same where the image comes with the answer; to fetch it once more costs nothing."""
"""Each try was paid for, or a page that is no JSON points at a wrong address: so there are three."""
ROOMY = {"max_retries": ATTEMPTS - 1, "timeout": 10, "deadline": 5}
TIGHT = {"max_retries": ATTEMPTS - 1, "timeout": 0.3, "deadline": 5}
"""Where the server stalls once."""
TIGHTER = {"max_retries": ATTEMPTS - 1, "timeout": 0.15, "deadline": 0.4}
"""Where it always does."""

pytestmark = pytest.mark.usefixtures("hurry")


def rows(reaction: Reaction, endless: bool = False) -> Iterator[object]:
    """The rows of a reaction, with each kind they fit; `endless` leaves out those that pass by themselves.

    Fast is each row with one kind, one row with the first that it fits, the next with the second, and so on.
    """
    wanted = (row for row in FAULTS.values() if row.reaction == reaction)
    for number, row in enumerate(row for row in wanted if not (endless and row.status == Status.OK)):
        kinds = [kind for kind in KINDS if kind in row.where]
        for place, kind in enumerate(kinds):
            marks = () if place == number % len(kinds) else pytest.mark.slow
            yield pytest.param(row, kind, id=f"{row.name}-{kind}", marks=marks)


@pytest.fixture(scope="module")
def healthy(running: Loopback, tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, Outcome]:
    """What each kind of item comes to where nothing goes wrong."""
    folder = tmp_path_factory.mktemp("healthy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_ENV, KEY)
        patch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(folder / "calls.sqlite")}))
        return {kind: ask(running, kind) for kind in KINDS}


def sent(server: Loopback, kind: Kind) -> int:
    return sum(request.kind == kind for request in server.log)


def stored(path: Path) -> list[dict[str, object]]:
    cache = ResponseCache(path)
    try:
        return [json.loads(call.reply) for call in cache.calls()]
    finally:
        cache.close()


def play(server: Loopback, row: Fault, kind: Kind, configure: Configure, times: int | None) -> tuple[Outcome, Path]:
    """Ask while the first so many requests of a kind meet a fault, or all."""
    if times is None:
        server.random(1.0, [row.name], at=[kind])
    else:
        server.script([row.name] * times, at=kind)
    path = configure(**(ROOMY if not row.stalls else TIGHT if row.reaction == Reaction.RETRIED and times else TIGHTER))
    return ask(server, kind), path


def one_line(text: str) -> bool:
    return bool(text) and "\n" not in text and "Traceback" not in text and KEY not in text


def test_a_healthy_item_of_every_kind_is_answered(healthy: dict[Kind, Outcome]) -> None:
    assert all(outcome.status == Status.OK and outcome.value for outcome in healthy.values())


@pytest.mark.parametrize(("row", "kind"), rows(Reaction.RETRIED))
def test_what_passes_is_asked_again_and_recovered(
    server: Loopback, configure: Configure, healthy: dict[Kind, Outcome], row: Fault, kind: Kind
) -> None:
    outcome, path = play(server, row, kind, configure, times=1)
    if row.wait is not None and row.wait > ROOMY["deadline"]:
        assert outcome.status == Status.TRANSPORT_ERROR
        assert sent(server, kind) == 1
        assert "calls.deadline" in outcome.reason
        return
    assert outcome == healthy[kind]
    assert [reply["status"] for reply in stored(path)] == ["ok"]
    if isinstance(row.effect, Task):
        assert sent(server, Kind.SUBMIT) == 1, "a task that was paid for is not submitted anew"
    elif kind in (Kind.CHAT, Kind.IMAGE, Kind.EDIT, Kind.SUBMIT):
        first, second, *more = (request for request in server.log if request.kind == kind)
        assert second.began - first.began >= (row.wait or 0) / 2 * HURRY
        assert row.stalls or not more
    else:
        assert sent(server, Kind.SUBMIT) == 1


@pytest.mark.parametrize(("row", "kind"), rows(Reaction.RETRIED, endless=True))
def test_what_does_not_pass_is_given_up_and_recorded(
    server: Loopback, configure: Configure, row: Fault, kind: Kind
) -> None:
    outcome, path = play(server, row, kind, configure, times=None)
    assert outcome.status == row.status
    assert one_line(outcome.reason)
    assert [reply["status"] for reply in stored(path)] == [row.status]
    if row.stalls:
        assert 1 <= sent(server, kind) <= ATTEMPTS  # on a busy machine one attempt may take all of the deadline
    elif row.wait is None or row.wait <= ROOMY["deadline"]:
        assert sent(server, kind) == (
            3 if row.name in GIVEN_UP_SOON or (row.name in BROKEN and kind != Kind.DOWNLOAD) else ATTEMPTS
        )


@pytest.mark.parametrize(("row", "kind"), rows(Reaction.RECORDED))
def test_what_stands_is_recorded_and_never_asked_again(
    server: Loopback, configure: Configure, row: Fault, kind: Kind
) -> None:
    outcome, path = play(server, row, kind, configure, times=1)
    assert outcome.status == row.status
    assert one_line(outcome.reason)
    kept = row.status == Status.UNPARSABLE and kind == Kind.CHAT
    assert (outcome.value != "") == kept, "only of an answer whose end nobody knows is the text kept"
    paid = Kind.SUBMIT if kind in (Kind.POLL, Kind.DOWNLOAD) else kind
    assert sent(server, paid) == 1
    if row.status != Status.EDIT_INVALID:  # that is found by comparing, after a good answer
        assert [reply["status"] for reply in stored(path)] == [row.status]


@pytest.mark.parametrize(("row", "kind"), rows(Reaction.STOPS))
def test_what_every_call_would_meet_ends_the_run_with_one_line(
    server: Loopback, configure: Configure, row: Fault, kind: Kind
) -> None:
    outcome, path = play(server, row, kind, configure, times=None)
    assert one_line(outcome.stopped)
    assert KEY_ENV in outcome.stopped
    assert sent(server, kind) == 1
    assert stored(path) == []


@pytest.mark.parametrize(("row", "kind"), rows(Reaction.ACCEPTED))
def test_what_is_odd_but_usable_is_taken(server: Loopback, configure: Configure, row: Fault, kind: Kind) -> None:
    outcome, _ = play(server, row, kind, configure, times=1)
    assert outcome.status == Status.OK
    assert outcome.value
    assert sent(server, Kind.SUBMIT if kind in (Kind.POLL, Kind.DOWNLOAD) else kind) == 1
