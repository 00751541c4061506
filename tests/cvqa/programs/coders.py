"""Thirty replies as code models of 2025 and 2026 write them, and how each ends: with its answer, stopped by a limit of
our interpreter, or as a fault of its own."""

# ruff: noqa: E501 - a reply is one text

from typing import Literal

End = Literal["right", "limit", "fault"]


def _fence(code: str, before: str = "Here is the function:") -> str:
    return f"{before}\n\n```python\n{code}\n```\n\nIt looks at the image and reasons about the change."


RIGHT: dict[str, tuple[str, str]] = {
    "counts with a supposition": (
        _fence(
            "def execute_command(image) -> str:\n    patch = ImagePatch(image)\n    mugs = patch.find('mug')\n    # one is taken away\n    return str(len(mugs) - 1)"
        ),
        "2",
    ),
    "dataclass of what was seen": (
        _fence(
            "from dataclasses import dataclass, field\nfrom typing import List\n\n@dataclass\nclass Scene:\n    mugs: List[ImagePatch] = field(default_factory=list)\n    dogs: List[ImagePatch] = field(default_factory=list)\n\n    @property\n    def total(self) -> int:\n        return len(self.mugs) + len(self.dogs)\n\ndef execute_command(image):\n    patch = ImagePatch(image)\n    scene = Scene(patch.find('mug'), patch.find('dog'))\n    return scene.total"
        ),
        "5",
    ),
    "class with helpers": (
        _fence(
            "class Counter2:\n    def __init__(self, patch):\n        self._patch = patch\n        self.counts = {}\n\n    def count(self, name):\n        if name not in self.counts:\n            self.counts[name] = len(self._patch.find(name))\n        return self.counts[name]\n\ndef execute_command(image):\n    c = Counter2(ImagePatch(image))\n    return bool_to_yesno(c.count('mug') > c.count('dog'))"
        ),
        "yes",
    ),
    "match on an answer": (
        _fence(
            "def execute_command(image):\n    color = ImagePatch(image).simple_query('What color?').lower()\n    match color:\n        case 'red' | 'crimson':\n            return 'warm'\n        case 'blue':\n            return 'cold'\n        case _:\n            return 'neither'"
        ),
        "warm",
    ),
    "generator of colors": (
        _fence(
            "def colors(patches):\n    for patch in patches:\n        yield patch.simple_query('What color?')\n\ndef execute_command(image):\n    return sum(1 for color in colors(ImagePatch(image).find('mug')) if color == 'red')"
        ),
        "3",
    ),
    "cached look": (
        _fence(
            "from functools import lru_cache\n\ndef execute_command(image):\n    patch = ImagePatch(image)\n\n    @lru_cache(maxsize=None)\n    def count(name):\n        return len(patch.find(name))\n\n    return count('mug') * count('mug') - count('dog')"
        ),
        "7",
    ),
    "type hints of PIL": (
        _fence(
            "from PIL import Image\n\ndef execute_command(image: Image.Image) -> str:\n    image_patch = ImagePatch(image)\n    return 'yes' if image_patch.find('cat') else 'no'"
        ),
        "yes",
    ),
    "labels on patches": (
        _fence(
            "def execute_command(image):\n    patch = ImagePatch(image)\n    seen = []\n    for name in ('mug', 'dog'):\n        for found in patch.find(name):\n            found.label = name\n            seen.append(found)\n    return sum(found.label == 'mug' for found in seen)"
        ),
        "3",
    ),
    "enumeration": (
        _fence(
            "from enum import Enum\n\nclass Side(Enum):\n    LEFT = 'left'\n    RIGHT = 'right'\n\ndef execute_command(image):\n    patch = ImagePatch(image)\n    dog = patch.find('dog')[0]\n    side = Side.LEFT if dog.horizontal_center < patch.width / 2 else Side.RIGHT\n    return side.value"
        ),
        "left",
    ),
    "named tuple": (
        _fence(
            "from collections import namedtuple\nBox = namedtuple('Box', ['name', 'x'])\n\ndef execute_command(image):\n    boxes = [Box('mug', p.left) for p in ImagePatch(image).find('mug')]\n    return max(boxes, key=lambda b: b.x).name"
        ),
        "mug",
    ),
    "error of its own": (
        _fence(
            "class NotFound(Exception):\n    pass\n\ndef first(patch, name):\n    found = patch.find(name)\n    if not found:\n        raise NotFound(name)\n    return found[0]\n\ndef execute_command(image):\n    try:\n        first(ImagePatch(image), 'dragon')\n    except NotFound as error:\n        return f'no {error}'"
        ),
        "no dragon",
    ),
    "methods of types as keys": (
        _fence(
            "def execute_command(image):\n    names = ['Mug', 'dog', 'Cat']\n    patch = ImagePatch(image)\n    return ', '.join(sorted((n for n in map(str.lower, names) if patch.find(n)), key=str.casefold))"
        ),
        "cat, dog, mug",
    ),
    "thoughts and a plan": (
        "<think>\nThe mug count changes by two.\n</think>\n1. Find the mugs.\n2. Add two.\n\n```python\ndef execute_command(image):\n    return len(ImagePatch(image).find('mug')) + 2\n```",
        "5",
    ),
    "no fence, prose on both sides": (
        "Sure! This should do:\n\ndef execute_command(image):\n    said = ImagePatch(image).simple_query('How many in all?')\n    return coerce_to_numeric(said)\n\nThe function reads the number from the answer.",
        "7",
    ),
    "main that opens a file": (
        _fence(
            "import sys\nfrom PIL import Image\n\ndef execute_command(image):\n    return len(ImagePatch(image).find('dog'))\n\ndef main():\n    print(execute_command(Image.open(sys.argv[1])))\n\nif __name__ == '__main__':\n    main()"
        ),
        "2",
    ),
    "body alone": ("    image_patch = ImagePatch(image)\n    return len(image_patch.find('cat'))", "1"),
}
LIMIT: dict[str, str] = {
    "arrays": _fence(
        "import numpy as np\n\ndef execute_command(image):\n    lefts = np.array([p.left for p in ImagePatch(image).find('mug')])\n    return int(lefts.argmax())"
    ),
    "pixels": _fence("def execute_command(image):\n    return str(image.convert('L').getpixel((0, 0)))"),
    "asynchronous": _fence("async def execute_command(image):\n    return len(ImagePatch(image).find('mug'))"),
    "look behind": _fence(
        "import re\n\ndef execute_command(image):\n    return re.findall(r'(?<=a )\\w+', 'a mug')[0]"
    ),
    "time": _fence(
        "import time\n\ndef execute_command(image):\n    start = time.time()\n    n = len(ImagePatch(image).find('mug'))\n    return n if time.time() >= start else 0"
    ),
    "bytes": _fence("def execute_command(image):\n    return 'mug'.encode('utf-8').decode()"),
    "large loop": _fence(
        "def execute_command(image):\n    t = 0\n    for a in range(9000):\n        for b in range(9000):\n            t += 1\n    return t"
    ),
}
FAULT: dict[str, str] = {
    "operators in a row": _fence(
        "def execute_command(image):\n    answer = len(ImagePatch(image).find('mug'))\n    return answer -* 1"
    ),
    "method that is not there": _fence(
        "def execute_command(image):\n    return ImagePatch(image).count_objects('mug')"
    ),
    "name that is not there": _fence(
        "def execute_command(image):\n    patches = ImagePatch(image).find('mug')\n    return len(patch)"
    ),
    "first of nothing": _fence(
        "def execute_command(image):\n    return ImagePatch(image).find('dragon')[0].simple_query('What color?')"
    ),
    "text and number": _fence(
        "def execute_command(image):\n    return ImagePatch(image).simple_query('How many in all?') + 1"
    ),
    "module that is not there": _fence(
        "from vision_helpers import count_things\n\ndef execute_command(image):\n    return count_things(image, 'mug')"
    ),
    "returns a patch": _fence("def execute_command(image):\n    return ImagePatch(image).find('mug')[0]"),
}
EMPTY: dict[str, str] = {
    "prints its answer": _fence("def execute_command(image):\n    print(len(ImagePatch(image).find('mug')))"),
    "returns in one branch": _fence(
        "def execute_command(image):\n    if ImagePatch(image).find('dragon'):\n        return 'yes'"
    ),
}
"""Programs that return nothing."""
