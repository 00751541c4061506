"""Finish reasons: one table of words, good ones by name only; a word that nobody knows gives no answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.inference.remote.faults import Fault, RetryPolicy
from cfeval.inference.remote.finish_reasons import ENDINGS, NO_REASON, VOCABULARIES, Ending, ending_of, finish
from cfeval.inference.remote.openai_api import EMPTY_TRIES, chat_reply
from tests.inference.remote.asking import chat
from tests.inference.remote.conftest import Configure
from tests.loopback.site import Loopback

pytestmark = pytest.mark.usefixtures("hurry")


def test_no_two_providers_mean_different_things_by_a_word_and_each_has_a_source() -> None:
    words = [(word, ending) for of in VOCABULARIES.values() for ending, words in of.words.items() for word in words]
    assert all(ending_of(word) is ending for word, ending in words)
    assert all("." in of.source for of in VOCABULARIES.values())


@pytest.mark.parametrize(
    ("word", "ending"),
    [
        ("content_filter: RECITATION", Ending.MODERATED),
        ("content-filter", Ending.MODERATED),
        ("finishReason.SAFETY", Ending.MODERATED),
        ("IMAGE_RECITATION_2", Ending.MODERATED),
        ("max_completion_tokens", Ending.TRUNCATED),
        ("REASON_MAX_CONTEXT", Ending.TRUNCATED),
        ("Max Tokens", Ending.TRUNCATED),
        ("request_aborted", Ending.BROKEN_OFF),
        ("engine_overloaded", Ending.BROKEN_OFF),
        ("no_more_words", Ending.OTHER),
        ("stopped", Ending.OTHER),
        ("End-Turn", Ending.COMPLETE),
    ],
)
def test_other_spellings_and_new_forms_are_told_by_their_parts(word: str, ending: Ending) -> None:
    assert ending_of(word) is ending


@given(st.text() | st.integers() | st.lists(st.text(), max_size=2))
def test_a_word_that_no_provider_lists_is_never_a_good_one(word: Any) -> None:
    good = {name for name, ending in ENDINGS.items() if ending is Ending.COMPLETE}
    plain = "".join(c for c in str(word).lower() if c.isalnum())
    assert ending_of(word) is not Ending.COMPLETE or plain in {name.replace("_", "") for name in good}


@pytest.mark.parametrize(
    ("finish_reason", "native", "ending", "word"),
    [
        ("stop", None, Ending.COMPLETE, "stop"),
        ("stop", "STOP", Ending.COMPLETE, "stop"),
        ("stop", "SAFETY", Ending.MODERATED, "SAFETY"),
        ("length", "IMAGE_SAFETY", Ending.MODERATED, "IMAGE_SAFETY"),
        ("content_filter", "refusal", Ending.MODERATED, "content_filter"),
        (None, "RECITATION", Ending.MODERATED, "RECITATION"),
        (None, "STOP", None, ""),
        (None, None, None, ""),
        ("", None, None, ""),
    ],
)
def test_the_worse_of_two_reasons_counts(
    finish_reason: str | None, native: str | None, ending: Ending | None, word: str
) -> None:
    assert finish({"finish_reason": finish_reason, "native_finish_reason": native}) == (ending, word)


def test_an_unknown_reason_is_named_its_text_kept_and_taken_unpaid_once_it_is_accepted(
    server: Loopback, configure: Configure
) -> None:
    server.script(["ended_never_heard_of"])
    (reply,) = chat(server)
    assert reply.status == Status.UNPARSABLE
    assert "never_heard_of" in reply.reason
    assert reply.text
    (again,) = chat(server)
    assert again == reply
    (taken,) = chat(server, accept_finish_reasons=["never_heard_of"])
    assert (taken.status, taken.text) == (Status.OK, reply.text)
    assert len(server.log) == 1


def test_an_answer_without_a_reason_is_asked_for_again_thrice_and_taken_unpaid_once_that_is_accepted(
    server: Loopback, configure: Configure
) -> None:
    configure(max_retries=9)
    server.script(["finish_null"] * 9)
    (reply,) = chat(server)
    assert (reply.status, reply.text, len(server.log)) == (Status.UNPARSABLE, "The", EMPTY_TRIES)
    assert 'name "null" in accept_finish_reasons' in reply.reason
    (taken,) = chat(server, accept_finish_reasons=["null"])
    assert (taken.status, taken.text, len(server.log)) == (Status.OK, "The", EMPTY_TRIES)


def test_no_provider_says_that_an_answer_without_a_reason_is_whole() -> None:
    assert all(name in VOCABULARIES and "." in source for name, source in NO_REASON.items())
    assert finish({"native_finish_reason": "STOP"}) == (None, "")
    assert finish({"finish_reason": None}, ("null",)) == (Ending.COMPLETE, "null")
    assert finish({"native_finish_reason": "SAFETY"}, ("null",)) == (Ending.MODERATED, "SAFETY")


def test_a_reason_beside_stop_is_accepted_by_name_too(server: Loopback, configure: Configure) -> None:
    server.script(["ended_stop_never_heard_of"])
    (reply,) = chat(server, accept_finish_reasons=["never_heard_of"])
    assert reply.status == Status.OK


def test_an_empty_answer_of_unknown_end_is_asked_for_again() -> None:

    body = {"choices": [{"finish_reason": "OTHER", "message": {"content": None}}]}
    for image in (False, True):
        fault = chat_reply(body, "vlm", (), "KEY", image)
        assert isinstance(fault, Fault)
        assert fault.reaction is RetryPolicy.RETRY
        assert "'OTHER'" in fault.reason
