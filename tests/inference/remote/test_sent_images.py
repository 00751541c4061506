"""Images on their way to editors and back: no more bytes than needed, none bought twice, what was done is said."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import EditReply, EditRequest
from cfeval.edct.plugins import bfl_editor, remote_editors
from cfeval.inference.remote import images
from cfeval.inference.remote.images import encoded
from cfeval.study.models import MAX_PIXELS, model
from tests.answers import answers
from tests.inference.remote.asking import PHOTO, editor
from tests.inference.remote.conftest import Configure
from tests.loopback.effects import Images, Pixels
from tests.loopback.fault import Kind, accepted
from tests.loopback.faults import FAULTS
from tests.loopback.image_files import data_url, drawn
from tests.loopback.site import Loopback

pytestmark = pytest.mark.usefixtures("hurry")


def noise(width: int, height: int) -> Image:
    """Like a photograph of a night: its PNG has about three bytes a pixel."""
    return Image.from_pixels(np.random.default_rng(0).integers(0, 60, (height, width, 3), dtype=np.uint8))


def made(server: Loopback, kind: Kind, image: Image = PHOTO, **options: Any) -> EditReply:
    request = EditRequest("i1", image, "Make it blue.", "red", 1)
    (reply,) = answers(editor(server, kind, **options).edit, [request])
    return reply


def met(server: Loopback, patch: pytest.MonkeyPatch, effect: Images | Pixels, kind: Kind) -> EditReply:
    """An edit whose answers of a kind all meet an effect."""
    patch.setitem(FAULTS, "mine", accepted("mine", "", effect, (kind,)))
    server.script(["mine"] * 9, at=kind)
    return made(server, kind)


def test_a_small_image_goes_as_the_png_it_is_and_a_large_one_as_a_jpeg_like_it() -> None:
    assert encoded(PHOTO).content == PHOTO.png
    large = noise(1500, 1200)
    sent = encoded(large)
    assert sent.media_type == "image/jpeg"
    assert len(sent.content) < len(large.png) / 1.5
    with PIL.Image.open(io.BytesIO(sent.content)) as opened:
        again = np.asarray(opened).astype(int)
    assert abs(again - large.pixels).mean() < 4  # noise is the worst of it
    assert encoded(large, lossless=True).content == large.png
    assert encoded(large).data_url.startswith("data:image/jpeg;base64,")


@pytest.mark.parametrize("kind", [Kind.IMAGE, Kind.EDIT, Kind.SUBMIT])
def test_the_record_of_an_edit_says_that_a_jpeg_was_sent(server: Loopback, configure: Configure, kind: Kind) -> None:
    reply = made(server, kind, noise(1500, 1200))
    assert reply.status == Status.OK
    assert reply.details["sent_as"] == "JPEG of quality 95"
    if kind == Kind.SUBMIT:
        (task,) = server.tasks.values()
        assert task.source[:2] == b"\xff\xd8"
    assert "sent_as" not in made(server, kind).details


@pytest.mark.parametrize(
    ("kind", "module", "options"),
    [(Kind.SUBMIT, bfl_editor, {}), (Kind.EDIT, remote_editors, {"provider": "openai"})],
)
def test_what_is_over_a_providers_limit_is_not_sent_and_one_line_says_so(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch, kind: Kind, module: Any, options: Any
) -> None:
    monkeypatch.setattr(module, "LARGEST", 1000)
    reply = made(server, kind, noise(60, 50), **options)
    assert reply.status == Status.REJECTED
    assert "(60 × 50 pixels) would go as 0.0 MB, and " in reply.reason
    assert reply.reason.endswith("takes at most 0.001 MB; set max_pixels")
    assert server.log == []
    assert made(server, kind, noise(60, 50), max_pixels=200, **options).status == Status.OK


def test_an_editor_with_masks_that_is_to_change_nothing_is_sent_none(
    server: Loopback, configure: Configure, tmp_path: Path
) -> None:
    PIL.Image.new("L", (45, 30), 255).save(tmp_path / "i1.png")
    asking = editor(server, Kind.EDIT, masks=str(tmp_path))
    request = EditRequest("i1", PHOTO, "Make it blue.", "red", 1)
    nothing = replace(request, item="i2", positive="Change nothing.", nothing=True)
    replies = answers(asking.edit, [request, nothing])
    assert [reply.status for reply in replies] == [Status.OK] * 2
    assert sorted("mask" in entry.payload for entry in server.log) == [False, True]


@pytest.mark.parametrize("name", ["bfl/flux-2-max", "openai/gpt-image-1", "openrouter/google/gemini-2.5-flash-image"])
def test_init_limits_the_pixels_that_a_hosted_editor_is_sent(name: str) -> None:
    assert model(name, editor=True).editor()["max_pixels"] == MAX_PIXELS


@pytest.mark.parametrize("kind", [Kind.IMAGE, Kind.EDIT])
def test_of_a_draft_and_a_final_image_the_last_is_taken_and_said(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    final = drawn("final", (PHOTO.pixels.shape[1], PHOTO.pixels.shape[0]))
    change = Images(lambda _: [data_url(drawn("draft")), data_url(drawn("draft 2")), data_url(final)])
    reply = met(server, monkeypatch, change, kind)
    assert reply.image == Image(final) or (reply.image and (reply.image.pixels == Image(final).pixels).all())
    assert reply.details["images"] == "last of 3 images taken"
    assert len(server.log) == 1


@pytest.mark.parametrize("kind", [Kind.IMAGE, Kind.EDIT, Kind.DOWNLOAD])
@pytest.mark.parametrize("form", ["AVIF", "TIFF", "BMP", "JPEG2000"])
def test_an_image_of_another_format_is_bought_once(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch, kind: Kind, form: str
) -> None:
    right = drawn("other", (45, 30))
    buffer = io.BytesIO()
    with PIL.Image.open(io.BytesIO(right)) as opened:
        opened.save(buffer, format=form)
    reply = met(server, monkeypatch, Pixels(lambda *_: buffer.getvalue()), kind)
    assert reply.status == Status.OK
    assert reply.image is not None
    assert abs(reply.image.pixels.astype(int) - Image(right).pixels).mean() < 8
    assert sum(entry.kind in (Kind.IMAGE, Kind.EDIT, Kind.SUBMIT) for entry in server.log) == 1


def test_what_was_done_to_a_reply_stays_with_it_when_it_gets_the_originals_size() -> None:
    turned = replace(PHOTO, conversions=("EXIF orientation 6 applied",))
    assert remote_editors.resized(turned, 90, 60).conversions == turned.conversions


def test_the_limit_for_jpeg_is_under_every_known_limit_of_a_provider() -> None:
    assert min(bfl_editor.LARGEST, remote_editors.LARGEST) > images.JPEG_OVER
