"""A study as users have it: photographs, explanations of several paragraphs in many scripts, and what goes wrong.

Nothing in it was measured: it is what a page must be able to show.
"""

import io
from functools import cache
from pathlib import Path

import numpy as np
import PIL.Image

from cfeval import cli
from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import write_csv, write_jsonl
from cfeval.core.records import Record, Status, failure
from cfeval.datasets.sample import Sample
from cfeval.edct.asked import AskedReport, AskedTable, AskedTables
from cfeval.edct.files import stage_files
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, NULL_EDIT, RULES, UNCITED, UNCITED_EDIT
from cfeval.edct.records import (
    Baseline,
    Check,
    Condition,
    Counterfactual,
    EditAttempt,
    Instruction,
    Requery,
    Score,
    Verdict,
    Verification,
)
from tests.edct.tables.study import failed, score
from tests.told import told

MODELS = (
    "qwen3-vl-235b-a22b-instruct-awq-int4",
    "gemini-3.5-pro-preview-09-2026-thinking-32k",
    "internvl4_78b_chat_v2.5_mpo",
)
CONTROLLED = MODELS[:2]
JUDGES = ("claude-opus-5-2026-05-14", "gpt-5.5-mini-2026-08-01")
CONDITIONS = [
    Condition(
        dataset="street-scenes-validation-2026",
        vlm=model,
        writer="gpt-5.5-mini-2026-08-01",
        protocol=protocol,
        editor="flux-1-kontext-max-behind-the-gate",
        judge=judge,
    )
    for protocol in ("edct-2025", *CONTROLS)
    for model in (MODELS if protocol == "edct-2025" else CONTROLLED)
    for judge in (JUDGES if protocol == "edct-2025" else JUDGES[:1])
]
SIZES = ((1536, 1024), (1024, 1536), (1280, 720), (900, 1600))
ITEMS = 12
LINK = "https://images.example/" + "a-very-long-name-without-a-place-to-break/" * 4 + "0001.jpg?size=original"
LONG = """Looking at the photograph, I would say that the person on the left is waiting for the tram rather than for a \
bus, and I base that on several things that I can see.

1. **The rails.** Two parallel grooves run through the paving from the lower left corner to the vanishing point behind \
the kiosk. They are the single most important cue; without them I would have said "bus".
2. **The overhead wire.** A thin dark line crosses the sky above the second-floor windows.
3. **The shelter.** Its roof carries a sign with the letter `T` on a red ground (see the upper third of the frame).

The person's posture adds a little: they stand with their weight on one leg, a folded umbrella in the right hand, and \
look along the street in the direction from which a vehicle would come. Their coat is dark blue, and it is wet at the \
shoulders, which suggests that it has rained within the last quarter of an hour. I considered three other readings:

- that they wait for another person, which the direction of their gaze speaks against;
- that they are about to cross, which is unlikely since the crossing is twenty metres further on;
- that they photograph the façade, for which they would need a camera.

| cue | where | weight |
|---|---|---|
| rails | lower left | high |
| wire | top | medium |

None of these fits as well. What I cannot tell from the image alone is the hour of the day: the light is diffuse, the \
shadows have no clear direction, and the clock on the tower is too small to be read with confidence, although its \
hands seem to point to ten minutes past four. I would put my confidence in "tram" at about 85 %, and most of what is \
left on "trolleybus", which would have the wire but not the rails."""
TEXTS = (
    LONG,
    "照片中的人正在等电车,因为地面上有两条平行的铁轨,而且上方可以看到架空电线。" * 6,
    "الشخص ينتظر الترام لأن القضبان ظاهرة في الأرض، وتوجد أسلاك كهربائية فوق الشارع (انظر الجزء العلوي من الصورة).\n\n"
    "والمعطف أزرق." * 2,
    "चित्र में व्यक्ति ट्राम की प्रतीक्षा कर रहा है, क्योंकि सड़क पर पटरियाँ दिखाई दे रही हैं और ऊपर बिजली का तार है। " * 4,
    f"<b>Because</b> of the <img src=x onerror=alert(1)> rails; see [this]({LINK}).\n\n```python\n"
    + "scene = {'rails': True, 'wire': True, "
    + "'x': 1, " * 30
    + "}\n```\n\n$$p(\\text{tram} \\mid x) = 0.85$$",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
    + " 🚋 steht auf dem Schild.",
    "Rails.",
)
QUESTIONS = (
    "What is the person on the left waiting for?",
    "Look closely at the whole photograph before you answer. Which of the following best describes what the person who "
    "stands next to the kiosk is about to do, given everything that you can see of the street, the weather and the "
    "other people: (A) board a tram, (B) board a bus, (C) cross the street, (D) take a photograph? One letter.",
    "照片里的人在等什么?",
    "ماذا ينتظر الشخص؟",
)
EDIT = (
    "Remove the tram rails from the paving in the lower left of the photograph and continue the cobblestones without a "
    "seam. Keep the person, the kiosk, the overhead wire, the sky and the light exactly as they are."
)
CITED = ("tram rails in the paving", "overhead wire above the second-floor windows")
ENDED: dict[int, tuple[Status, str, str]] = {
    3: (Status.REFUSED, "baselines", "I'm sorry, but I can't help with identifying people in photographs."),
    5: (Status.TRUNCATED, "baselines", "the reply reached max_tokens (1024) before it ended"),
    7: (Status.NO_IMAGE, "counterfactuals", "the gate rejected 2 attempts: " + "the rails are still visible; " * 2),
    8: (Status.MODERATED, "counterfactuals", "the provider's filter stopped the request (code 'content_policy')"),
    10: (Status.UNPARSABLE, "verdicts", "no verdict in the reply, also after it was asked for one again"),
    11: (Status.CITATION_ABSENT, "instructions", "not in the image: tram rails in the paving"),
}
"""By the number of an item: how it ends for the first two models."""


