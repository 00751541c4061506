"""The table of every fault, by name.

The reactions follow the providers' spec, "What goes wrong and what openai shows". A row
says: name, what it does, the effect, the requests it fits, and for a failure the status an item ends with if the fault
never ends. A harmless oddity that a client must accept is in the table too.
"""

import re

from cfeval.core.records import Status
from tests.loopback import faulty
from tests.loopback.bodies import error, google_error, openai_error
from tests.loopback.effects import Choice, Http, Images, Pixels, Raw, Reply, Stream, Task
from tests.loopback.fault import Fault, Kind, accepted, recorded, retried, stops
from tests.loopback.image_files import bomb, data_url, drawn, encoded_again, from_base64, half_transparent

EVERY = tuple(Kind)
TALK = (Kind.CHAT, Kind.STREAM, Kind.IMAGE, Kind.EDIT)
CALLS = (*TALK, Kind.SUBMIT)
KEYED = (*CALLS, Kind.POLL, Kind.INFO)
"""Requests that carry the key."""
UNSTREAMED = tuple(kind for kind in Kind if kind != Kind.STREAM)
JSON = tuple(kind for kind in UNSTREAMED if kind != Kind.DOWNLOAD)
"""Requests answered by a JSON document."""
CHAT = (Kind.CHAT,)
REPLIES = (Kind.CHAT, Kind.IMAGE)
"""Requests answered by a chat completion."""
LISTED = (Kind.IMAGE, Kind.EDIT)
"""Requests answered by images in a list."""
IMAGES = (*LISTED, Kind.DOWNLOAD)
"""Requests answered by an image."""
SUBMIT = (Kind.SUBMIT,)

_BUSY = error(429, "Rate limit exceeded", error_type="rate_limit_exceeded")
_NO_CREDIT = error(402, "Insufficient credits", error_type="payment_required")
_BUDGET = error(402, "Too many requests in flight for the credit left", limit_source="openrouter_in_flight_budget")
_FLAGGED = error(403, "Input flagged", reasons=["violence"], flagged_input="…", provider_name="Loopback")
_BAD_KEY = google_error("API key not valid.", {"reason": "API_KEY_INVALID", "domain": "googleapis.com"})
_UNKNOWN_FIELD = google_error('Invalid JSON payload received. Unknown name "seed": Cannot find field.')
_POLICY = openai_error("Rejected by the safety system", "image_generation_user_error", "content_policy_violation")
_QUOTA = openai_error("You exceeded your current quota", "insufficient_quota", "insufficient_quota")
_WRONG_KEY = openai_error("Incorrect API key provided", "invalid_request_error", "invalid_api_key")
_KEY_ECHOED = openai_error("Incorrect API key provided: {key}", "invalid_request_error", "invalid_api_key")
_HEADERS_ECHOED = error(400, "Bad request; headers were Authorization: Bearer {key}, x-key: {key}")
_ECHO = {"choices": [{"message": {"content": "Your headers: Bearer {key}"}, "finish_reason": "stop"}]}
_MISSING = {"detail": [{"loc": ["body", "prompt"], "msg": "Field required", "type": "missing"}]}
_UPSTREAM = {"code": 502, "message": "Provider disconnected", "metadata": {"error_type": "provider_unavailable"}}
_PAGE = b"<!doctype html><html><body>Bad gateway</body></html>"


def _busy(after: str, name: str = "Retry-After") -> Http:
    return Http(429, _BUSY, {name: after})


PERMANENT_HTTP = (
    recorded(
        "http_400", "400, a parameter is wrong", Http(400, error(400, "Invalid parameter")), CALLS, Status.REJECTED
    ),
    recorded("http_400_list", "400, the reason in a JSON list", Http(400, _UNKNOWN_FIELD), TALK, Status.REJECTED),
    recorded("http_400_policy", "400, refused by the content policy", Http(400, _POLICY), TALK, Status.MODERATED),
    recorded(
        "http_400_echo", "400 that repeats the key it was sent", Http(400, _HEADERS_ECHOED), CALLS, Status.REJECTED
    ),
    stops("http_400_bad_key", "400 in a JSON list that means a wrong key", Http(400, _BAD_KEY), TALK),
    stops("http_401", "401, wrong key", Http(401, _WRONG_KEY), KEYED),
    stops("http_401_echo", "401 that repeats the key it was sent", Http(401, _KEY_ECHOED), KEYED),
    stops("http_402", "402 without Retry-After, no credit left", Http(402, _NO_CREDIT), CALLS),
    stops("http_403", "403 without reasons, the key may not do this", Http(403, error(403, "Forbidden")), TALK),
    recorded("http_403_moderated", "403 with reasons", Http(403, _FLAGGED), TALK, Status.MODERATED),
    recorded("http_404", "404, no such model", Http(404, error(404, "No endpoints found")), CALLS, Status.REJECTED),
    recorded(
        "http_413", "413, request too large", Http(413, error(413, "Request payload too large")), CALLS, Status.REJECTED
    ),
    recorded("http_422", "422, a field is missing", Http(422, _MISSING), CALLS, Status.REJECTED),
    stops("http_429_no_quota", "429 that means no credit left, not too fast", Http(429, _QUOTA), TALK),
)

