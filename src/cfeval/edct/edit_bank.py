"""The verb that makes an edit bank: of every verified edit of a finished study a given pair.

An edit is verified where the gate accepted it or the check found it right, and neither found it wrong. Edits that start
from a counterfactual image, such as the later ones of a chain, are left out, since a pair has the original first.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.errors import InputError, OutputError
from cfeval.core.files import ensure_writable, fresh_folder
from cfeval.core.images import Image, load
from cfeval.core.jsonl import write_csv
from cfeval.core.records import Record, failed
from cfeval.datasets.pairs.rows import pair_ids
from cfeval.edct.files import ConditionFiles, condition_path, conditions_in
from cfeval.edct.options import Results
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Check, Condition, Counterfactual, Instruction

# Dataset, item and concept, the last in lower case and on one line.
ConceptKey = tuple[str, str, str]


@dataclass
class Bank:
    """The pairs by concept, how to open their images by path, and what each target cited by item."""

    pairs: dict[ConceptKey, dict[str, str]] = field(default_factory=dict)
    images: dict[str, Callable[[], Image]] = field(default_factory=dict)
    cited: dict[str, dict[tuple[str, str], set[ConceptKey]]] = field(default_factory=lambda: defaultdict(dict))

    def held(self, vlm: str) -> int:
        """For how many items the bank has an edit of a concept that a target cited."""
        return sum(not concepts.isdisjoint(self.pairs) for concepts in self.cited[vlm].values())


class Coverage(Record):
    """For how many of a target's items the bank has a concept that this target cited."""

    vlm: str
    items: int
    """Items of which the target's cited concept is known."""
    held: int
    """Those of them for which the bank has an edit of a concept that it cited."""


def run(
    out: Annotated[Path, typer.Option(help="Folder to make; it appears whole or not at all.")],
    results: Results = Path("results/edct"),
) -> None:
    """Make an edit bank: the verified edits of a finished study as given pairs, for any target models.

    OUT gets pairs.jsonl, images/ and coverage.csv; name it in params.yaml: `edct.pair_sets: {bank: {plugin: files,
    path: OUT/pairs.jsonl}}`. Edits of the same concept of the same item are taken once. coverage.csv, which is also
    printed, has for every target of the study for how many items the bank holds a concept that this target cited. For
    any other target, the table of given pairs counts the images of which its explanation names a change.
    """
    # The folder would be replaced, and it may be anyone's.
    ensure_writable(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputError(f"{out}: there is something already; remove it or choose another folder")
    bank = Bank()
    judged = conditions_in(results).items()
    for condition, shards in {condition_path(row, 5): (row, shards) for row, shards in judged}.values():
        if RULES[condition.protocol].written:
            _collect(bank, condition, ConditionFiles(results, condition, shards))
    if not bank.pairs:
        raise InputError(f"{results}: no verified edit; put the editor behind a gate or name a verifier, and run again")
    covered = [Coverage(vlm=vlm, items=len(items), held=bank.held(vlm)) for vlm, items in sorted(bank.cited.items())]
    with fresh_folder(out) as folder:
        (folder / "images").mkdir()
        for path, opened in bank.images.items():
            (folder / path).write_bytes(opened().png)
        lines = [json.dumps(pair, ensure_ascii=False, sort_keys=True) for pair in bank.pairs.values()]
        (folder / "pairs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        write_csv(folder / "coverage.csv", Coverage, covered)
    print(f"{out}/pairs.jsonl: {len(bank.pairs)} verified edits of {len({key[:2] for key in bank.pairs})} items")
    for row in covered:
        print(f"{row.vlm}: the bank has a concept that it cited for {row.held} of {row.items} items")


def _collect(bank: Bank, condition: Condition, files: ConditionFiles) -> None:
    instructions = files.instructions()
    if RULES[condition.protocol].edits == "cited":
        for (item, _), instruction in instructions.items():
            if not failed(instruction):
                concepts = bank.cited[condition.vlm].setdefault((condition.dataset, item), set())
                concepts.add(_key(condition, instruction))
    samples = {sample.id: (sample, folder) for sample, folder in files.samples()}
    checks = files.checks()
    for made, changed in files.counterfactuals():
        edit = made.id, made.edit
        if failed(made) or (RULES[condition.protocol].chained and made.edit > 1):
            continue
        instruction, verified_by = instructions[edit], _approved_by(condition.editor, made, checks.get(edit))
        key = _key(condition, instruction)
        if not verified_by or key in bank.pairs:
            continue
        sample, whole = samples[instruction.id]
        assert made.image is not None, "what is verified has an image"
        before, after = (f"images/{ref.sha256}.png" for ref in (sample.image, made.image))
        bank.images[before] = partial(load, whole, sample.image)
        bank.images[after] = partial(load, changed, made.image)
        # The item's name, and a hash that tells its edits and those of equal items of other datasets apart.
        name = f"{key[1][:70]}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]}"
        bank.pairs[key] = {
            "id": pair_ids([name])[name],
            "before": before,
            "after": after,
            "question": sample.question,
            "changed": instruction.concept,
            "became": f"as after this edit: {instruction.positive}",
            "reference_before": sample.reference,
            "kind": "background" if instruction.evidence == "background" else "",
            "verified": verified_by,
        }


def _approved_by(editor: str, made: Counterfactual, check: Check | None) -> str:
    """Who approved an edit; empty where nobody did, or where somebody found it wrong."""
    gate = made.attempts[-1].found.verified if made.attempts else None
    checked = check.found.verified if check and check.found else None
    if 0 in (gate, checked):
        return ""
    named = {f"the gate of editor {editor}": gate, "the study's verifier": checked}
    return " and ".join(who for who, verdict in named.items() if verdict == 1)


def _key(condition: Condition, instruction: Instruction) -> ConceptKey:
    return condition.dataset, instruction.id, " ".join(instruction.concept.lower().split())