def names() -> list[str]:
    """The ids of the items."""
    return [f"street-scenes.val2026.{number:012d}" for number in range(ITEMS)]


def make_report(folder: Path) -> Path:
    """Records, tables, figures and the page, through the command line; returns the page."""
    results = folder / "edct"
    write_study(results)
    asked = [one for one in CONDITIONS if one.protocol == "edct-2025"]
    controlled = [one for one in CONDITIONS if one.vlm in CONTROLLED and one.judge == JUDGES[0]]
    shown = {"table1": asked[::2], "agreement": asked, "comparisons": asked[::2]}
    shown |= dict.fromkeys(("card", "faithfulness", "controls"), controlled)
    tables = AskedTables(tables={name: AskedTable(conditions=conditions) for name, conditions in shown.items()})
    _run("tables", "--study", told(folder, tables), "--results", results, "--out", results / "tables")
    drawn = ("--figure", "forest", "--figure", "axes")
    _run("figures", "--tables", results / "tables", *drawn, "--out", results / "figures")
    out, page = folder / "report/index.html", AskedReport(conditions=CONDITIONS, tables=tuple(shown))
    _run("report", "--study", told(folder, page), "--results", results, "--out", out)
    return out


def write_study(results: Path) -> None:
    """Every record file that the report reads."""
    _write(stage_files(results, "items", CONDITIONS[0], 1)[0], [_sample(number) for number in range(ITEMS)])
    for one in CONDITIONS:
        edits = [(number, edit) for number in range(ITEMS) for edit in _edits(one)]
        of: dict[str, list[Record]] = {
            "baselines": [_baseline(number, one) for number in range(ITEMS)],
            "instructions": [_instruction(*which, one) for which in edits],
            "counterfactuals": [_counterfactual(*which, one) for which in edits],
            "checks": [_check(*which, one) for which in edits],
            "requeries": [_requery(*which, one) for which in edits],
            "verdicts": [_verdict(*which, one) for which in edits],
        }
        for stage, records in of.items():
            _write(stage_files(results, stage, one, 1)[0], records)
        write_csv(stage_files(results, "scores", one, 1)[0], Score, [_score(*which, one) for which in edits])