PASSING_HTTP = (
    retried("http_402_after", "402 with Retry-After: 1", Http(402, _BUDGET, {"Retry-After": "1"}), CALLS, wait=1.0),
    retried("http_408", "408, request timed out", Http(408, error(408, "Timed out")), EVERY),
    retried("http_409", "409, conflict", Http(409, error(409, "Conflict")), EVERY),
    retried("http_425", "425, too early", Http(425, error(425, "Too early")), EVERY),
    retried("http_429", "429 without Retry-After", Http(429, _BUSY), EVERY),
    retried("http_429_after", "429 with Retry-After: 1", _busy("1"), EVERY, wait=1.0),
    retried("http_429_after_ms", "429 with Retry-After-Ms: 200", _busy("200", "Retry-After-Ms"), EVERY, wait=0.2),
    retried("http_429_after_date", "429 with a date in Retry-After", _busy("{date+2}"), EVERY, wait=2.0),
    retried("http_429_after_long", "429 with Retry-After: 300", _busy("300"), EVERY, wait=300.0),
    retried("http_429_after_past", "429 with Retry-After: -5", _busy("-5"), EVERY),
    retried("http_429_after_nan", "429 with Retry-After: nan", _busy("nan"), EVERY),
    retried("http_429_after_words", "429 with Retry-After: soon", _busy("soon"), EVERY),
    retried("http_500", "500, internal error", Http(500, error(500, "Internal Server Error")), EVERY),
    retried("http_500_echo", "500 that repeats the key it was sent", Http(500, _HEADERS_ECHOED), KEYED),
    retried("http_500_html", "500 with an HTML page", Http(500, _PAGE, {"Content-Type": "text/html"}), EVERY),
    retried("http_502", "502, bad gateway", Http(502, error(502, "Provider returned error")), EVERY),
    retried("http_503", "503 without Retry-After", Http(503, error(503, "Overloaded")), EVERY),
    retried(
        "http_503_after",
        "503 with Retry-After: 1",
        Http(503, error(503, "Overloaded"), {"Retry-After": "1"}),
        EVERY,
        wait=1.0,
    ),
    retried("http_504", "504, gateway timeout", Http(504, error(504, "Timeout")), EVERY),
    retried("http_520", "520, unknown error at the edge", Http(520, _PAGE, {"Content-Type": "text/html"}), EVERY),
    retried("http_524", "524, the edge timed out", Http(524, error(524, "Request timed out")), EVERY),
    retried("http_529", "529, provider overloaded", Http(529, error(529, "Provider returned error")), EVERY),
)

CONNECTION = (
    retried("reset_before_headers", "TCP reset instead of an answer", "reset_before_headers", EVERY),
    retried("close_before_headers", "the connection closes without an answer", "close_before_headers", EVERY),
    retried("not_http", "bytes that are not HTTP", "not_http", EVERY),
    retried("reset_mid_body", "TCP reset half-way through the body", "reset_mid_body", UNSTREAMED),
    retried("close_mid_body", "the body ends before its length", "close_mid_body", UNSTREAMED),
    retried("chunked_cut", "a chunked body without its last chunk", "chunked_cut", UNSTREAMED),
    retried("hang", "no answer at all", "hang", EVERY, stalls=True),
    retried("stall_mid_body", "half the body, then nothing", "stall_mid_body", UNSTREAMED, stalls=True),
    retried("slow_drip", "a byte now and then, under any read timeout", "slow_drip", UNSTREAMED, stalls=True),
    retried("gzip_corrupt", "a gzip body that does not unpack", "gzip_corrupt", UNSTREAMED),
)

