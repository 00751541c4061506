"""DriveLM: which questions an item with the front camera's image alone can be made of, and how they read."""

import json
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.datasets.drivelm import PREAMBLE
from cfeval.datasets.sample import RawSample
from tests.data_files import BEHIND, CAR, VAN, write, write_drivelm


def taken(options: dict[str, Any]) -> dict[str, RawSample]:
    dataset = registry.build("datasets", {"plugin": "drivelm", **options})
    return {sample.id: sample for sample in dataset.samples(100, 5)}


def asked(folder: Path, question: str, answer: str = "Yes.", category: str = "prediction") -> RawSample | None:
    """The sample that a further question of the second key frame becomes."""
    options = write_drivelm(folder, **{category: [(question, answer)]})
    return taken(options | {"preamble": "", "categories": [category]}).get(f"f1-{category}-0")


def test_an_item_is_a_question_about_the_front_image_of_its_frame_with_its_category(tmp_path: Path) -> None:
    samples = taken(write_drivelm(tmp_path))
    assert sorted(samples) == sorted(
        f"f{n}-{name}" for n in (0, 1) for name in ("perception-0", "perception-1", "planning-0")
    )
    second = samples["f1-planning-0"]
    assert (second.question, second.reference) == (f"{PREAMBLE} What should the ego car do?", "Wait.")
    assert (second.kind, second.scorer) == ("planning", "contains")
    assert abs(int(second.image.pixels[0, 0, 0]) - 1) <= 1
    assert second.image.pixels.shape == (9, 16, 3)


@pytest.mark.parametrize("inside", ["", "samples"])
def test_the_images_may_lie_in_the_folder_of_samples(tmp_path: Path, inside: str) -> None:
    assert len(taken(write_drivelm(tmp_path, inside=inside))) == 6


def test_the_preamble_is_an_option(tmp_path: Path) -> None:
    options = write_drivelm(tmp_path)
    assert taken(options | {"preamble": ""})["f0-perception-0"].question == "Is the road wet?"
    assert taken(options | {"preamble": "You drive."})["f0-perception-0"].question == "You drive. Is the road wet?"


def test_only_the_categories_that_are_wanted_are_taken(tmp_path: Path) -> None:
    assert {s.kind for s in taken(write_drivelm(tmp_path) | {"categories": ["planning"]}).values()} == {"planning"}


def test_references_to_objects_are_put_into_words_in_question_and_answer(tmp_path: Path) -> None:
    sample = asked(tmp_path, f"Will {CAR} pass {VAN}?", f"No, {VAN} goes first.")
    assert sample is not None
    red, white = "the red car on the left of the image", "the white SUV in the middle of the image"
    assert (sample.question, sample.reference) == (f"Will {red} pass {white}?", f"No, {white} goes first.")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (f"Where does {BEHIND} go?", "Left."),
        ("What matters here?", f"{CAR} and {BEHIND}."),
        ("Is <c9,CAM_FRONT,1.0,2.0> parked?", "Yes."),
        ("What are objects to the back of the ego car?", "A bus."),
        ("What are objects to the front left of the ego car?", "A bus."),
        ("What is behind us?", "A bus."),
        ("What is in CAM_FRONT_LEFT?", "A bus."),
        ("Find all signs and predict the bounding box around each.", "[]"),
    ],
)
def test_a_question_that_this_image_cannot_answer_is_left_out(tmp_path: Path, question: str, answer: str) -> None:
    assert asked(tmp_path, question, answer) is None


def test_a_left_turn_is_not_a_view_to_the_left(tmp_path: Path) -> None:
    assert asked(tmp_path, "Should the ego car turn left or go back to its lane?") is None
    assert asked(tmp_path / "again", "Should the ego car turn left?") is not None


@pytest.mark.parametrize(
    ("infos", "words"),
    [
        ({CAR: None}, None),
        ({CAR: " "}, None),
        ({CAR: "Bus.", "<c7,CAM_FRONT,90.0,1.0>": "Bus"}, None),
        ({CAR: "Bus.", "<c7,CAM_FRONT,1590.0,1.0>": "Bus"}, "the bus on the left of the image"),
        ({CAR: "USPS van"}, "the USPS van on the left of the image"),
        ({CAR: "Bus.", "<c7,CAM_FRONT,1.2.3,4>": "Van.", "c8": "Tram."}, "the bus on the left of the image"),
    ],
)
def test_an_object_has_words_only_where_they_tell_it_from_the_others(
    tmp_path: Path, infos: dict[str, str | None], words: str | None
) -> None:
    options = write_drivelm(tmp_path) | {"preamble": ""}
    content = json.loads(Path(options["questions"]).read_text())
    for frame in content["scene"]["key_frames"].values():
        frame["key_object_infos"] = {tag: {"Visual_description": said} for tag, said in infos.items()}
    write(Path(options["questions"]), content)
    found = taken(options).get("f0-perception-1")
    assert (found and found.question) == (words and f"What color is {words}?")


def test_questions_without_answers_are_taken_and_no_right_answer_is_known(tmp_path: Path) -> None:
    options = write_drivelm(tmp_path)
    content = json.loads(Path(options["questions"]).read_text())
    for frame in content["scene"]["key_frames"].values():
        del frame["key_object_infos"]
        frame["QA"] = {"planning": [{"Q": "What now?"}, {"Q": "And then?", "A": None}]}
    write(Path(options["questions"]), content)
    assert {s.reference for s in taken(options).values()} == {""}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "drivelm.json: no such file"),
        ("{", r"drivelm.json: not in DriveLM's layout \(Invalid JSON"),
        ("[]", "not in DriveLM's layout .* give a file such as v1_1_train_nus.json"),
        ({"s": {}}, r"not in DriveLM's layout \(s.key_frames: Field required"),
        ({"s": {"key_frames": {"f": {"QA": {}, "image_paths": {}}}}}, "image_paths.CAM_FRONT: Field required"),
    ],
)
def test_a_file_of_another_layout_is_one_line(tmp_path: Path, content: Any, complaint: str) -> None:
    options = write_drivelm(tmp_path)
    path = Path(options["questions"])
    path.unlink()
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError, match=complaint) as error:
        taken(options)
    assert "\n" not in str(error.value)


def test_a_missing_image_is_told_before_any_is_read_with_the_option_to_set(tmp_path: Path) -> None:
    options = write_drivelm(tmp_path)
    (tmp_path / "nuscenes" / "CAM_FRONT" / "front-1.jpg").unlink()
    with pytest.raises(InputError, match=r"front-1.jpg: no such image in .*CAM_FRONT; set the option 'images'"):
        next(registry.build("datasets", {"plugin": "drivelm", **options}).samples(6, 1))


def test_an_image_s_path_in_the_file_leads_nowhere_else(tmp_path: Path) -> None:
    options = write_drivelm(tmp_path)
    PIL.Image.new("RGB", (4, 4)).save(tmp_path / "secret.jpg")
    text = Path(options["questions"]).read_text()
    Path(options["questions"]).write_text(text.replace("../nuscenes/samples/CAM_FRONT/front-0.jpg", "../../secret.jpg"))
    with pytest.raises(InputError, match=r"^secret.jpg: no such image in"):
        taken(options)


@pytest.mark.parametrize("there", [True, False])
def test_the_doctor_sees_whether_the_folder_of_images_is_there(tmp_path: Path, there: bool) -> None:
    options = write_drivelm(tmp_path) | ({} if there else {"images": str(tmp_path / "none")})
    [finding] = registry.diagnose("datasets", {"plugin": "drivelm", **options})
    assert finding.fine == there
