"""Datasets that are files: which items are taken, what is read of each, and one line for what is wrong."""

import json
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl
from cfeval.datasets.files import Files, Plugin
from cfeval.datasets.sample import RawSample, Sample, content_hash, file_samples, write_set
from tests.data_files import SETS, annotation, header, own_files, question, write, write_release
from tests.images import image


def taken(name: str, options: dict[str, Any], items: int = 100, seed: int = 5) -> list[RawSample]:
    return list(registry.build("datasets", {"plugin": name, **options}).samples(items, seed))


@pytest.mark.parametrize("name", SETS)
def test_listed_ids_are_taken_and_no_others_in_the_order_of_the_list(name: str, tmp_path: Path) -> None:
    options = SETS[name](tmp_path)
    there = [sample.id for sample in taken(name, options)]
    wanted = [there[4], there[0], there[3]]
    (tmp_path / "ids.txt").write_text(f"\ufeff{wanted[0]}\r\n\n  {wanted[1]}\n{wanted[2]}", encoding="utf-8")
    options |= {"ids": str(tmp_path / "ids.txt")}
    assert [sample.id for sample in taken(name, options, seed=1)] == wanted
    assert [sample.id for sample in taken(name, options, seed=2)] == wanted
    assert [sample.id for sample in taken(name, options, items=2)] == wanted[:2]
    assert options["ids"] in registry.dependencies("datasets", {"plugin": name, **options})


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("{0}\n{1}\n{0}\n", "ids.txt, line 3: '{0}' stands in line 1 already"),
        ("{0}\nnowhere\nnor-here\n", "ids.txt, line 2: no item 'nowhere' in .* .2 of the 3 ids are not there."),
        (" \n\n", "ids.txt: lists no ids; write one a line"),
        (None, "ids.txt: no such file"),
    ],
)
def test_a_list_of_ids_with_a_fault_is_one_line(name: str, tmp_path: Path, lines: str | None, complaint: str) -> None:
    options = SETS[name](tmp_path)
    there = [sample.id for sample in taken(name, options)]
    if lines is not None:
        (tmp_path / "ids.txt").write_text(lines.format(*there))
    with pytest.raises(InputError, match=complaint.format(*there)) as error:
        taken(name, options | {"ids": str(tmp_path / "ids.txt")})
    assert "\n" not in str(error.value)


def freeze(path: Path, samples: list[RawSample], **false: str) -> str:
    """Freeze samples; `false` replaces hashes."""
    write_set(path, {sample.id: content_hash(sample, sample.image) for sample in samples} | false)
    return str(path)


@pytest.mark.parametrize("name", SETS)
def test_a_frozen_set_is_taken_as_long_as_it_is_what_was_frozen(name: str, tmp_path: Path) -> None:
    options = SETS[name](tmp_path)
    wanted = taken(name, options)[4:1:-1]
    assert taken(name, options | {"ids": freeze(tmp_path / "set.txt", wanted)}) == wanted
    others = {sample.id: "0" * 64 for sample in wanted[1:]}
    with pytest.raises(InputError, match=f"set.txt: '{wanted[1].id}' is not what was frozen"):
        taken(name, options | {"ids": freeze(tmp_path / "set.txt", wanted, **others)})


@pytest.mark.parametrize("change", ["question", "image", "reference"])
def test_a_change_of_the_data_after_the_freeze_is_refused_by_the_first_item_it_hits(
    tmp_path: Path, change: str
) -> None:
    options = own_files(tmp_path)
    ids = freeze(tmp_path / "set.txt", sorted(taken("files", options), key=lambda sample: sample.id))
    table = tmp_path / "own.csv"
    if change == "image":
        PIL.Image.new("RGB", (8, 6), (9, 9, 9)).save(tmp_path / "3.png")
    else:
        old, new = {"question": ("What is 3?", "Who is 3?"), "reference": ("3?,thing", "3?,thong")}[change]
        table.write_text(table.read_text().replace(old, new))
    with pytest.raises(InputError, match="'row-3' is not what was frozen"):
        taken("files", options | {"ids": ids})
    assert [s.id for s in taken("files", options | {"ids": ids}, items=3)] == ["row-0", "row-1", "row-2"]


