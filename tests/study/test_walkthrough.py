"""`cfeval try`: one item, start to end, with images."""

from pathlib import Path

import pytest
import yaml

from cfeval.core.images import import_image
from tests.conftest import Run
from tests.loopback.server import loopback
from tests.provider_study import CANARY, KEY_ENV, written
from tests.provider_study import params as study_params
from tests.test_config import GOOD, changed


@pytest.fixture
def params(tmp_path: Path) -> Path:
    """A study of scripted plugins."""
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(GOOD))
    return tmp_path / "params.yaml"


def test_every_step_is_shown_and_the_images_are_kept(cfeval: Run, params: Path, photo: Path, tmp_path: Path) -> None:
    arguments = ("--vlm", "m", "-C", params.parent, "--out", tmp_path / "out")
    status, out, err = cfeval("try", photo, "What is it?", *arguments)
    assert status == 0, err
    steps = ["question", "answer", "explanation", "cited concept", "edit", "new answer", "new explanation", "verdict"]
    assert [step for step in steps if f"\n{step} " in f"\n{out}"] == steps
    assert "CCS" in out
    names = ("original", "counterfactual", "both")
    sizes = {name: import_image(tmp_path / "out" / f"{name}.png").pixels.shape for name in names}
    assert sizes["original"] == sizes["counterfactual"]
    assert sizes["both"][1] > 2 * sizes["original"][1]


def test_a_failure_is_shown_as_what_it_is(cfeval: Run, photo: Path, tmp_path: Path) -> None:
    refusing = changed("edct.vlms.m", {"plugin": "mock", "statuses": {"try": "refused"}})
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(refusing))
    status, out, _ = cfeval("try", photo, "What?", "--vlm", "m", "-C", tmp_path, "--out", tmp_path)
    assert status == 0
    assert "not scored: refused at baselines (mock)" in out
    assert not (tmp_path / "counterfactual.png").exists()


@pytest.mark.parametrize(("section", "option"), [("instruction_writers.w", "--writer"), ("judges.j", "--judge")])
def test_a_writer_or_judge_that_gives_nothing_to_use_is_one_line_and_status_2(
    cfeval: Run, photo: Path, tmp_path: Path, section: str, option: str
) -> None:
    silent = changed(f"edct.{section}", {"plugin": "mock", "statuses": {"try": "unparsable"}})
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(silent))
    arguments = ("--vlm", "m", "-C", tmp_path, "--out", tmp_path / "out")
    status, out, err = cfeval("try", photo, "What?", *arguments)
    assert status == 2
    assert "not scored: unparsable" in out
    assert "gave no usable reply (unparsable" in err
    assert option in err
    assert err.strip().count("cfeval: ") <= 1


def test_an_editor_behind_a_gate_can_be_tried_by_its_name(cfeval: Run, photo: Path, tmp_path: Path) -> None:
    verifier = {"plugin": "localised", "mask": {"plugin": "difference", "most": 1}}
    gate = {"plugin": "gated", "editor": {"plugin": "mock"}, "verifier": verifier, "unsure": "accept"}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(changed("edct.editors.gate", gate)))
    arguments = ("--vlm", "m", "--editor", "gate", "-C", tmp_path, "--out", tmp_path / "out")
    status, out, err = cfeval("try", photo, "What is it?", *arguments)
    assert status == 0, err
    assert "verdict" in out


def test_a_gate_around_an_editor_of_drawn_scenes_is_refused_at_once(cfeval: Run, photo: Path, tmp_path: Path) -> None:
    gate = {"plugin": "gated", "editor": {"plugin": "scene"}, "verifier": {"plugin": "reader"}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(changed("edct.editors.gate", gate)))
    arguments = ("--vlm", "m", "--editor", "gate", "-C", tmp_path, "--out", tmp_path / "out")
    status, _, err = cfeval("try", photo, "What is it?", *arguments)
    assert (status, "needs a scene record" in err) == (2, True)


def test_what_a_model_says_is_not_read_as_markup(cfeval: Run, photo: Path, tmp_path: Path) -> None:
    hostile = changed("edct.vlms.m", {"plugin": "mock", "replies": ["[red]x[/red] \u001b[2J"]})
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(hostile))
    _, out, _ = cfeval("try", photo, "What?", "--vlm", "m", "-C", tmp_path, "--out", tmp_path)
    assert "[red]x[/red]" in out
    assert "\u001b" not in out


