"""A folder of puzzles in the published layout, its questions, and the flowers that a user names."""

import re
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from PIL import ImageDraw

from cfeval.core.errors import InputError
from cfeval.cvqa.csv_format import read_questions
from cfeval.cvqa.records import read_choices
from cfeval.cvqa.synthetic.drawing import DESIGNS, DrawnIcons, FolderIcons
from cfeval.cvqa.synthetic.puzzles import counterfactual_of, make_puzzle, original_of
from cfeval.cvqa.synthetic.records import PUZZLE_TYPES, FlowerScene, Puzzle, PuzzleTruth
from cfeval.cvqa.synthetic.release import QUESTIONS, release

OPTIONS = " Select the correct answer:A:7  B:11  C:3  D:9"
ASKED = {
    "abs_counting_1": (
        "How many flowers are outside the purple polygons?",
        "How many flowers would be outside the purple polygons if all polygons were purple?",
    ),
    "abs_counting_2": (
        "How many flowers are inside the purple polygons?",
        "How many flowers would be inside purple polygons if we removed 4 flowers in purple polygons?",
    ),
    "abs_counting_3": (
        "How many flowers are inside the purple polygons?",
        "How many flowers would be inside purple polygons if all flowers in red polygons were removed?",
    ),
    "abs_counting_4": (
        "How many dots are there in all the circles together?",
        "How many dots would there be in all the circles together if 4 dots were removed from the circles?",
    ),
    "abs_counting_5": (
        "How many dots are there in the top three circles together?",
        "How many dots would there be in the top three circles together "
        "if the two rightmost circles and dots in them were removed from the circles?",
    ),
    "abs_counting_6": (
        "How many dots do a circle contain at most?",
        "How many dots would a circle contain at most if one of the circles with most dots were removed?",
    ),
}
"""The published wording of both questions."""