@pytest.mark.parametrize("name", ["okvqa", "vqav2", "files", "drivelm", "threedsrbench"])
def test_without_a_list_the_seed_draws_and_more_items_keep_those_there_were(name: str, tmp_path: Path) -> None:
    options = SETS[name](tmp_path)
    drawn = {seed: [sample.id for sample in taken(name, options, seed=seed)] for seed in range(5)}
    assert {frozenset(ids) for ids in drawn.values()} == {frozenset(drawn[0])}
    assert len({tuple(ids) for ids in drawn.values()}) > 1
    assert all([s.id for s in taken(name, options, n, seed)] == drawn[seed][:n] for seed in (0, 1) for n in range(1, 7))


def test_a_row_that_is_added_displaces_no_other_of_the_draw(tmp_path: Path) -> None:
    before = [s.id for s in taken("files", own_files(tmp_path, 5))]
    after = [s.id for s in taken("files", own_files(tmp_path, 6))]
    assert [item for item in after if item != "row-5"] == before


@pytest.mark.parametrize("name", SETS)
def test_images_are_read_one_at_a_time_and_only_those_taken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SETS[name](tmp_path)
    opened: list[str] = []
    real_open, real_bytes = PIL.Image.open, Path.read_bytes
    monkeypatch.setattr(PIL.Image, "open", lambda file, *a, **k: opened.append(str(file)) or real_open(file, *a, **k))
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(str(path)) or real_bytes(path))
    stream = registry.build("datasets", {"plugin": name, **options}).samples(3, 5)
    next(stream)
    assert len(opened) == 1
    assert len(list(stream)) == 2
    assert len(opened) == 3


@pytest.mark.parametrize("inside", ["", "val2014"])
def test_vqa_v2_is_read_as_published(tmp_path: Path, inside: str) -> None:
    first = sorted(taken("vqav2", write_release(tmp_path, inside=inside)), key=lambda sample: sample.id)[0]
    assert (first.id, first.question, first.reference) == ("42000", "What is in image 42?", "dogs")
    assert first.answers == ("dogs",) * 6 + ("cats",) * 4
    assert (first.scorer, first.kind) == ("vqa", "what is")
    assert abs(int(first.image.pixels[0, 0, 0]) - 42) < 3


def test_ok_vqa_is_scored_on_stems_and_shown_as_written(tmp_path: Path) -> None:
    first = taken("okvqa", write_release(tmp_path, okvqa=True))[0]
    assert first.answers == ("dog",) * 6 + ("cat",) * 4
    assert (first.reference, first.scorer, first.kind) == ("dogs", "okvqa", "Plants and Animals")


@pytest.mark.parametrize("split", ["test2015", "test-dev2015"])
def test_a_test_split_has_questions_and_no_right_answers(tmp_path: Path, split: str) -> None:
    options = write_release(tmp_path, split="test2015", inside="test2015")
    write(tmp_path / "questions.json", header(split) | {"questions": [question(42, 42000)]})
    [only] = taken("vqav2", {key: value for key, value in options.items() if key != "annotations"})
    assert (only.reference, only.answers, only.kind) == ("", (), "")


def test_what_is_read_can_be_filed_and_read_again(tmp_path: Path) -> None:
    raws = taken("okvqa", write_release(tmp_path, okvqa=True))
    file_samples(tmp_path / "again.jsonl", raws)
    assert taken("samples", {"path": str(tmp_path / "again.jsonl")}) == raws
    assert {sample.scorer for sample in read_jsonl(tmp_path / "again.jsonl", Sample)} == {"okvqa"}


QUESTIONS, ANNOTATIONS = [question(42, 42000)], [annotation(42, 42000)]


def asking(**changed: Any) -> dict[str, Any]:
    return header("val2014") | {"questions": QUESTIONS} | changed


def answering(**changed: Any) -> dict[str, Any]:
    return header("val2014") | {"annotations": ANNOTATIONS} | changed


