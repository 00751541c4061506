"""What verifiers found out, as records, and the pictures that show it under their paths."""

from cfeval.backends.editors.base import EditReply
from cfeval.backends.verifiers.base import VerifyReply
from cfeval.io.pictures import Picture
from cfeval.records.edct import Try, Verification

DECIMALS = 4
"""Numbers are rounded, so that they are the same on any machine."""


def verification(name: str, reply: VerifyReply) -> tuple[Verification, dict[str, Picture]]:
    """A verifier's reply as a record; its pictures are filed as `NAME-mask.png` and the like."""
    paths = {kind: f"{name}-{kind}.png" for kind in reply.pictures}
    found = Verification(
        verified=None if reply.verified is None else (1 if reply.verified else 0),
        reason=" ".join(reply.reason.split()),
        numbers={key: round(float(value), DECIMALS) for key, value in reply.numbers.items()},
        pictures={kind: reply.pictures[kind].ref(path) for kind, path in paths.items()},
        raw=reply.raw,
        calls=reply.calls,
    )
    return found, {path: reply.pictures[kind] for kind, path in paths.items()}


def attempts(name: str, reply: EditReply) -> tuple[tuple[Try, ...], dict[str, Picture]]:
    """The attempts of an editor that checks its own work; pictures are filed as `NAME-try1.png` and the like.

    The accepted one is the counterfactual itself, `NAME.png`.
    """
    records: list[Try] = []
    pictures: dict[str, Picture] = {}
    for number, attempt in enumerate(reply.tries, start=1):
        this = f"{name}-try{number}"
        found, evidence = verification(this, attempt.found)
        path = f"{name}.png" if attempt.picture is reply.picture else f"{this}.png"
        records.append(Try(seed=attempt.seed, image=attempt.picture.ref(path), found=found))
        pictures |= {path: attempt.picture, **evidence}
    return tuple(records), pictures