@pytest.mark.parametrize("kind", PUZZLE_TYPES)
def test_questions_are_worded_as_published(kind: str) -> None:
    changes = {
        "type": kind,
        "colors": ("purple", "red") if kind == "abs_counting_3" else ("purple",),
        "removed": 4,
        "original": 11,
        "counterfactual": 7,
        "original_options": (7, 11, 3, 9),
        "counterfactual_options": (7, 11, 3, 9),
    }
    puzzle = Puzzle.model_validate({**make_puzzle(1, 1, "abs_counting_1").model_dump(), **changes})
    original, counterfactual = original_of(puzzle), counterfactual_of(puzzle)
    assert (original.question, counterfactual.question) == tuple(stem + OPTIONS for stem in ASKED[kind])
    assert (original.answer, counterfactual.answer) == ("B", "A")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_release_has_the_published_layout_and_is_the_same_for_any_number_of_processes(tmp_path: Path) -> None:
    path = release(tmp_path / "one", 8, seed=9)
    assert path == tmp_path / "one" / QUESTIONS
    release(tmp_path / "two", 8, seed=9, jobs=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == 2 * 8 + 1
    lines = path.read_bytes().split(b"\n")
    assert lines[0] == b"img_path,query,answer,new query,new answer,type"
    assert re.fullmatch(rb"abs_counting_000001\.png,[^,\"]+,[A-D],[^,\"]+,[A-D],abs_counting_1", lines[1])
    read = read_questions(path)
    assert not read.faults
    assert [row.img_path for row in list(read)] == [f"abs_counting_{number:06d}.png" for number in range(1, 9)]
    assert [row.type for row in list(read)] == [
        kind for n, kind in zip((2, 2, 1, 1, 1, 1), PUZZLE_TYPES, strict=True) for _ in range(n)
    ]


def test_the_truth_beside_each_image_is_that_of_its_row(tmp_path: Path) -> None:
    for row in read_questions(release(tmp_path / "set", 12, seed=3, size=224)):
        path = tmp_path / "set" / row.img_path
        truth = PuzzleTruth.model_validate_json(path.with_suffix(".json").read_text())
        choices = read_choices(row.original.question)
        assert choices
        assert choices.values["ABCD".index(row.original.answer)] == str(truth.puzzle.original)
        assert truth.counts == truth.puzzle.scene.counts()
        with PIL.Image.open(path) as image:
            assert image.size == (224, 224) == (truth.puzzle.size, truth.puzzle.size)


def test_only_the_wanted_types_are_made_in_the_wanted_order(tmp_path: Path) -> None:
    rows = read_questions(release(tmp_path / "set", 5, 1, types=("abs_counting_6", "abs_counting_2")))
    assert [row.type for row in rows] == ["abs_counting_6"] * 3 + ["abs_counting_2"] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"count": 0}, "the number of puzzles must be 1 to 999,999, but got 0"),
        ({"size": 100}, "must be 224 to 2048 pixels, but got 100"),
        ({"jobs": 0}, "processes must be at least 1, but got 0"),
        ({"types": ("abs_counting_7",)}, "types must be some of abs_counting_1, .*, but got abs_counting_7"),
        ({"types": ()}, "but got none"),
        ({"icons": Path("no/such")}, "no/such: no such folder; it should hold the flowers' image files"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line_and_nothing_is_written(
    tmp_path: Path, arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        release(tmp_path / "set", **{"count": 6, "seed": 1, **arguments})  # type: ignore[arg-type]
    assert not (tmp_path / "set").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old.png").write_bytes(b"mine")
    with pytest.raises(InputError, match="is not empty; empty it or name a new folder"):
        release(tmp_path, 6, seed=1)
    assert contents(tmp_path) == {"old.png": b"mine"}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("radius", [7, 11, 40])
def test_a_drawn_flower_fills_its_circle_and_stays_within_it(name: str, radius: int) -> None:
    alpha = np.asarray(DrawnIcons().sprite(name, radius))[..., 3]
    assert alpha.shape == (2 * radius, 2 * radius)
    axis = np.arange(2 * radius) + 0.5 - radius
    beyond = axis[:, None] ** 2 + axis[None, :] ** 2 > (radius + 0.75) ** 2
    assert not alpha[beyond].any()
    reach = np.sqrt((axis[:, None] ** 2 + axis[None, :] ** 2)[alpha > 64].max())
    assert reach > 0.85 * radius


def own_icons(folder: Path) -> Path:
    """Two icons on white and on nothing, one of them in a folder of its own."""
    (folder / "apple").mkdir(parents=True)
    white = PIL.Image.new("RGB", (120, 120), "white")
    ImageDraw.Draw(white).ellipse((20, 10, 79, 109), fill=(200, 30, 60))
    white.save(folder / "apple" / "rose.jpg", quality=95)
    clear = PIL.Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    draw = ImageDraw.Draw(clear)
    draw.rectangle((4, 4, 59, 59), fill=(60, 30, 200, 255))
    draw.rectangle((24, 24, 39, 39), fill=(255, 255, 255, 255))
    clear.save(folder / "square.png")
    (folder / "notes.txt").write_text("not an icon")
    return folder


def test_icons_of_a_folder_lose_their_white_surroundings_but_not_the_white_within(tmp_path: Path) -> None:
    icons = FolderIcons(own_icons(tmp_path))
    assert icons.names == ("apple/rose.jpg", "square.png")
    rose, square = (np.asarray(icons.sprite(name, 20)) for name in icons.names)
    assert rose[20, 20, 3] == square[20, 20, 3] == 255
    assert tuple(square[20, 20, :3]) == (255, 255, 255)
    assert not rose[:, 2, 3].any(), "the white beside the ellipse is gone"
    axis = np.arange(40) + 0.5 - 20
    beyond = axis[:, None] ** 2 + axis[None, :] ** 2 > 20.75**2
    assert not rose[beyond, 3].any()
    assert not square[beyond, 3].any()
    assert np.count_nonzero(square[:, :, 3] > 128) > 0.6 * np.pi * 20**2, "the square's corners reach the circle"


def test_puzzles_show_the_icons_of_a_folder(tmp_path: Path) -> None:
    folder = own_icons(tmp_path / "icons")
    release(tmp_path / "set", 3, seed=2, icons=folder, types=PUZZLE_TYPES[:1])
    truth = PuzzleTruth.model_validate_json((tmp_path / "set" / "abs_counting_000001.json").read_text())
    puzzle = truth.puzzle
    assert isinstance(puzzle.scene, FlowerScene)
    icons = [icon for region in puzzle.scene.flowers.values() for icon in region]
    assert {icon.kind for icon in icons} <= {"apple/rose.jpg", "square.png"}
    with PIL.Image.open(tmp_path / "set" / "abs_counting_000001.png") as image:
        pixels = np.asarray(image).astype(int)
    for icon in icons:
        wanted = (200, 30, 60) if icon.kind == "apple/rose.jpg" else (255, 255, 255)
        assert np.abs(pixels[icon.y, icon.x] - wanted).max() < 30


def test_a_folder_without_images_and_files_that_are_none_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no image file"):
        FolderIcons(tmp_path)
    (tmp_path / "a.png").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"a\.png: not an image that can be read .*; take it out of the folder"):
        FolderIcons(tmp_path)
    PIL.Image.new("RGB", (30, 30), "white").save(tmp_path / "a.png")
    with pytest.raises(InputError, match=r"a\.png: shows nothing but white or transparent pixels"):
        FolderIcons(tmp_path)