@cache
def photograph(number: int, edited: bool = False) -> Image:
    """A drawn scene of a photograph's size, with the soft changes of light and the grain of one."""
    width, height = SIZES[number % len(SIZES)]
    draws = np.random.default_rng(number)
    coarse = draws.integers(40, 215, (7, 7, 3), dtype=np.uint8)
    fine = draws.integers(0, 24, (height // 8, width // 8, 1), dtype=np.uint8)
    if edited:
        coarse[4:, :3] = (120, 110, 100)
    light, grain = (
        np.asarray(PIL.Image.fromarray(part).resize((width, height), PIL.Image.Resampling.BICUBIC), dtype=np.int16)
        for part in (coarse, fine.repeat(3, axis=2))
    )
    buffer = io.BytesIO()
    PIL.Image.fromarray(np.clip(light + grain, 0, 255).astype(np.uint8)).save(buffer, format="JPEG", quality=88)
    return Image(buffer.getvalue())


def _run(*arguments: object) -> None:
    assert cli.run(["edct", *map(str, arguments)]) == 0


def _write(path: Path, records: list[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_jsonl(path, records)
    for record in records:
        for image in (getattr(record, "image", None), *(one.image for one in getattr(record, "attempts", ()))):
            if image is not None:
                at = folder_of(path) / image.path
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(photograph(int(image.path.split(".")[2]), "edited" in image.path).png)


def _end(number: int, of: Condition, stage: str) -> dict[str, object]:
    """How an item has ended by a stage; nothing where it goes on."""
    order = ("baselines", "instructions", "counterfactuals", "verdicts", "scores")
    status, where, why = ENDED.get(number, (Status.OK, "", ""))
    if of.vlm not in CONTROLLED or status == Status.OK or order.index(where) > order.index(stage):
        return {}
    return dict(failure(status, where, why))


def _edits(of: Condition) -> tuple[int, ...]:
    return (1, 2) if of.protocol == UNCITED_EDIT else (1,)


def _sample(number: int) -> Sample:
    name = names()[number]
    return Sample(
        id=name,
        image=photograph(number).ref(f"{name}.jpg"),
        question=QUESTIONS[number % len(QUESTIONS)],
        reference="the tram, which comes every ten minutes" if number % 2 else "A",
        kind="intent",
    )


def _baseline(number: int, of: Condition) -> Baseline:
    asked = {"id": names()[number], "question": QUESTIONS[number % len(QUESTIONS)]}
    if end := _end(number, of, "baselines"):
        return Baseline.model_validate(asked | end)
    answer = LONG.split("\n")[0] if number % 5 == 0 else "A tram."
    return Baseline.model_validate(asked | {"answer": answer, "explanation": TEXTS[number % len(TEXTS)]})


def _instruction(number: int, edit: int, of: Condition) -> Instruction:
    fields: dict[str, object] = {"id": names()[number], "edit": edit} | _end(number, of, "instructions")
    if "status" not in fields or fields["status"] == Status.CITATION_ABSENT:
        fields |= {"concept": CITED[0], "cited": CITED}
        if RULES[of.protocol].written:
            fields |= {"positive": EDIT, "negative": "tram rails, grooves in the paving"}
        fields |= {"absent": CITED[:1]} if "status" in fields else {}
        fields |= {"evidence": UNCITED[edit - 1]} if of.protocol == UNCITED_EDIT else {}
    return Instruction.model_validate(fields)


def _counterfactual(number: int, edit: int, of: Condition) -> Counterfactual:
    name = names()[number]
    fields: dict[str, object] = {"id": name, "edit": edit, "seed": 20261123} | _end(number, of, "counterfactuals")
    image = photograph(number, edited=True).ref(f"{name}.edited-{edit}.jpg")
    if number % 4 == 1 or fields.get("status") == Status.NO_IMAGE:
        found = Verification(verified=0, reason="the rails are still visible at the lower left, next to the kerb")
        kept = Verification(verified=int("status" not in fields))
        fields["attempts"] = [EditAttempt(seed=20261122, image=image, found=found)]
        fields["attempts"] += [EditAttempt(seed=20261123, image=image, found=kept)]
    return Counterfactual.model_validate(fields if "status" in fields else fields | {"image": image})


def _check(number: int, edit: int, of: Condition) -> Check:
    fields: dict[str, object] = {"id": names()[number], "edit": edit} | _end(number, of, "counterfactuals")
    if "status" not in fields:
        why = {} if number != 2 else {"reason": "The kiosk's awning also changed its colour, from green to grey."}
        fields |= {"found": Verification(verified=int(number != 2), **why), "changed_share": 0.0625}
    return Check.model_validate(fields)


def _requery(number: int, edit: int, of: Condition) -> Requery:
    fields: dict[str, object] = {"id": names()[number], "edit": edit} | _end(number, of, "counterfactuals")
    if "status" not in fields:
        text = TEXTS[number % len(TEXTS)].replace("rails", "cobblestones").replace("铁轨", "石头")
        answer = "A tram." if of.protocol in (NULL_EDIT, UNCITED_EDIT) else "A bus, most likely."
        fields |= {"answer": answer, "explanation": text}
    return Requery.model_validate(fields)


def _verdict(number: int, edit: int, of: Condition) -> Verdict:
    fields: dict[str, object] = {"id": names()[number], "edit": edit} | _end(number, of, "verdicts")
    said = "**Reasoning.** Before the edit the explanation rests on the rails; after it, it names the cobblestones. "
    return Verdict.model_validate(fields | {"completion": said * 3 + '\n\n{"PCS": 1, "NCC": 1}'})


def _score(number: int, edit: int, of: Condition) -> Score:
    item = names()[number]
    if end := _end(number, of, "scores"):
        return failed(of, item, **{**end, "edit": edit})  # type: ignore[arg-type]
    known = {"edit": edit, "verified": int(number != 2), "present": 1, "correct": number % 2, "cluster": f"c{number}"}
    if of.protocol in CONTROLS:
        told = {"evidence": UNCITED[edit - 1]} if of.protocol == UNCITED_EDIT else {}
        told |= {"sham": 0, "swapped": 1} if of.protocol == NULL_EDIT else {}
        return score(of, item, int(of.protocol == BLANK_IMAGE), 0, **known | told)
    ncc = int(number % 3 != 1 or of.judge == JUDGES[1])
    return score(of, item, 1, ncc, **known, answer_moved=1)
