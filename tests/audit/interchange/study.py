"""A small study as a run leaves it, with its tables: seven items under both papers' protocols, with all controls."""

from pathlib import Path
from typing import Any

from cfeval.config import parse
from cfeval.core.jsonl import read_jsonl, write_csv, write_jsonl
from cfeval.datasets.pair import RawPair, file_pairs
from cfeval.datasets.sample import Sample
from cfeval.edct.asked import AskedTable
from cfeval.edct.pairs.records import PairCondition, PairVerdict
from cfeval.edct.pairs.table import PairData, PairRow
from cfeval.edct.pairs.table import rows as pair_rows
from cfeval.edct.records import Baseline
from cfeval_audit.interchange.study import Finished, finished
from tests.edct.tables.study import write_tables
from tests.edct.verification.study import BLANK, BY_EDITOR, CHAINED, NULL, PLAIN, UNCITED, Study
from tests.images import image

BLOCK = {"dataset": ["d"], "vlm": ["m"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}
CONDITIONS = (PLAIN, CHAINED, NULL, BY_EDITOR, UNCITED, BLANK)
MODEL = {"plugin": "openai", "provider": "openrouter", "model": "lab/model-7b"}
PARAMS: dict[str, Any] = {
    "edct": {
        "items": 7,
        "datasets": {"d": {"plugin": "world"}},
        "vlms": {"m": MODEL, "known": {"plugin": "world", "persona": "grounded"}},
        "instruction_writers": {"w": {"plugin": "grammar"}},
        "editors": {"e": {"plugin": "scene"}},
        "judges": {"j": {"plugin": "chat", "model": MODEL}},
        "pair_sets": {"d": {"plugin": "world"}},
        "pair_judges": {"j": {"plugin": "lexical"}},
        "pairs": [{"pair_set": ["d"], "vlm": ["m"], "pair_judge": ["j"]}],
        "tables": {
            "table1": [BLOCK],
            "bench": [{**BLOCK, "protocol": ["edct-bench-2026"]}],
            "controls": [BLOCK],
            "calibration": [{**BLOCK, "vlm": ["known"]}],
        },
    }
}
SHOWN = {"table1": [PLAIN], "bench": [CHAINED], "controls": [PLAIN, NULL, BY_EDITOR, UNCITED, BLANK]}
SHOWN |= {"faithfulness": SHOWN["controls"], "card": SHOWN["controls"]}
PAIRS = [RawPair(f"p{n}", (image(n), image(n + 100)), "What is it?", "a cup", "", ("cup", "none")) for n in (1, 2)]
OF_PAIRS = PairCondition(pair_set="d", vlm="m", pair_judge="j")


def make(place: Path, content: dict[str, Any] = PARAMS) -> Finished:
    """Write the study into a folder; what its exports see of it."""
    results = place / "edct"
    Study(results, CONDITIONS, calls=False)
    asked = {table: AskedTable(conditions=tuple(conditions)) for table, conditions in SHOWN.items()}
    write_tables(results / "tables", results, asked)
    file_pairs(results / "pair_items" / "d.jsonl", PAIRS, seed=2, every=1)
    asked = {one.id: one for one in read_jsonl(results / "pair_items" / "d.jsonl", Sample)}
    said = [
        Baseline(id=item, question=one.question, answer=one.reference, explanation=f"I see {one.reference}.", model="m")
        for item, one in asked.items()
    ]
    write_jsonl(results / "pair_baselines" / "d" / "m.jsonl", said)
    bits = {"moved": 1, "named_before": 1, "named_after": 0, "noise": 0}
    verdicts = [PairVerdict(id=one.id, cluster=one.id, **bits) for one in PAIRS]
    write_jsonl(results / "pair_verdicts" / "d" / "m" / "j.jsonl", verdicts)
    told = pair_rows([OF_PAIRS], PairData({OF_PAIRS: verdicts}))
    write_csv(results / "tables" / "edct_pairs.csv", PairRow, told)
    return finished(parse(content), str(place))
