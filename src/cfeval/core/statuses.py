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
    Status.REFUSED: Meaning("the model declined", "nothing; it is the model's answer to this item"),
    Status.MODERATED: Meaning(
        "the provider's filter stopped question, answer or image", "nothing, or another provider"
    ),
    Status.TRUNCATED: Meaning(
        "the reply was cut off at a limit on tokens", "raise `max_tokens`, or `thinking_tokens` of a model that thinks"
    ),
    Status.UNPARSABLE: Meaning(
        "the reply does not have the form that was asked for, also after one repair turn; or it ended for a reason "
        "that is not known",
        "look at `raw` in the record; another model, or a prompt of your own; a finish reason that is meant: "
        "`accept_finish_reasons`",
    ),
    Status.EDIT_INVALID: Meaning(
        "the editor changed nothing, cannot make this edit, or its gate rejected it",
        "look at the instruction; another editor",
    ),
    Status.CITATION_ABSENT: Meaning(
        "what the explanation cites, and was to be edited, is not in the image",
        "nothing; it is a finding about the target model",
    ),
    Status.NO_IMAGE: Meaning("no image came back, or a broken one", "another editor, where it happens often"),
    Status.WRONG_MODEL: Meaning(
        "another model answered than was asked for", "name it in `accept_models` if it is meant"
    ),
    Status.REJECTED: Meaning(
        "the provider did not accept the request, such as HTTP 400, 404, 413, 422",
        "the reason names the cause; large images: `max_pixels`. Where the server was at fault, run its step again",
    ),
    Status.TRANSPORT_ERROR: Meaning(
        "network or server failed, also after all attempts",
        "run its step again, see below: it is tried again, and only it",
    ),
}