DOCUMENT = (
    retried("json_truncated", "200, the JSON ends early", Raw(faulty.torn), JSON),
    retried("json_not_utf8", "200, JSON with bytes that are not UTF-8", Raw(faulty.not_utf8), JSON),
    retried("json_nested", "200, JSON nested deeper than a parser goes", Raw(faulty.nested), JSON),
    retried("json_null", "200, the JSON document `null`", Raw(lambda _: b"null"), JSON),
    retried("json_list", "200, the JSON document `[]`", Raw(lambda _: b"[]"), JSON),
    retried("html_200", "200 with an HTML page", Raw(lambda _: _PAGE, "text/html"), JSON),
    retried("empty_200", "200 without a body", Raw(lambda _: b""), JSON),
    accepted("json_as_text", "a healthy answer labelled text/plain", Raw(lambda raw: raw, "text/plain"), JSON),
)

ENVELOPE = (
    retried("error_200", "200 with error 502 in the body", faulty.instead({"error": _UPSTREAM}), (*REPLIES, Kind.EDIT)),
    retried("error_200_429", "200 with error 429 in the body", faulty.instead(_BUSY), (*REPLIES, Kind.EDIT)),
    recorded(
        "error_200_400", "200 with error 400 in the body", faulty.instead(error(400, "Bad")), REPLIES, Status.REJECTED
    ),
    recorded("error_200_403", "200 with a moderation error", faulty.instead(_FLAGGED), REPLIES, Status.MODERATED),
    stops("error_200_402", "200 with error 402 in the body", faulty.instead(_NO_CREDIT), REPLIES),
    retried("choices_missing", "200 without choices", faulty.without("choices"), REPLIES),
    retried("choices_null", "200, choices null", faulty.put(choices=None), REPLIES),
    retried("choices_empty", "200, choices empty", faulty.put(choices=[]), REPLIES),
    retried("message_null", "200, a choice without a message", Reply(faulty.message_null), REPLIES),
    retried(
        "finish_error",
        "200, finish_reason error after some text",
        Choice({"content": "The ima", "images": []}, {"finish_reason": "error", "error": _UPSTREAM}),
        REPLIES,
    ),
    retried(
        "finish_null",
        "200, some text and no finish_reason",
        Choice({"content": "The"}, {"finish_reason": None}),
        CHAT,
        Status.UNPARSABLE,
    ),
    retried("content_null", "200, content null", Choice({"content": None}), CHAT, Status.UNPARSABLE),
    retried("content_empty", "200, content empty", Choice({"content": ""}), CHAT, Status.UNPARSABLE),
    retried("content_blank", "200, content of spaces", Choice({"content": " \n"}), CHAT, Status.UNPARSABLE),
    retried("content_number", "200, content a number", Choice({"content": 7}), CHAT, Status.UNPARSABLE),
    recorded(
        "finish_length",
        "200, cut at the token limit",
        Choice({"content": "The image sho"}, {"finish_reason": "length"}),
        CHAT,
        Status.TRUNCATED,
    ),
    recorded(
        "reasoning_only",
        "200, all tokens went into reasoning",
        Choice({"content": "", "reasoning": "Let me look."}, {"finish_reason": "length"}),
        CHAT,
        Status.TRUNCATED,
    ),
    recorded(
        "finish_content_filter",
        "200, finish_reason content_filter",
        Choice({"content": None, "images": []}, {"finish_reason": "content_filter"}),
        REPLIES,
        Status.MODERATED,
    ),
    recorded(
        "refusal_field",
        "200, the message's refusal is filled",
        Choice({"content": None, "refusal": "I can't help with that.", "images": []}),
        REPLIES,
        Status.REFUSED,
    ),
    recorded("wrong_model", "200 by another model", Reply(faulty.renamed), REPLIES, Status.WRONG_MODEL),
    accepted("model_dated", "200, the model's name with a release date", Reply(faulty.dated), REPLIES),
    accepted("refusal_text", "200, a refusal in words, an answer like any", Choice({"content": "I can't help."}), CHAT),
    accepted("http_200_echo", "200, the answer repeats the key it was sent", Http(200, _ECHO), CHAT),
    accepted("content_parts", "200, content as a list of parts", Reply(faulty.parts), CHAT),
    accepted("usage_missing", "200 without usage", faulty.without("usage"), REPLIES),
    accepted("usage_odd", "200, usage of wrong types", faulty.put(usage={"cost": "free"}), REPLIES),
)

