"""Image sets: which images are taken, what is cut out of them, and what cannot be used."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.images import KEEP, center_crop
from cfeval.vce.models.class_names import imagenet, imagenet_synsets
from tests.images import image
from tests.tiny.classifiers import write_images

CHEETAH, LEOPARD = "n02130308", "n02128385"


def folder(path: Path, **options: Any) -> Any:
    return registry.build("image_sets", {"plugin": "folder", "path": str(path), **options})


def imagenet_set(path: Path, truth: Path | None = None) -> Any:
    return registry.build("image_sets", {"plugin": "imagenet", "path": str(path), "truth": str(truth or "")})


def test_a_square_is_cut_as_torchvision_cuts_it() -> None:
    from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Resize

    theirs = Compose([Resize(int(64 / KEEP), InterpolationMode.BICUBIC), CenterCrop(64)])
    for height, width in ((90, 131), (200, 81), (77, 77)):
        pixels = np.random.default_rng(height).integers(0, 255, (height, width, 3), dtype=np.uint8)
        ours = center_crop(image().from_pixels(pixels), 64, KEEP, "it", enlarge=True)
        assert (ours.pixels == np.asarray(theirs(PIL.Image.fromarray(pixels)))).all()


def test_a_folder_a_class_gives_the_first_of_each_by_name(tmp_path: Path) -> None:
    images = folder(write_images(tmp_path, {"bee": 2, "ant": 3}))
    assert images.classes == ("ant", "bee")
    taken = list(images.images(["bee", "ant"], 2, 48, 0))
    assert [(one.id, one.label) for one in taken] == [
        ("bee-00", "bee"),
        ("bee-01", "bee"),
        ("ant-00", "ant"),
        ("ant-01", "ant"),
    ]
    original = np.asarray(PIL.Image.open(tmp_path / "bee" / "01.png"))
    assert (taken[1].image.pixels == original[:, 6:54]).all(), "of the right height: only cut"


def test_classes_csv_renames_folders_and_brings_them_together(tmp_path: Path) -> None:
    write_images(tmp_path, {"n1": 1, "n2": 1, "n3": 1})
    (tmp_path / "classes.csv").write_text("folder,class\nn1,honey bee\nn2,honey bee\n")
    images = folder(tmp_path)
    assert images.classes == ("honey bee", "n3")
    ids = [one.id for one in images.images(["honey bee"], 2, 48, 0)]
    assert len(set(ids)) == 2
    assert all(one.startswith("honey-bee-00-") for one in ids), "both are called 00.png"
    assert registry.dependencies("image_sets", {"plugin": "folder", "path": str(tmp_path)}) == (f"{tmp_path}/",)
    (tmp_path / "classes.csv").write_text("folder,class\nn9,bee\n")
    with pytest.raises(InputError, match=r"classes.csv: names the folder 'n9', which is not there"):
        folder(tmp_path)
    (tmp_path / "classes.csv").write_text("folder,name\nn1,bee\n")
    with pytest.raises(InputError, match="column 'class' is missing"):
        folder(tmp_path)


def test_what_lies_beside_the_images_of_classes_is_named(tmp_path: Path) -> None:
    write_images(tmp_path, {"bee": 2, "ant": 1})
    write_images(tmp_path / "ant", {"deep": 1})
    for name in ("loose.png", "notes.txt", "ant/raw.cr2", "ant/.old.png"):
        (tmp_path / name).write_bytes(b"x")
    images = folder(tmp_path)
    list(images.images(["ant"], 1, 48, 0))
    named = {"loose.png", "notes.txt", "ant/raw.cr2", "ant/.old.png", "ant/deep/00.png"}
    assert {entry.name for entry in images.left_out} == named
    [count, found] = registry.diagnose("image_sets", {"plugin": "folder", "path": str(tmp_path), "strict": True})
    assert count.fine
    assert found.fine, "none of these is an image that cannot be read"
    assert "loose.png" in found.text


def test_images_of_a_class_in_any_script_have_ids_of_their_own(tmp_path: Path) -> None:
    write_images(tmp_path, {"猫": 1, "狗": 1, "🐈": 1, "🐕": 1})
    taken = list(folder(tmp_path).images(["猫", "狗", "🐈", "🐕"], 1, 48, 0))
    assert [one.id for one in taken[:2]] == ["猫-00", "狗-00"]
    assert len({one.id for one in taken}) == 4


def test_what_cannot_be_used_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    images = folder(write_images(tmp_path, {"ant": 1, "bee": 1}))
    with pytest.raises(InputError, match="no class 'ants'; did you mean 'ant'"):
        list(images.images(["ants"], 1, 48, 0))
    with pytest.raises(InputError, match="1 images of class 'ant', and 2 are asked for"):
        list(images.images(["ant"], 2, 48, 0))
    with pytest.raises(InputError, match=r"00.png: 60 × 48 pixels are too few for a square of 64"):
        list(images.images(["ant"], 1, 64, 0))
    assert next(folder(tmp_path, enlarge=True).images(["ant"], 1, 64, 0)).image.pixels.shape == (64, 64, 3)
    path = tmp_path / "ant" / "00.png"
    PIL.Image.new("L", (60, 60), 7).save(path)
    with pytest.raises(InputError, match=r"00.png: not RGB but without colour \(mode L\)"):
        list(images.images(["ant"], 1, 48, 0))
    gray = next(folder(tmp_path, gray=True).images(["ant"], 1, 48, 0)).image.pixels
    assert (gray == 7).all()
    PIL.Image.fromarray(np.full((60, 60), 40_000, dtype=np.uint16)).save(path)
    with pytest.raises(InputError, match=r"00.png: not RGB but without colour \(mode I;16\)"):
        list(images.images(["ant"], 1, 48, 0))
    deep = next(folder(tmp_path, gray=True).images(["ant"], 1, 48, 0)).image
    assert (deep.pixels == round(40_000 / 257)).all()
    assert deep.conversions == ("16-bit grey scaled: 0 is black, 65535 is white",)
    path.write_bytes(b"no image")
    with pytest.raises(InputError, match=r"00.png: not an image"):
        list(images.images(["ant"], 1, 48, 0))


def test_a_folder_that_is_not_there_or_empty_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        folder(tmp_path / "none")
    (tmp_path / "ant").mkdir()
    with pytest.raises(InputError, match="no folder in it holds an image"):
        folder(tmp_path)
    found = list(registry.diagnose("image_sets", {"plugin": "folder", "path": str(tmp_path)}))
    assert [one.fine for one in found] == [False]


def test_imagenet_in_folders_goes_by_synset_and_has_torchvisions_names(tmp_path: Path) -> None:
    write_images(tmp_path, {CHEETAH: 2, LEOPARD: 1, "other": 1})
    images = imagenet_set(tmp_path)
    assert images.classes == imagenet()
    taken = list(images.images(["leopard", "cheetah"], 1, 64, 0))
    assert [one.label for one in taken] == ["leopard", "cheetah"]
    assert taken[0].image.pixels.shape == (64, 64, 3), "small ones are enlarged, as the paper's code does"
    with pytest.raises(InputError, match="no class 'tiger'"):
        list(images.images(["tiger"], 1, 64, 0))
    found = list(registry.diagnose("image_sets", {"plugin": "imagenet", "path": str(tmp_path)}))
    assert [(one.fine, one.text) for one in found] == [(True, "3 images of 2 of ImageNet's classes")]


def test_what_has_no_class_of_imagenet_is_named(tmp_path: Path) -> None:
    write_images(tmp_path, {CHEETAH: 1, "other": 1})
    assert {entry.name for entry in imagenet_set(tmp_path).left_out} == {"other/"}
    flat(tmp_path / "val")
    (tmp_path / "val" / "readme.txt").write_text("x")
    truth = tmp_path / "val" / "truth.csv"
    truth.write_text(f"image,synset\nILSVRC2012_val_00000001,{CHEETAH}\n")
    others = {entry.name for entry in imagenet_set(tmp_path / "val", truth).left_out}
    assert others == {"val/readme.txt", "val/ILSVRC2012_val_00000002.png", "val/ILSVRC2012_val_00000003.png"}


def flat(folder: Path) -> Path:
    """Three validation images in one folder: cheetah, leopard, cheetah."""
    write_images(folder.parent, {folder.name: 3})
    for number in range(3):
        (folder / f"{number:02d}.png").rename(folder / f"ILSVRC2012_val_{number + 1:08d}.png")
    return folder


def devkit(folder: Path) -> Path:
    """A devkit in which the leopard is number 1 and the cheetah number 2; the real one has its own order too."""
    from scipy.io import savemat

    (folder / "data").mkdir(parents=True)
    kinds = [("ILSVRC2012_ID", "f8"), ("WNID", "O")]
    table = np.array([(1, LEOPARD), (2, CHEETAH)], dtype=kinds)
    savemat(folder / "data" / "meta.mat", {"synsets": table})
    (folder / "data" / "ILSVRC2012_validation_ground_truth.txt").write_text("2\n1\n2\n")
    return folder


def write_csv(path: Path, header: tuple[str, str], ending: str) -> Path:
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(header)
        for number, synset in enumerate((CHEETAH, LEOPARD, CHEETAH), start=1):
            rows.writerow((f"ILSVRC2012_val_{number:08d}{ending}", f"{synset} 1 2 3 4 "))
    return path


def test_imagenet_in_one_folder_goes_by_the_devkit_or_a_csv_file(tmp_path: Path) -> None:
    images = flat(tmp_path / "val")
    truths = (
        devkit(tmp_path / "devkit"),
        write_csv(tmp_path / "own.csv", ("image", "synset"), ".JPEG"),
        write_csv(tmp_path / "kaggle.csv", ("ImageId", "PredictionString"), ""),
    )
    for truth in truths:
        taken = list(imagenet_set(images, truth).images(["cheetah"], 2, 64, 0))
        assert [one.id for one in taken] == ["cheetah-ILSVRC2012_val_00000001", "cheetah-ILSVRC2012_val_00000003"]
    with pytest.raises(InputError, match=r"images lie in one folder.*set truth"):
        imagenet_set(images)
    with pytest.raises(InputError, match="not the unpacked devkit"):
        imagenet_set(images, tmp_path)
    with pytest.raises(InputError, match=r"none.csv: no such file"):
        imagenet_set(images, tmp_path / "none.csv")


def test_synset_ids_stand_in_the_order_of_the_classes() -> None:
    order = dict(zip(imagenet_synsets(), imagenet(), strict=True))
    assert (order[CHEETAH], order[LEOPARD], order["n07880968"]) == ("cheetah", "leopard", "burrito")
    assert list(order) == sorted(order)


@pytest.mark.slow
def test_a_photograph_comes_whole_first_and_then_in_views_that_the_seed_draws() -> None:
    photographs = registry.build("image_sets", {"plugin": "photographs"})
    first, second = (list(photographs.images(["espresso"], 3, 200, seed)) for seed in (1, 2))
    assert [one.id for one in first] == ["coffee-000", "coffee-001", "coffee-002"]
    assert first[0] == second[0]
    assert first[1].image != second[1].image
    assert len({one.image.sha256 for one in first}) == 3
    with pytest.raises(InputError, match=r"chelsea.png: 451 × 300 pixels are too few for a square of 400"):
        list(photographs.images(["Egyptian cat"], 1, 400, 0))
