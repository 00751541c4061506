"""COCO's images of 2014 and 2015 on disk: COCO_val2014_000000000042.jpg, in a folder named like the split or not."""

from pathlib import Path

from cfeval.errors import InputError


def image_path(folder: Path, split: str, image: int) -> Path:
    """The file of an image.

    Args:
        folder: holds the images, or a folder named like the split that does.
        split: such as val2014; test-dev2015 is a part of test2015, and its images have that name.
        image: its number.

    Raises:
        InputError: one line that names the file, where it was looked for, and the option to set.
    """
    of = split.replace("test-dev", "test")
    name = f"COCO_{of}_{image:012d}.jpg"
    for place in (folder, folder / of):
        if (place / name).is_file():
            return place / name
    raise InputError(
        f"{name}: no such image in {folder} or {folder / of}; "
        f"set the option 'images' to the folder of COCO's {of} images"
    )
