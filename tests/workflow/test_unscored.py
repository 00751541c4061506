"""A run in which nothing was scored has no result: it ends by saying so, with status 2, and is not verified."""

from copy import deepcopy
from pathlib import Path

from tests.workflow.study import CONDITION, ITEMS, PARAMS, lay_out


def test_a_run_without_a_score_says_so_last_and_is_not_verified(tmp_path: Path) -> None:
    params = deepcopy(PARAMS) | {"shards": 1}
    params["edct"] |= {
        "editors": {"ea": {"plugin": "mock", "statuses": {f"i{n}": "edit_invalid" for n in range(ITEMS)}}},
        "tables": {"table1": [CONDITION], "table2": [], "calibration": []},
        "known": {},
    }
    study = lay_out(tmp_path / "home" / "study", params)
    (study.root / "twice.yaml").write_text("edct: {items: 3}\nedct: {seed: 1}\n")
    said = study.refused("snakemake", "--configfile", "twice.yaml")
    assert "twice.yaml, line 2: the key 'edct' stands twice, in line 1 too" in said

    ended = study.try_("snakemake", "--", "edct_counterfactuals_all")
    assert ended.returncode == 0, "nothing was to be scored yet"
    ended = study.try_("snakemake")
    told = f"edct: nothing was scored, so there is no result; of {ITEMS} items and edits none has a score: "
    line = ended.stderr.splitlines()[-1]
    assert (ended.returncode, line.startswith(f"cfeval: {told}{ITEMS} × edit_invalid at counterfactuals")) == (2, True)
    verified = study.try_("cfeval", "verify", "--evaluation", "edct")
    assert (verified.returncode, told in verified.stderr) == (2, True)
