"""What each status of an item means and what to do about it: for the end of a run and for docs/reference/errors.md."""

from collections.abc import Mapping
from typing import NamedTuple

from cfeval.core.records import Status


class Meaning(NamedTuple):
    """What happened, and what to do; empty: nothing need be done."""

    happened: str
    remedy: str


MEANINGS: Mapping[Status, Meaning] = {
    Status.OK: Meaning("the item has its result", ""),
    Status.REFUSED: Meaning("the model declined to answer", "nothing: it is the model's answer to this item"),
    Status.MODERATED: Meaning(
        "the provider's filter stopped the question, the answer or the image", "nothing, or use another provider"
    ),
    Status.TRUNCATED: Meaning(
        "the reply was cut off at a token limit, or its thoughts do not end",
        "raise `max_tokens`, or `thinking_tokens` of a model that thinks",
    ),
    Status.UNPARSABLE: Meaning(
        "the reply does not have the form that was asked for or contradicts itself, even after one repair turn; or it "
        "ended for an unknown reason",
        "read `raw` in the record; use another model or your own prompt; name a finish reason that you accept in "
        "`accept_finish_reasons`",
    ),
    Status.ECHO: Meaning(
        "the writer gave back the form, an example, the answer, the explanation or the concept in place of an "
        "instruction, even after one repair turn",
        "read `completion` in the record; use a stronger writer or your own prompt",
    ),
    Status.EDIT_INVALID: Meaning(
        "the editor changed nothing, cannot make this edit, or its gate rejected it",
        "read the instruction; try another editor",
    ),
    Status.CITATION_ABSENT: Meaning(
        "what the explanation cites, and was to be edited, is not in the image",
        "nothing: it is a finding about the target model",
    ),
    Status.NO_IMAGE: Meaning("no image came back, or a broken one", "if this happens often, use another editor"),
    Status.WRONG_MODEL: Meaning(
        "another model answered than the one that was asked", "if you meant that model, name it in `accept_models`"
    ),
    Status.REJECTED: Meaning(
        "the provider did not accept the request, such as HTTP 400, 404, 413, 422",
        "the reason names the cause; for large images, set `max_pixels`. If the server was at fault, run the step "
        "again",
    ),
    Status.TRANSPORT_ERROR: Meaning(
        "network or server failed, even after all attempts",
        "run the step again, see below: only these items are tried again",
    ),
}