def test_a_plugin_with_a_wrong_option_is_named_and_one_that_is_not_used_does_not_matter(
    cfeval: Run, params: Path, photo: Path, tmp_path: Path
) -> None:
    wrong = changed("edct.judges.k", {"plugin": "mock", "treshold": 1})
    params.write_text(yaml.safe_dump(wrong))
    arguments = ("--vlm", "m", "-C", params.parent, "--out", tmp_path / "out")
    status, _, err = cfeval("try", photo, "What is it?", *arguments, "--judge", "k")
    assert status == 2
    assert "params.yaml: edct.judges.k: unknown option 'treshold' of 'mock'" in err
    assert cfeval("try", photo, "What is it?", *arguments)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("none.png", "What?", "--vlm", "m"), "no such image file"),
        (("PHOTO", " ", "--vlm", "m"), "the question is empty"),
        (("PHOTO", "What?", "--vlm", "mm"), "edct.vlms has no 'mm'; did you mean 'm'?"),
        (("PHOTO", "What?", "--vlm", "m", "--judge", "x"), "edct.judges has no 'x'; allowed: j"),
    ],
)
def test_a_wrong_argument_is_one_line(
    cfeval: Run, params: Path, photo: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    words = [str(photo) if word == "PHOTO" else word for word in arguments]
    status, _, err = cfeval("try", *words, "-C", params.parent, "--out", photo.parent / "out")
    assert status == 2
    assert complaint in err
    assert not (photo.parent / "out").exists()


BROKEN = {"plugin": "mock", "no_such_option": 1}
"""A plugin that may not be used."""


@pytest.mark.parametrize(
    ("tables", "given", "used"),
    [
        ({"editor": ["g"]}, [], "own writer, own judge"),
        ({"editor": ["scene", "g"]}, [], "own writer, own judge"),
        ({"editor": ["scene"]}, ["--editor", "g"], "own writer, own judge"),
        ({"judge": ["j", "k"]}, ["--judge", "k"], "own writer, own judge"),
        (
            {"vlm": ["m"]},
            [],
            "has the model 'mine', so its helpers are unknown; name them by --writer, --editor, --judge, or",
        ),
        ({"vlm": ["m"]}, ["--writer", "v", "--editor", "g"], "name them by --judge, or add the model to a table"),
        ({"vlm": ["m"]}, ["--writer", "v", "--editor", "g", "--judge", "k"], "own writer, own judge"),
    ],
)
def test_an_own_model_gets_the_plugins_of_the_table_that_it_is_in(
    cfeval: Run, photo: Path, tmp_path: Path, tables: dict[str, list[str]], given: list[str], used: str
) -> None:
    """The first writer and judge of all cannot be used; where they are, the line names them."""
    mock = {"plugin": "mock"}
    study = changed("edct.instruction_writers", {"w": BROKEN, "v": mock})
    study["edct"] |= {"judges": {"j": BROKEN, "k": mock}, "vlms": {"m": mock, "n": mock, "mine": mock}}
    study["edct"]["editors"] = {"e": mock, "g": mock, "scene": {"plugin": "scene"}}
    block = {"dataset": ["d"], "vlm": ["mine"], "writer": ["v"], "editor": ["g"], "judge": ["k"], **tables}
    study["edct"]["tables"]["table2"] = [block]
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    options = ("--vlm", "mine", *given, "-C", tmp_path, "--out", tmp_path / "out")
    status, _, err = cfeval("try", photo, "What is it?", *options)
    assert (status, used in err) == ((0, False) if used == "own writer, own judge" else (2, True)), err


def test_a_model_that_is_asked_by_batches_is_asked_at_once(
    cfeval: Run, photo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, CANARY)
    with loopback() as server:
        study = study_params(tmp_path, server.openai, {"model": "vlm", "provider": "openai", "batch": True})
        arguments = ("--vlm", "m", "-C", written(tmp_path, study).parent, "--out", tmp_path / "out")
        status, out, err = cfeval("try", photo, "What is it?", *arguments)
        assert status == 0, err
        assert (server.desk.submissions, len(server.log)) == (0, 4), out