COMPLETE = ("eos", "end_turn", "STOP", "stop_sequence", "eos_token", "COMPLETE", "completed")
FILTERED = (
    *("content_filter: RECITATION", "content_filter: PROHIBITED_CONTENT", "content_filter: A_NEW_RULE", "safety"),
    *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"),
    *("guardrail_intervened", "content_filtered", "ERROR_TOXIC"),
)
CUT = ("MAX_TOKENS", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded", "ERROR_LIMIT")
ABORTED = ("error", "abort", "insufficient_system_resource", "cancelled", "a_new_error")
UNKNOWN = ("OTHER", "tool_calls", "MALFORMED_RESPONSE", "FINISH_REASON_UNSPECIFIED", "pause_turn", "never_heard_of")
"""Finish reasons as providers word them, by what they mean; beside a good one the native one counts."""


def _finishing(word: str, beside: str = "", message: bool = True) -> tuple[str, str, Reply]:
    """Name, description and effect of an answer that ends so, or natively so `beside` what a router makes of it."""
    name = re.sub("[^A-Za-z]+", "_", f"ended_{beside} {word}" + ("" if message else " no message"))
    does = f"200, finish_reason {beside or word}, native {word}" + ("" if message else ", no message")
    return name, does, faulty.finished(beside or word, word, message)


FINISH = (
    *(accepted(*_finishing(word), REPLIES) for word in COMPLETE),
    accepted(*_finishing("STOP", beside="stop"), REPLIES),
    *(recorded(*_finishing(word), REPLIES, Status.MODERATED) for word in FILTERED),
    *(recorded(*_finishing(word, message=False), REPLIES, Status.MODERATED) for word in FILTERED[:2]),
    *(recorded(*_finishing(word, beside="stop"), REPLIES, Status.MODERATED) for word in ("SAFETY", "RECITATION")),
    recorded(*_finishing("refusal"), REPLIES, Status.REFUSED),
    *(recorded(*_finishing(word), REPLIES, Status.TRUNCATED) for word in CUT),
    recorded(*_finishing("MAX_TOKENS", beside="stop"), REPLIES, Status.TRUNCATED),
    *(retried(*_finishing(word), REPLIES) for word in ABORTED),
    retried(*_finishing("abort", beside="stop"), REPLIES),
    *(recorded(*_finishing(word), REPLIES, Status.UNPARSABLE) for word in UNKNOWN),
    recorded(*_finishing("never_heard_of", beside="stop"), REPLIES, Status.UNPARSABLE),
)

IMAGE = (
    retried("image_missing", "200, words and no image", Images(lambda _: []), LISTED, Status.NO_IMAGE),
    retried(
        "image_refusal_text",
        "200, a refusal in words and no image",
        Choice({"content": "I can't edit pictures of people.", "images": []}),
        (Kind.IMAGE,),
        Status.NO_IMAGE,
    ),
    recorded(
        "image_safety",
        "200, no image, the filter named",
        Choice(
            {"content": None, "images": []}, {"finish_reason": "content_filter", "native_finish_reason": "IMAGE_SAFETY"}
        ),
        (Kind.IMAGE,),
        Status.MODERATED,
    ),
    retried(
        "image_bad_base64",
        "200, the image is not base64",
        Images(lambda _: ["data:image/png;base64,@@@"]),
        LISTED,
        Status.NO_IMAGE,
    ),
    retried(
        "image_truncated",
        "200, half an image file",
        Pixels(lambda _, made: made[: len(made) // 2]),
        IMAGES,
        Status.NO_IMAGE,
    ),
    retried("image_html", "200, an HTML page for an image", Pixels(lambda *_: _PAGE), IMAGES, Status.NO_IMAGE),
    retried("image_empty", "200, an image of no bytes", Pixels(lambda *_: b""), IMAGES, Status.NO_IMAGE),
    recorded("image_bomb", "200, 30,000 × 30,000 pixels", Pixels(lambda *_: bomb()), IMAGES, Status.NO_IMAGE),
    recorded("image_same", "200, the input's own file", Pixels(lambda given, _: given), IMAGES, Status.EDIT_INVALID),
    recorded(
        "image_same_pixels",
        "200, the input's pixels in another file",
        Pixels(lambda given, _: encoded_again(given)),
        IMAGES,
        Status.EDIT_INVALID,
    ),
    accepted(
        "image_two",
        "200, a draft before the image",
        Images(lambda made: [data_url(drawn("draft", (96, 48))), *made]),
        LISTED,
    ),
    recorded(
        "image_url",
        "200, a link instead of an image",
        Images(lambda _: ["http://localhost:9/elsewhere.png"]),
        LISTED,
        Status.NO_IMAGE,
    ),
    accepted("image_other_size", "200, another size", Pixels(lambda *_: drawn("other", (96, 48))), IMAGES),
    accepted(
        "image_wrong_mime",
        "200, a PNG labelled JPEG",
        Images(lambda made: [data_url(from_base64(made[0]), "image/jpeg")]),
        (Kind.IMAGE,),
    ),
    accepted("image_alpha", "200, an image with transparency", Pixels(lambda _, made: half_transparent(made)), IMAGES),
)

BFL = (
    stops(
        "bfl_403",
        "403, wrong key",
        Http(403, {"detail": "Not authenticated - Invalid Authentication"}),
        (Kind.SUBMIT, Kind.POLL),
    ),
    recorded("bfl_request_moderated", "Request Moderated", Task(poll="request_moderated"), SUBMIT, Status.MODERATED),
    recorded("bfl_content_moderated", "Content Moderated", Task(poll="content_moderated"), SUBMIT, Status.MODERATED),
    recorded("bfl_moderated_503", "Content Moderated with 503", Task(poll="moderated_503"), SUBMIT, Status.MODERATED),
    recorded("bfl_error", "status Error", Task(poll="error"), SUBMIT),
    recorded("bfl_failed", "status Failed", Task(poll="failed"), SUBMIT),
    recorded("bfl_task_not_found", "404, Task not found", Task(poll="not_found"), SUBMIT),
    recorded("bfl_pending", "Pending for ever", Task(poll="pending"), SUBMIT, stalls=True),
    recorded("bfl_no_polling_url", "no polling_url", Task(submit={"polling_url": None}), SUBMIT),
    recorded("bfl_foreign_polling_url", "polling_url at another host", Task(link="foreign_poll"), SUBMIT),
    recorded("bfl_odd_polling_url", "polling_url is no address", Task(submit={"polling_url": "https://[::1/"}), SUBMIT),
    recorded("bfl_odd_sample", "the sample is no address", Task(poll="odd_sample"), SUBMIT),
    recorded("bfl_no_sample", "Ready without a sample", Task(poll="no_sample"), SUBMIT, Status.NO_IMAGE),
    recorded("bfl_expired", "every delivery link has expired", Task(link="expired"), SUBMIT, Status.NO_IMAGE),
    retried(
        "bfl_not_found_once", "404 at the first look, then Ready", Task(poll="not_found", once=True), SUBMIT, Status.OK
    ),
    retried("bfl_expired_once", "the first link has expired", Task(link="expired", once=True), SUBMIT, Status.OK),
    retried("bfl_cut_once", "the first download is cut", Task(link="cut", once=True), SUBMIT, Status.OK),
    retried("bfl_poll_500_once", "the first poll answers 500", Task(poll="http_500", once=True), SUBMIT, Status.OK),
    retried("bfl_poll_429_once", "the first poll answers 429", Task(poll="http_429", once=True), SUBMIT, Status.OK),
    retried("bfl_poll_cut_once", "the first poll is cut", Task(poll="cut", once=True), SUBMIT, Status.OK),
    accepted("bfl_ready_503", "Ready with 503", Task(poll="ready_503"), SUBMIT),
    accepted("bfl_new_status", "a status nobody knows, then Ready", Task(poll="new_status", once=True), SUBMIT),
    accepted("bfl_no_cost", "no cost stated", Task(submit={"cost": None}), SUBMIT),
)

STREAM = (
    retried("stream_silent_end", "the stream ends without finish_reason", Stream("silent_end"), (Kind.STREAM,)),
    retried("stream_cut", "the stream's connection breaks", Stream("cut"), (Kind.STREAM,)),
    retried("stream_error", "an error event half-way", Stream("error"), (Kind.STREAM,)),
    retried("stream_bad_chunk", "an event that is not JSON", Stream("bad_chunk"), (Kind.STREAM,)),
)

ROWS = (*PERMANENT_HTTP, *PASSING_HTTP, *CONNECTION, *DOCUMENT, *ENVELOPE, *FINISH, *IMAGE, *BFL, *STREAM)
FAULTS: dict[str, Fault] = {row.name: row for row in ROWS}


def fitting(kind: Kind) -> list[Fault]:
    """The faults that fit a kind of request, in the table's order."""
    return [row for row in ROWS if kind in row.where]
