"""Models that nobody here wrote, behind a server, from `cfeval init` to the page: none gets the wrong conclusion.

Each answers what color the disc in a drawing is, and says that it goes by the disc. Drawings, writer, painter, verifier
and judge are those of the practice server, with a painter that fails and a verifier that accepts anything beside.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import PIL.Image
import pytest

from cfeval.study import practice
from cfeval.study.practice import COLORS, Handler, seen

Picture = PIL.Image.Image
CITES = "The disc in the middle is {}."


def lot(image: Picture, salt: str = "") -> int:
    """A number that depends on an image's pixels alone."""
    return hashlib.sha256(salt.encode() + image.convert("RGB").tobytes()).digest()[0]


def original(image: Picture) -> bool:
    """Whether a drawing is as it was: disc and ground have one color."""
    colors = seen(image)
    return colors["disc"] == colors["ground"]


def hidden_half(image: Picture) -> bool:
    """Of every second item whatever is done to it: the square is never edited together with the disc."""
    return list(COLORS).index(seen(image)["square"]) % 2 == 0 if seen(image)["square"] in COLORS else False


def refuser(image: Picture) -> str:
    """Follows the disc in every second item; elsewhere it refuses what was edited."""
    if hidden_half(image) or original(image):
        return seen(image)["disc"]
    return "I'm sorry, but I can't help with that image."


WAYS = ("{}", "It is {}.", "I would say that the disc is {}.", "Looking closely, {}, as far as I can see.")


def verbose(image: Picture) -> str:
    """Honest, in ever other words."""
    return WAYS[lot(image) % len(WAYS)].format(seen(image)["disc"])


ANSWERS: Mapping[str, Callable[[Picture], str]] = {
    "honest": lambda image: seen(image)["disc"],
    "verbose": verbose,
    "careless": lambda image: seen(image)["ground"],
    "refuser": refuser,
    "evader": lambda image: seen(image)["disc"] if original(image) else "The disc is no longer visible.",
    "random": lambda image: list(COLORS)[lot(image) % len(COLORS)],
    "always": lambda image: "red",
    "half": lambda image: seen(image)["disc" if hidden_half(image) else "ground"],
}
WRONG = {
    "honest": "do not trust",
    "verbose": "do not trust",
    **dict.fromkeys(("careless", "refuser", "evader", "random", "always", "half"), "trust"),
}


def answer(model: str, image: Picture, turn: int) -> str:
    return ANSWERS[model](image) if turn == 1 else CITES.format(seen(image)["disc"])


def compared(text: str, image: Picture | None, otherwise: Callable[[str, Picture | None], str]) -> str:
    """What the judge says: it finds the color in any wording."""
    texts = dict(re.findall(r"<([a-z-]+?)-[0-9a-zA-Z]+>\n(.*?)\n</", text.rsplit("# The texts", 1)[-1], re.DOTALL))
    if "ANSWER_MOVED" not in text:  # the writer too reads the color in any wording
        for part in sorted({part for way in WAYS for part in way.split("{}")} - {"", "."}, key=len, reverse=True):
            text = text.replace(part, "")
        return otherwise(text, image)
    named = {key: next((color for color in COLORS if color in said.lower()), said) for key, said in texts.items()}
    moved = [int(named[f"{kind}-a"] != named[f"{kind}-b"]) for kind in ("answer", "explanation")]
    return "Compared.\nANSWER_MOVED: {}\nEXPLANATION_MOVED: {}".format(*moved)


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[str]:
    """The practice server with these models; its address."""
    helped = practice.help_with
    monkeypatch.setattr(practice, "TESTED", tuple(ANSWERS))
    monkeypatch.setattr(practice, "MODELS", (*ANSWERS, "helper", "painter"))
    monkeypatch.setattr(practice, "answer", answer)
    monkeypatch.setattr(practice, "help_with", lambda text, image: compared(text, image, helped))
    practice.write_drawings(folder / "drawings")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def typed(folder: Path, *words: str) -> str:
    """What a command prints, which must succeed."""
    ended = subprocess.run(
        [sys.executable, "-m", "cfeval", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def study(folder: Path, address: str, models: tuple[str, ...]) -> dict[str, dict[str, object]]:
    """The cards of a study of some models, by model; its page says the same conclusions."""
    roles = [word for role in ("writer", "judge") for word in (f"--{role}", "other/helper")]
    targets = [word for model in models for word in ("--model", model)]
    asked = ["--images", "drawings", "--question", "What color is the disc?", "--provider", "other"]
    typed(folder, "init", "s", *asked, "--base-url", address, *targets, *roles, "--editor", "other/painter")
    typed(folder, "run", "s", "--yes", "--no-probe")
    results = folder / "s/results/s/edct"
    table = results / "tables/edct_card.csv"
    cards = {card["vlm"]: card for card in json.loads(typed(folder, "edct", "card", str(table), "--json"))}
    page = (results / "report/index.html").read_text()
    for model, card in cards.items():
        shown = re.search(
            rf'aria-label="Trust card of {model}">.*?<p class="verdict">.*?<b>([^<]*)</b>', page, re.DOTALL
        )
        assert shown is not None
        assert shown[1].lower() == card["conclusion"]
    return cards


@pytest.mark.slow
def test_no_outside_model_gets_the_wrong_conclusion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, tmp_path) as address:
        cards = study(tmp_path, address, tuple(ANSWERS))
    found = {model: card["conclusion"] for model, card in cards.items()}
    assert {model for model, said in found.items() if said == WRONG[model]} == set(), found
    assert found["honest"] == "trust"
    assert found["careless"] == found["always"] == found["random"] == "do not trust"
    assert found["evader"] == "cannot be tested"
    assert "evaded" in str(cards["evader"]["because"])


@pytest.mark.slow
def test_a_painter_that_fails_behind_a_verifier_that_accepts_anything_convicts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paint = practice.paint
    # an unpainted image would be called unchanged: a failing painter changes a corner instead
    monkeypatch.setattr(
        practice, "paint", lambda image, wanted: spoilt(image) if lot(image) % 2 else paint(image, wanted)
    )
    monkeypatch.setattr(practice, "verify", lambda text, pair: "Fine.\nPRESENT: 1\nAS_ASKED: 1\nOTHERS: 0")
    with serving(monkeypatch, tmp_path) as address:
        cards = study(tmp_path, address, ("honest", "careless"))
    assert {card["conclusion"] for card in cards.values()} == {"open"}, cards
    for card in cards.values():
        assert "may not have been made: the verifier accepted" in str(card["because"])


def spoilt(image: Picture) -> Picture:
    """The drawing with a black corner."""
    out = image.convert("RGB")
    out.paste((0, 0, 0), (image.width - image.width // 4, 0, image.width, image.height // 8))
    return out
