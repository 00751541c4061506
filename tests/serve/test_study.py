"""The whole study against a real server of the OpenAI protocol: two turns, with images, before and after the edit."""

from copy import deepcopy
from pathlib import Path

from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.edct.records import Baseline, Requery, Score
from tests.serve.server import Server
from tests.workflow.study import ITEMS, PARAMS, lay_out


def test_a_study_of_a_served_model_runs_to_its_table(served: Server, tmp_path: Path) -> None:
    params = deepcopy(PARAMS)
    names = {"dataset": ["mine"], "vlm": ["served"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}
    model = {"plugin": "openai", "provider": "transformers", "model": served.model, "base_url": served.base_url}
    params["shards"] = 1
    params["calls"] = {"max_connections": 2}
    params["edct"] |= {
        "vlms": {"served": model | {"temperature": 1.0, "max_tokens": 500}},
        "tables": {"table1": [names], "table2": []},
        "known": {},
    }
    study = lay_out(tmp_path / "study", params)
    study.run("snakemake")
    results = study.root / "results/edct"
    before = list(read_jsonl(results / "baselines/mine/served.jsonl", Baseline))
    after = list(read_jsonl(results / "requeries/mine/served/w/ea/edct-2025.jsonl", Requery))
    scored = read_csv(results / "scores/mine/served/w/ea/j/edct-2025.csv", Score)
    assert len(before) == len(after) == len(scored) == ITEMS
    assert {record.status for record in (*before, *after, *scored)} == {"ok"}
    assert len({call for record in (*before, *after) for call in record.calls}) == 4 * ITEMS
    assert "served" in study.table("edct_table1.csv")
    study.run("cfeval", "cache", "verify")
    study.run("snakemake", "--forceall", "--config", "calls={offline: true}")
    assert list(read_jsonl(results / "baselines/mine/served.jsonl", Baseline)) == before
