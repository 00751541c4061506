"""`.eval_results` of the Hub: read again by its own library."""

from pathlib import Path

import pytest
import yaml

from cfeval.core.errors import InputError
from cfeval_audit.interchange.every_eval_ever import write_hub
from cfeval_audit.interchange.study import Finished, targets
from tests.audit.interchange.study import OF_PAIRS, PARAMS
from tests.edct.verification.study import CHAINED, PLAIN


def test_the_hubs_own_library_reads_every_entry(done: Finished, tmp_path: Path) -> None:
    from huggingface_hub import parse_eval_result_entries

    files = write_hub(done, targets(done, {}), {"d": "owner/set"}, "2026-11-23", "https://example.org/b.zip", tmp_path)
    assert {file.parent for file in files} == {Path("lab/model-7b/.eval_results")}
    entries = {file.stem: parse_eval_result_entries(yaml.safe_load((tmp_path / file).read_text())) for file in files}
    for told in entries.values():
        assert {one.dataset_id for one in told} == {"owner/set"}
        assert len({one.task_id for one in told}) == len(told), "a task has one number in a file"
        assert {one.source_url for one in told} == {"https://example.org/b.zip"}
    ccs = {one.task_id: one for one in entries["cfeval_d_w_edct-2025_e_j"]}["edct-2025_ccs"]
    assert (ccs.value, ccs.date) == (1.0, "2026-11-23")
    assert (
        ccs.notes
        == "CCS [0.21, 1.00] clustered Wilson 95 %; 2 of 7 items; writer w, editor e, judge j; higher is better"
    )


def test_a_dataset_without_a_repository_is_asked_for(done: Finished, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--dataset d=OWNER/NAME"):
        write_hub(done, targets(done, {}), {}, "2026-11-23", "", tmp_path)
    assert not list(tmp_path.iterdir())


def test_test_models_have_no_repository(done: Finished, tmp_path: Path) -> None:
    tests = {name: one._replace(test=True) for name, one in targets(done, {}).items()}
    with pytest.raises(InputError, match="built-in test model"):
        write_hub(done, tests, {"d": "owner/set"}, "2026-11-23", "", tmp_path)


def test_models_that_only_calibrate_are_no_target_models(done: Finished) -> None:
    assert [*targets(done, {})] == ["m"]
    assert done.conditions == [PLAIN, CHAINED, OF_PAIRS]
    with pytest.raises(InputError, match="no target model 'known'"):
        targets(done, {"known": "a/b"})


@pytest.mark.parametrize(
    ("spec", "given", "wanted"),
    [
        ({"plugin": "openai", "provider": "openai", "model": "gpt-9"}, "", ("openai/gpt-9", "externally_managed")),
        ({"plugin": "anthropic", "model": "claude-9"}, "", ("anthropic/claude-9", "externally_managed")),
        ({"plugin": "world", "persona": "grounded"}, "", ("cfeval/m", "self_deployed")),
        ({"plugin": "transformers", "model": "lab/m-7b"}, "", ("lab/m-7b", "self_deployed")),
        ({"plugin": "transformers", "model": "./weights"}, "me/tuned", ("me/tuned", "self_deployed")),
        ({"plugin": "transformers", "model": "./weights"}, "", None),
        ({"plugin": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "local"}, "", None),
    ],
)
def test_a_model_is_named_by_who_made_it_or_asked_for(
    done: Finished, spec: dict[str, str], given: str, wanted: tuple[str, str] | None
) -> None:
    edct = done.edct.model_validate({**PARAMS["edct"], "vlms": {**PARAMS["edct"]["vlms"], "m": spec}})
    study = Finished(done.params, edct, done.results, done.tables)
    if wanted is None:
        with pytest.raises(InputError, match="--model m=DEVELOPER/MODEL"):
            targets(study, {})
    else:
        target = targets(study, {"m": given} if given else {})["m"]
        assert (target.id, target.deployment) == wanted
