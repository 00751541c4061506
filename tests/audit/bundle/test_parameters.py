"""The parameters in a bundle are those that its steps were told: any other are refused, and so is a step left out."""

import json
from pathlib import Path

import pytest

from cfeval.core.hashes import digest
from tests.audit.bundle.study import EDCT, forged
from tests.audit.bundle.test_bundle import Files, edited, refused
from tests.conftest import Run


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"seed: 1", b"seed: 2", "told otherwise than params.yaml asks: seed 1 → 2"),
        (b"items: 7", b"items: 70", "told otherwise than params.yaml asks: items 7 → 70"),
        (b"resamples: 100", b"resamples: 101", "params.yaml asks: study.interval.resamples 100 → 101"),
        (b"plugin: lexical", b"plugin: grammar", "/verdicts/d/m/w/e/j.made.json: told otherwise"),
        (b"model: m,", b"model: n,", "/baselines/d/m.jsonl.made.json: told otherwise"),
        (b"dataset: [d]", b"dataset: [x]", "params.yaml: "),
        (b"edct:", b"edkt:", "params.yaml: "),
    ],
)
def test_other_parameters_than_those_of_the_jobs_are_refused(
    bundle: Path, tmp_path: Path, cfeval: Run, old: bytes, new: bytes, said: str
) -> None:
    told = refused(forged(bundle, tmp_path / "forged.zip", edited("params.yaml", old, new)), cfeval)
    assert said in told
    assert "params.yaml" in told


def test_a_step_that_was_asked_for_cannot_be_left_out(bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    def change(files: Files) -> None:
        for name in [name for name in files if "/report/" in name]:
            del files[name]

    told = refused(forged(bundle, tmp_path / "forged.zip", change), cfeval)
    assert "params.yaml: asks for results/edct/report/index.html, which the bundle does not have" in told


def test_a_step_that_nobody_asked_for_is_refused(bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    def change(files: Files) -> None:
        edited("params.yaml", b"d: {plugin: world}", b"x: {plugin: world}")(files)
        edited("params.yaml", b"dataset: [d]", b"dataset: [x]")(files)

    told = refused(forged(bundle, tmp_path / "forged.zip", change), cfeval)
    assert "params.yaml asks for no such step" in told


def test_a_redacted_bundle_is_compared_alike(redacted: Path, tmp_path: Path, cfeval: Run) -> None:
    assert "params.yaml asks for the 12 steps" in cfeval("verify", redacted)[1]
    assert refused(forged(redacted, tmp_path / "forged.zip", edited("params.yaml", b"seed: 1", b"seed: 2")), cfeval)


def test_a_plugin_that_is_not_installed_is_told(bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    change = edited("params.yaml", b"plugin: lexical", b"plugin: of_ours")
    status, out, _ = cfeval("verify", forged(bundle, tmp_path / "forged.zip", change))
    assert status == 0
    assert f"could not be compared: params.yaml with the steps of {EDCT} (" in out
    assert "of_ours" in out


def test_no_file_of_a_bundle_rules_how_snakemake_runs(bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    record = f"{EDCT}/scores/d/m.made.json"
    settings = {"profiles/default/config.yaml": b"printshellcmds: [", ".env": b"SNAKEMAKE_PROFILE=none"}

    def change(files: Files) -> None:
        made = json.loads(files[record])
        made["steps"][0]["inputs"] |= {name: digest(content) for name, content in settings.items()}
        files |= {record: json.dumps(made).encode(), **settings}

    assert cfeval("verify", forged(bundle, tmp_path / "forged.zip", change))[0] == 0


def test_a_bundle_without_parameters_is_refused(bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    gone = forged(bundle, tmp_path / "forged.zip", lambda files: files.pop("params.yaml") and None)
    assert "params.yaml: not in the bundle" in refused(gone, cfeval)
