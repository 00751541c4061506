"""An instruction as an editor can take it: its positive and negative part (EDCT 2025, Section 3, Stage 2).

An editor says what it `Uses`. What it cannot use is told in the prompt's text, and the details say what was done.
"""

from dataclasses import dataclass

from cfeval.backends.editors.base import EditRequest


@dataclass(frozen=True)
class Uses:
    """What an editor can use beside the image and a prompt."""

    negative_prompt: bool = False
    """A text of what must not be there, apart from the prompt."""
    mask: bool = False
    """A picture of where the image may change."""
    seed: bool = False


@dataclass(frozen=True)
class Prompted:
    """The texts for an editor; `details` go into `EditReply.details`."""

    prompt: str
    negative_prompt: str
    details: dict[str, str]


def prompt_for(request: EditRequest, uses: Uses) -> Prompted:
    """The prompt and the negative prompt of a request, for an editor that can use so much."""
    positive, negative = request.positive.strip(), request.negative.strip()
    apart = negative if uses.negative_prompt else ""
    prompt = positive if apart or not negative else fold(positive, negative)
    details = {
        "prompt": prompt,
        "negative_prompt": apart,
        "negative_part": ("sent apart" if apart else "folded into the prompt") if negative else "none",
        "seed": str(request.seed) if uses.seed else "not used",
    }
    return Prompted(prompt, apart, details)


def fold(positive: str, negative: str) -> str:
    """Both parts of an instruction as one text."""
    stop = "" if positive.endswith((".", "!", "?")) else "."
    return f"{positive}{stop} Nothing of this must remain: {negative.rstrip('.')}."