@pytest.mark.parametrize(
    ("questions", "annotations", "complaint"),
    [
        ("{", answering(), "questions.json: not JSON"),
        (b"\xff{", answering(), "questions.json, line 1: not UTF-8 text"),
        ([1], answering(), "questions.json: no list of questions in VQA's layout"),
        (answering(), answering(), "questions.json: no list of questions .* give a file such as v2_OpenEnded_"),
        (asking(), asking(), "annotations.json: no list of annotations .* such as v2_mscoco_val2014_annotations"),
        (asking(questions=["what?"]), answering(), "no list of questions"),
        (asking(questions=QUESTIONS * 2), answering(), "question 42000 stands there twice"),
        (asking(questions=[QUESTIONS[0] | {"question_id": "x"}]), answering(), "question_id must be a whole number"),
        (asking(questions=[QUESTIONS[0] | {"question_id": True}]), answering(), "but got True"),
        (
            asking(questions=[QUESTIONS[0] | {"image_id": -1}]),
            answering(),
            "image_id must be .* .question_id 42000.",
        ),
        (asking(questions=[QUESTIONS[0] | {"question": " "}]), answering(), "question must be a text, but got ' '"),
        (asking(data_subtype="../x"), answering(), "data_subtype must name a split of COCO such as val2014"),
        (asking(data_subtype=None), answering(), "data_subtype must name a split"),
        (asking(), answering(data_subtype="train2014"), "annotations of train2014 for questions of val2014"),
        (asking(), answering(annotations=ANNOTATIONS * 2), "2 annotations for 1 questions; .* same release and split"),
        (asking(), answering(annotations=[annotation(42, 42001)]), "no annotation of question 42000 about its image"),
        (asking(), answering(annotations=[annotation(43, 42000)]), "no annotation of question 42000 about its image"),
        (asking(), answering(annotations=[annotation(42, 42000, said=["x"] * 9)]), "42000: 9 answers; .* for 10"),
        (asking(), answering(annotations=[ANNOTATIONS[0] | {"answers": ["x"] * 10}]), "answers must be a list of obj"),
        (asking(), answering(annotations=[annotation(42, 42000, okvqa=True)]), "OK-VQA, .* use plugin okvqa"),
        (
            asking(questions=[question(99, 42000)]),
            answering(annotations=[annotation(99, 42000)]),
            "COCO_val2014_0+99.jpg",
        ),
    ],
)
def test_a_release_with_a_fault_is_one_line(tmp_path: Path, questions: Any, annotations: Any, complaint: str) -> None:
    options = write_release(tmp_path)
    for name, content in (("questions", questions), ("annotations", annotations)):
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        (tmp_path / f"{name}.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=complaint) as error:
        taken("vqav2", options)
    assert "\n" not in str(error.value)


def test_a_missing_image_is_told_before_any_is_read_with_the_option_to_set(tmp_path: Path) -> None:
    options = write_release(tmp_path)
    (tmp_path / "coco" / "COCO_val2014_000000000044.jpg").unlink()
    with pytest.raises(InputError, match=r"COCO_val2014_000000000044.jpg: no such image .* set the option 'images'"):
        next(registry.build("datasets", {"plugin": "vqav2", **options}).samples(6, 1))


def test_vqa_annotations_are_not_scored_as_ok_vqa(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="annotations of VQA, which are scored otherwise; use plugin vqav2"):
        taken("okvqa", write_release(tmp_path))


@pytest.mark.parametrize("there", [True, False])
def test_the_doctor_sees_whether_the_folder_of_images_is_there(tmp_path: Path, there: bool) -> None:
    options = write_release(tmp_path) | ({} if there else {"images": str(tmp_path / "none")})
    [finding] = registry.diagnose("datasets", {"plugin": "vqav2", **options})
    assert finding.fine == there


def test_own_files_are_what_an_import_would_file(tmp_path: Path) -> None:
    source = Path(own_files(tmp_path)["path"])
    by_id = sorted(taken("files", {"path": str(source)}), key=lambda sample: sample.id)
    assert by_id == list(Files(Plugin(path=str(source))).every())


def test_a_folder_of_images_needs_a_question(tmp_path: Path) -> None:
    own_files(tmp_path)
    (tmp_path / "own.csv").unlink()
    spec = {"plugin": "files", "path": str(tmp_path), "question": "What?"}
    assert {s.question for s in registry.build("datasets", spec).samples(9, 1)} == {"What?"}
    assert registry.dependencies("datasets", spec) == (f"{tmp_path}/",)
    with pytest.raises(InputError, match="the option 'question'"):
        taken("files", {"path": str(tmp_path)})


def test_own_files_with_an_id_twice_are_refused(tmp_path: Path) -> None:
    source = Path(own_files(tmp_path)["path"])
    source.write_text(source.read_text() + "row-1,2.png,What?,\n")
    with pytest.raises(InputError, match=r"line 8: id 'row-1' stands at .*line 3 already"):
        taken("files", {"path": str(source)})


def test_a_sample_that_cannot_be_filed_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sample '\.\./x': id: ") as error:
        file_samples(tmp_path / "x.jsonl", [RawSample("../x", image(1), "what?")])
    assert "\n" not in str(error.value)
