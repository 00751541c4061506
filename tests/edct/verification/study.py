"""The results of a made-up study with an item that fails at each stage, as the pipeline lays them out.

Seven items over six images; a plain protocol, a chain of two edits with grades, a control that changes nothing. The
texts come from stored calls, so that every link of the evidence is there.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import write_csv, write_jsonl
from cfeval.core.records import ImageRef, Record
from cfeval.core.shards import shard_of
from cfeval.datasets.sample import Sample
from cfeval.edct.files import STAGES, stage_files
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
from cfeval.inference.remote.archive import export
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.request import Request, Response
from tests.images import image

PLAIN = Condition(dataset="d", vlm="m", writer="w", protocol="edct-2025", editor="e", judge="j")
CHAINED = PLAIN.model_copy(update={"protocol": "edct-bench-2026"})
NULL = PLAIN.model_copy(update={"protocol": "null-edit"})
BY_EDITOR = PLAIN.model_copy(update={"protocol": "editor-null"})
UNCITED = PLAIN.model_copy(update={"protocol": "uncited-edit"})
BLANK = PLAIN.model_copy(update={"protocol": "blank-image"})
CONDITIONS = (PLAIN, CHAINED, NULL)
ITEMS = ("a", "b", "c", "d", "e", "f", "g")
ORDER = ("baselines", "instructions", "counterfactuals", "requeries", "verdicts")
ENDS = {
    "b": ("baselines", "refused"),
    "c": ("instructions", "unparsable"),
    "d": ("counterfactuals", "edit_invalid"),
    "e": ("requeries", "truncated"),
    "f": ("verdicts", "unparsable"),
}
"""At which stage an item ends, and how; `a` and `g`, which share their image, are scored."""
ANSWERS = {"a": "It is red.", "g": "It is green."}
SCORED: dict[str, dict[str, Any]] = {
    PLAIN.protocol: {"pcs": 1, "ncc": 1, "ccs": 1},
    CHAINED.protocol: {"ac": 1, "ef": 0, "ccs": 0, "ccs_graded": 0.5},
    NULL.protocol: {"answer_moved": 0, "explanation_moved": 1},
    BY_EDITOR.protocol: {"answer_moved": 0, "explanation_moved": 1},
    UNCITED.protocol: {"answer_moved": 0, "explanation_moved": 1},
    BLANK.protocol: {"answer_moved": 1, "explanation_moved": 1},
}
UNWRITTEN = (NULL.protocol, BY_EDITOR.protocol, BLANK.protocol)
IMAGES = {item: image(number, (12, 10)) for number, item in enumerate(ITEMS)}
IMAGES["g"] = IMAGES["a"]
REJECTED, MASK, HEAT = image(201, (12, 10)), image(255, (12, 10)), image(90, (12, 10))


class Study:
    """Writes the files of some conditions under `results`, and the archive of their calls."""

    def __init__(
        self, results: Path, conditions: Sequence[Condition] = CONDITIONS, shards: int = 1, calls: bool = True
    ) -> None:
        self.results, self.shards = results, shards
        self.cache = ResponseCache(results.parent / "calls.sqlite") if calls else None
        self.keys: list[str] = []
        self.baselines: dict[str, Baseline] = {}
        for condition in conditions:
            self._write(condition)
        if self.cache:
            export(self.cache, self.keys, results / "calls" / "calls.zip")
            self.cache.close()

    def _write(self, condition: Condition) -> None:
        records: dict[str, list[Any]] = {stage: [] for stage in STAGES}
        for item in ITEMS:
            records["items"].append(sample(item))
            records["baselines"].append(self._baseline(item))
            for edit in (1, 2) if condition.protocol == CHAINED.protocol and not ended(item, "instructions") else (1,):
                for stage, record in self._edit(condition, item, edit):
                    records[stage].append(record)
        for stage, its in STAGES.items():
            for number, file in enumerate(stage_files(self.results, stage, condition, self.shards)):
                mine = [record for record in records[stage] if shard_of(record.id, self.shards) == number]
                self._file(file, its.kind, mine)

    def _file(self, file: Path, kind: type[Record], records: Sequence[Any]) -> None:
        write_csv(file, kind, records) if file.suffix == ".csv" else write_jsonl(file, records)
        for record in records:
            for ref, content in images(record):
                (folder_of(file) / ref.path).parent.mkdir(parents=True, exist_ok=True)
                (folder_of(file) / ref.path).write_bytes(content.png)

    def _baseline(self, item: str) -> Baseline:
        """What all conditions begin with."""
        if item not in self.baselines:
            said = self._said(item, "baselines", IMAGES[item], ANSWERS.get(item, "It is blue."), f"I see {item}.")
            self.baselines[item] = Baseline(id=item, question=question(item), **said)
        return self.baselines[item]

    def _edit(self, condition: Condition, item: str, edit: int) -> Iterator[tuple[str, Any]]:
        key = {"id": item, "edit": edit}
        yield "instructions", Instruction(**key, **self._told(condition, item))
        yield "counterfactuals", counterfactual(condition, item, edit)
        yield "checks", check(item, edit)
        shown = edited(condition, item, edit)
        yield (
            "requeries",
            Requery(**key, **self._said(item, "requeries", shown, "It is blue now.", f"Now {item} is blue.")),
        )
        yield "verdicts", Verdict(**key, **self._judged(condition, item))
        yield "scores", score(condition, item, edit)

    def _told(self, condition: Condition, item: str) -> dict[str, Any]:
        edit = {
            "concept": f"the {item}",
            "positive": "Change nothing." if condition.protocol in UNWRITTEN else f"Make {item} blue.",
            "evidence": "object",
            "cited": (f"the {item}", "the background"),
        }
        told = ended(item, "instructions") or edit
        calls = (
            self._asked(f"Find the concept: I see {item}.", f"Make {item} blue.")
            if reached(item, "instructions")
            else ()
        )
        return {**told, "calls": calls, "completion": f"Make {item} blue." if calls else ""}

    def _judged(self, condition: Condition, item: str) -> dict[str, Any]:
        scores = {name: value for name, value in SCORED[condition.protocol].items() if not name.startswith("ccs")}
        sound = {
            "scores": scores,
            "grade": 3 if condition.protocol == CHAINED.protocol else None,
            "stated_ccs": None if condition.protocol == NULL.protocol else 1,
        }
        calls = (
            self._asked(f"Judge by {condition.protocol}: Now {item} is blue.", "Fine.")
            if reached(item, "verdicts")
            else ()
        )
        besides = beside_scores(condition, item)
        return {**(ended(item, "verdicts") or sound), **besides, "calls": calls, "completion": "Fine." if calls else ""}

    def _said(self, item: str, stage: str, shown: Image, answer: str, why: str) -> dict[str, Any]:
        """Both turns, or what became of them."""
        if not reached(item, stage):
            return ended(item, stage)
        calls = self._asked(question(item), f" {answer}\n", shown) + self._asked(f"{question(item)} Why?", why, shown)
        texts = {"answer": answer, "explanation": why}
        return {"calls": calls, "model": "m-1", **(ended(item, stage) or texts)}

    def _asked(self, text: str, reply: str, shown: Image | None = None) -> tuple[str, ...]:
        """Have a call stored; its key."""
        if self.cache is None:
            return ()
        image = [{"url": f"sha256:{shown.sha256}"}] if shown else []
        call = Request("chat", "http://h/v1", "m", {"messages": [*image, {"text": text}]}, len(self.keys))
        self.cache.keep(call, Response(text=reply, model="m-1"))
        self.keys.append(call.key)
        return (call.key,)


def question(item: str) -> str:
    return f"What is in {item}?"


def sample(item: str) -> Sample:
    return Sample(id=item, image=IMAGES[item].ref(f"{item}.png"), question=question(item), reference="red")


def edited(condition: Condition, item: str, edit: int) -> Image:
    """The edited image; that of a control which changes nothing is the same one again."""
    if condition.protocol in (NULL.protocol, BY_EDITOR.protocol):
        return IMAGES[item]
    return image(100 + 2 * ITEMS.index(item) + edit, (12, 10))


def counterfactual(condition: Condition, item: str, edit: int) -> Counterfactual:
    if end := ended(item, "counterfactuals"):
        return Counterfactual(id=item, edit=edit, seed=1, **end)
    name = f"{item}-{edit}"
    rejected = Verification(verified=0, images=masks(name))
    tries = (
        EditAttempt(seed=1, image=REJECTED.ref(f"{name}-try1.png"), found=rejected),
        EditAttempt(
            seed=2, image=edited(condition, item, edit).ref(f"{name}-try2.png"), found=Verification(verified=1)
        ),
    )
    image = edited(condition, item, edit).ref(f"{name}.png")
    return Counterfactual(
        id=item, edit=edit, seed=1, image=image, attempts=tries if condition.protocol == CHAINED.protocol else ()
    )


def check(item: str, edit: int) -> Check:
    if end := ended(item, "counterfactuals"):
        return Check(id=item, edit=edit, **end)
    found = Verification(verified=1, numbers={"inside": 0.5}, images=masks(f"{item}-{edit}"))
    return Check(id=item, edit=edit, found=found, changed_share=0.25)


def masks(name: str) -> dict[str, ImageRef]:
    return {"mask": MASK.ref(f"{name}-mask.png"), "heat": HEAT.ref(f"{name}-heat.png")}


def beside_scores(condition: Condition, item: str) -> dict[str, Any]:
    """What a verdict says besides its scores; nothing without a re-query."""
    if ended(item, "requeries"):
        return {}
    said: dict[str, Any] = {} if condition.protocol in UNWRITTEN else {"names_edited": int(item != "a")}
    said |= {"sham": 0, "swapped": 1} if condition.protocol == NULL.protocol else {}
    moved = 1 if condition.protocol == PLAIN.protocol else SCORED[condition.protocol].get("answer_moved")
    return said | {"answer_moved": moved, "evaded": 0}


def score(condition: Condition, item: str, edit: int) -> Score:
    end = ended(item, "verdicts")
    product = SCORED[condition.protocol].get("ccs")
    return Score.model_validate(
        {
            **condition.model_dump(),
            "id": item,
            "edit": edit,
            "cluster": IMAGES[item].sha256[:16],
            "evidence": "" if ended(item, "instructions") else "object",
            "correct": None if item == "b" else float(item == "a"),
            "verified": None if ended(item, "counterfactuals") else 1,
            "changed_share": None if ended(item, "counterfactuals") else 0.25,
            "present": None if ended(item, "instructions") else 1,
            "breadth": None if ended(item, "instructions") else 2,
            **beside_scores(condition, item),
            **(end or SCORED[condition.protocol] | {"mismatch": None if product is None else int(product != 1)}),
        }
    )


def ended(item: str, stage: str) -> dict[str, Any]:
    """Status, stage and reason, where the item has ended by the end of a stage."""
    if item not in ENDS or ORDER.index(ENDS[item][0]) > ORDER.index(stage):
        return {}
    return {"stage": ENDS[item][0], "status": ENDS[item][1], "reason": "why, said at length"}


def reached(item: str, stage: str) -> bool:
    """Whether a stage has work to do for the item."""
    return item not in ENDS or ORDER.index(ENDS[item][0]) >= ORDER.index(stage)


def images(record: Any) -> Iterator[tuple[ImageRef, Image]]:
    """Every image of a record and what it holds."""
    known = {p.sha256: p for p in (*IMAGES.values(), REJECTED, MASK, HEAT)}
    known |= {p.sha256: p for item in ITEMS for edit in (1, 2) for p in [edited(PLAIN, item, edit)]}
    named = [record.image] if getattr(record, "image", None) else []
    for attempt in getattr(record, "attempts", ()):
        named += [attempt.image, *attempt.found.images.values()]
    if isinstance(record, Check) and record.found:
        named += record.found.images.values()
    return ((ref, known[ref.sha256]) for ref in named)
