"""Bytes from outside become JSON without the key; how a server is examined; what an image says about its origin."""

import hashlib
import io
import json
import struct
import zlib

import httpx2
import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import PluginError
from cfeval.inference.remote.faults import Fault, RetryPolicy
from cfeval.inference.remote.http import DEEPEST, Endpoint, fault_of, read_json
from cfeval.inference.remote.images import origin
from cfeval.inference.remote.providers import about_model, checked_base_url, endpoint
from cfeval.inference.remote.request import Response
from cfeval.report.pack import COMPOSITE, marked
from tests.inference.remote.conftest import Configure
from tests.inference.remote.keys import KEY, KEY_ENV
from tests.loopback.fault import Kind
from tests.loopback.faults import fitting
from tests.loopback.site import Loopback

WITH_KEY = Endpoint("http://x", KEY_ENV, KEY)


@given(st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
def test_no_bytes_are_an_exception(body: bytes) -> None:
    said = read_json(WITH_KEY, body)
    fault = fault_of(WITH_KEY, httpx2.Response(500, content=body))
    assert fault is not None
    assert "\n" not in fault.reason
    Response(raw=said if not isinstance(said, Fault) else said.reason).as_json().encode()
    fault.reason.encode()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (rb'{"a": "\ud800x"}', {"a": "\ufffdx"}),
        (rb'["\ud83d\ude00"]', ["😀"]),
        (rb'{"\udfff": NaN, "b": [Infinity, -Infinity]}', {"\ufffd": None, "b": [None, None]}),
        (b'"a\xe2\x80\xa8b"', "a\u2028b"),
    ],
)
def test_what_no_file_can_hold_is_replaced(body: bytes, said: object) -> None:
    assert read_json(WITH_KEY, body) == said


def test_deep_nesting_is_no_json_and_reasonable_nesting_is() -> None:
    deep, fine = DEEPEST * 20, DEEPEST // 2
    assert isinstance(read_json(WITH_KEY, b"[" * deep + b"]" * deep), Fault)
    assert not isinstance(read_json(WITH_KEY, b"[" * fine + b"]" * fine), Fault)


def test_the_key_is_taken_out_of_answers_and_errors_and_a_word_of_an_answer_is_not() -> None:
    echo = json.dumps({"said": f"Bearer {KEY}"}).encode()
    assert read_json(WITH_KEY, echo) == {"said": "Bearer [key]"}
    fault = fault_of(WITH_KEY, httpx2.Response(400, content=echo))
    assert fault is not None
    assert KEY not in fault.reason + str(fault.raw)
    assert KEY not in repr(WITH_KEY)
    spelled = KEY.replace("-", r"\u002d")
    assert read_json(WITH_KEY, f'{{"{spelled}": ["{spelled}"]}}'.encode()) == {"[key]": ["[key]"]}
    not_json = read_json(WITH_KEY, f"x{KEY}".encode())
    assert KEY[:8] not in not_json.reason
    assert read_json(Endpoint("http://x", KEY_ENV, "x"), b'"a box"') == "a box"


@pytest.mark.parametrize(("key", "words"), [("", "set the environment variable"), ("sk-\u200b12345678", "a character")])
def test_a_key_that_is_missing_or_cannot_be_one_is_told_without_telling_it(
    monkeypatch: pytest.MonkeyPatch, key: str, words: str
) -> None:
    monkeypatch.setenv(KEY_ENV, key)
    with pytest.raises(PluginError, match=words) as error:
        endpoint("http://x", KEY_ENV)
    assert "12345678" not in str(error.value)
    assert KEY_ENV in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://x/v1", "x", "http://", "http://a b/v1", "http://[::1/v1", "http://x:99999/v1", "http://x:y/v1"),
        *("http://user:pw@x/v1", "http://x/v1?key=1", "http://x/v1#key"),
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="base_url must"):
        checked_base_url(url)


def test_a_server_is_examined_in_one_line(server: Loopback, configure: Configure) -> None:
    assert about_model(server.openai, KEY_ENV, "vlm") == (True, f"{server.openai} answers and has vlm")
    fine, line = about_model(server.openai, KEY_ENV, "vlmm")
    assert not fine
    assert "did you mean 'vlm'?" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [row for row in fitting(Kind.INFO) if row.reaction != RetryPolicy.RECORD and not row.stalls],
    ids=lambda r: r.name,
)
def test_whatever_an_examined_server_does_the_answer_is_one_line(
    server: Loopback, configure: Configure, row: object
) -> None:
    name = getattr(row, "name", "")
    server.random(1.0, [name], at=[Kind.INFO])
    fine, line = about_model(server.openai, KEY_ENV, "vlm")
    assert fine == (name in ("json_as_text", "json_null", "json_list"))
    assert line
    assert "\n" not in line
    assert KEY not in line


def test_no_server_no_key_and_a_wrong_key_are_told(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    fine, line = about_model("http://127.0.0.1:9/v1", KEY_ENV, "vlm")
    assert (fine, "cannot be reached" in line) == (False, True)
    monkeypatch.setenv(KEY_ENV, "sk-wrong-wrong")
    fine, line = about_model(server.openai, KEY_ENV, "vlm")
    assert (fine, f"{KEY_ENV} is refused" in line) == (False, True)
    monkeypatch.delenv(KEY_ENV)
    fine, line = about_model(server.openai, KEY_ENV, "vlm")
    assert (fine, f"set the environment variable {KEY_ENV}" in line) == (False, True)


MANIFEST = b"\x00\x00\x00\x1djumb" + b"a manifest of somebody"
TRAINED = b'"http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"'
SAID = f"{len(MANIFEST)} bytes, sha256 {hashlib.sha256(MANIFEST).hexdigest()}"


def encoded(kind: str, **options: object) -> bytes:
    pixels = np.random.default_rng(3).integers(0, 255, (31, 17, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, format=kind, **options)
    return buffer.getvalue()


def png(kind: bytes, data: bytes) -> bytes:
    content = encoded("PNG")
    chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return content[:33] + chunk + content[33:]


def jpeg(data: bytes) -> bytes:
    content = encoded("JPEG")
    segment = b"JP\x00\x01\x00\x00\x00\x01" + data
    return content[:2] + b"\xff\xeb" + struct.pack(">H", len(segment) + 2) + segment + content[2:]


def webp(data: bytes) -> bytes:
    content = encoded("WEBP")
    chunk = b"C2PA" + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(content) - 8 + len(chunk)) + content[8:] + chunk


@pytest.mark.parametrize("content", [png(b"caBX", MANIFEST), jpeg(MANIFEST), webp(MANIFEST)])
def test_a_manifest_is_found_in_every_format(content: bytes) -> None:
    PIL.Image.open(io.BytesIO(content)).load()
    assert origin(content) == {"c2pa": SAID}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_an_image_that_says_nothing_has_no_origin(kind: str) -> None:
    assert origin(encoded(kind)) == {}


def test_the_source_type_is_read_in_xmp_and_in_a_manifest() -> None:
    assert origin(encoded("JPEG", xmp=TRAINED)) == {"digital_source_type": "trainedAlgorithmicMedia"}
    both = origin(png(b"caBX", MANIFEST + TRAINED))
    assert both["digital_source_type"] == "trainedAlgorithmicMedia"
    assert "c2pa" in both


@pytest.mark.parametrize("content", [png(b"caBX", MANIFEST), jpeg(MANIFEST), webp(MANIFEST), b"", b"\xff\xd8\xff\xeb"])
def test_a_file_that_is_cut_short_anywhere_breaks_nothing(content: bytes) -> None:
    for end in range(0, len(content), 7):
        origin(content[:end])


def test_a_marked_image_says_so_to_other_readers_and_keeps_its_pixels() -> None:
    content = encoded("PNG")
    once = marked(content)
    assert marked(content) == once != content
    with PIL.Image.open(io.BytesIO(once)) as image, PIL.Image.open(io.BytesIO(content)) as before:
        assert COMPOSITE in str(image.info["XML:com.adobe.xmp"])
        assert image.tobytes() == before.tobytes()
    PIL.Image.open(io.BytesIO(once)).verify()
    assert origin(once) == {"digital_source_type": "compositeSynthetic"}
    with pytest.raises(ValueError, match="only PNG"):
        marked(encoded("JPEG"))
