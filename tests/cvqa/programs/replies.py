"""Replies as code models of 2024 to 2026 give them: each program in each habit, with the answer that it has.

The wording is our own; the habits are those of public transcripts of chat, reasoning and completion models.
"""

# ruff: noqa: E501 - a reply is one line of the table

import html
import json
import textwrap
from collections.abc import Callable

from tests.cvqa.programs.scripted import Scripted, thing

PROGRAMS: dict[str, tuple[str, str]] = {
    "one line": ("def execute_command(image):\n    return len(ImagePatch(image).find('mug'))", "3"),
    "annotated": (
        "from typing import List\n\ndef execute_command(image) -> int:\n"
        "    mugs: List[ImagePatch] = ImagePatch(image).find('mug')\n    return len(mugs)",
        "3",
    ),
    "helper before": (
        "def count(patch, name):\n    return len(patch.find(name))\n\n\n"
        "def execute_command(image):\n    patch = ImagePatch(image)\n    return count(patch, 'mug') + count(patch, 'dog')",
        "5",
    ),
    "helper after": (
        "def execute_command(image):\n    return _total(ImagePatch(image), ['mug', 'dog'])\n\n"
        "def _total(patch, names):\n    return sum(len(patch.find(name)) for name in names)",
        "5",
    ),
    "constants": (
        "BROKEN = 2\nNAMES = [\n    'mug',\n    'dog',\n]\n\ndef execute_command(image):\n"
        "    patch = ImagePatch(image)\n    return sum(len(patch.find(n)) for n in NAMES) - BROKEN",
        "3",
    ),
    "imports": (
        "import math\nfrom collections import Counter\n\ndef execute_command(image):\n"
        "    seen = Counter(p.simple_query('What color?') for p in ImagePatch(image).find('mug'))\n"
        "    return seen.most_common(1)[0][0] if math.prod([1, 2]) == 2 else 'none'",
        "red",
    ),
    "regular expression": (
        "import re\n\ndef execute_command(image):\n    said = ImagePatch(image).simple_query('How many in all?')\n"
        "    found = re.search(r'(\\d+)', said)\n    return int(found.group(1)) - 1 if found else 0",
        "6",
    ),
    "docstring and comments": (
        'def execute_command(image):\n    """\n    Count the mugs: those on the shelf.\n\n    Returns:\n        the count\n'
        '    """\n    # look first\n    patch = ImagePatch(image)\n\n    # then count\n    return len(patch.find("mug"))',
        "3",
    ),
    "comment at the margin": (
        "def execute_command(image):\n    patch = ImagePatch(image)\n# suppose one is taken away\n"
        "    return len(patch.find('mug')) - 1",
        "2",
    ),
    "careful": (
        "def execute_command(image):\n    patch = ImagePatch(image)\n    try:\n"
        "        said = patch.simple_query('How many in all?')\n        number = int(said)\n"
        "    except ValueError as error:\n        number = coerce_to_numeric(said)\n    return number if number else 0",
        "7",
    ),
    "call over lines": (
        "def execute_command(\n    image,\n):\n    total = sum(\n        len(ImagePatch(image).find(name))\n"
        "        for name in (\n            'mug',\n            'cat',\n        )\n    )\n    return bool_to_yesno(total > 3)",
        "yes",
    ),
    "nested function": (
        "def execute_command(image):\n    def far(patch):\n        return patch.compute_depth()\n\n"
        "    mugs = sorted(ImagePatch(image).find('mug'), key=far)\n    return mugs[-1].simple_query('What color?')",
        "red",
    ),
}
"""Programs of the kind, and what each answers."""

VISION = Scripted(
    things={
        "mug": [thing(0, 0, 30, 30, "m1"), thing(60, 0, 90, 30, "m2"), thing(120, 0, 150, 30, "m3")],
        "dog": [thing(0, 50, 40, 90, "d1"), thing(100, 50, 140, 90, "d2")],
        "cat": [thing(50, 50, 80, 90, "c1")],
    },
    answers={"What color?": "red", "How many in all?": "there are 7"},
)
"""What the programs look at."""


def _fence(code: str, language: str = "python") -> str:
    return f"```{language}\n{code}\n```"


def _split(code: str) -> str:
    """What stands before the command in a block of its own."""
    before, _, after = code.partition("def execute_command")
    blocks = [_fence(before.strip()), "and then"] if before.strip() else []
    return "\n\n".join(["Two parts:", *blocks, _fence("def execute_command" + after)])


def _curly(code: str) -> str:
    return code.replace("'", "’") if '"' not in code else code


HABITS: dict[str, Callable[[str], str]] = {
    "bare": lambda code: code,
    "fence": _fence,
    "fence without a language": lambda code: _fence(code, ""),
    "fence in capitals": lambda code: _fence(code, "Python3"),
    "fence with a title": lambda code: _fence(code, 'python title="solution.py"'),
    "tildes": lambda code: f"~~~python\n{code}\n~~~",
    "fence never closed": lambda code: f"```python\n{code}",
    "announced": lambda code: f"Sure, this function does it:\n\n{_fence(code)}",
    "explained after": lambda code: (
        f"{_fence(code)}\n\n**How it works**\n\n1. It looks for the things.\n2. It counts them."
    ),
    "explained with code": lambda code: (
        f"{_fence(code)}\n\nHere `find` gives patches, e.g.\n\n```python\npatch.find('x')\n```"
    ),
    "plan, then code": lambda code: (
        f"## Plan\n- find the things\n- count\n\n## Code\n{_fence(code)}\n\n## Notes\nNone."
    ),
    "in a list": lambda code: "1. The function:\n\n" + textwrap.indent(_fence(code), "   ") + "\n\n2. That is all.",
    "in a quotation": lambda code: textwrap.indent(_fence(code), "> ", lambda _: True),
    "thought before": lambda code: (
        f"<think>\nMaybe:\n```python\ndef execute_command(image):\n    return 0\n```\nNo.\n</think>\n{_fence(code)}"
    ),
    "thought whose beginning is lost": lambda code: (
        f"I would count them.\ndef execute_command(image): return 0\n</think>\n\n{code}"
    ),
    "draft and revision": lambda code: (
        f"First try:\n{_fence('def execute_command(image):' + chr(10) + '    return 99')}\n"
        f"That forgets the supposition. Better:\n{_fence(code)}"
    ),
    "broken draft": lambda code: (
        f"{_fence('def execute_command(image):' + chr(10) + '    retrun (')}\nOops. Corrected:\n{_fence(code)}"
    ),
    "draft that is only text": lambda code: f"```\nfind the things -> count them\n```\n{_fence(code)}",
    "shell first": lambda code: f"```bash\npip install pillow\n```\n\n{_fence(code)}",
    "example of use after": lambda code: (
        f"{_fence(code)}\nUse:\n{_fence('from PIL import Image' + chr(10) + 'print(execute_command(Image.open(path)))')}"
    ),
    "output after": lambda code: f"{_fence(code)}\n\nOutput:\n```\n3\n```",
    "use in the same fence": lambda code: _fence(
        f"{code}\n\n# Example\nanswer = execute_command(image)\nprint(answer)"
    ),
    "main guard": lambda code: _fence(f"{code}\n\nif __name__ == '__main__':\n    print(execute_command(None))"),
    "main guard without a fence": lambda code: (
        f"{code}\n\nif __name__ == '__main__':\n    print(execute_command(None))"
    ),
    "idle imports": lambda code: _fence(f"import os\nimport numpy as np\nfrom PIL import Image\n{code}"),
    "import of the surface": lambda code: _fence(f"from image_patch import ImagePatch, llm_query\n{code}"),
    "stub of the surface": lambda code: _fence(
        "class ImagePatch:\n    def find(self, name):\n        ...\n\n"
        "def bool_to_yesno(value: bool) -> str:\n    ...\n\n" + code
    ),
    "module docstring": lambda code: _fence(f'"""Counts the things of an image."""\n\n{code}'),
    "shebang and coding": lambda code: _fence(f"#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n{code}"),
    "parts in two fences": _split,
    "prose on both sides, no fence": lambda code: (
        f"This is the function you asked for.\n\n{code}\n\nIt looks at the image and counts."
    ),
    "prose with a colon, no fence": lambda code: f"Answer:\n{code}\nNote: patches may overlap.",
    "tag": lambda code: f"<code>\n{code}\n</code>",
    "answer tag around a fence": lambda code: f"<answer>\n{_fence(code)}\n</answer>",
    "square tag": lambda code: f"[PYTHON]\n{code}\n[/PYTHON]",
    "special tokens": lambda code: f"<|python_tag|>\n{code}\n<|eot_id|>",
    "response mark": lambda code: f"### Instruction:\ndef execute_command(image):\n    return 0\n### Response:\n{code}",
    "goes on with own questions": lambda code: (
        f"{code}\n\nQuery: How many birds are there?\ndef execute_command(image):\n    return len(ImagePatch(image).find('bird'))"
    ),
    "second program, no mark": lambda code: f"{code}\n\ndef execute_command(image):\n    return 'other'",
    "tool call": lambda code: json.dumps({"name": "run", "arguments": {"code": code}}),
    "tool call in a fence": lambda code: _fence(json.dumps({"tool": "python", "input": code}, indent=2), "json"),
    "arguments as a text": lambda code: json.dumps(
        [{"function": {"name": "run", "arguments": json.dumps({"code": code})}}]
    ),
    "Windows lines": lambda code: _fence(code).replace("\n", "\r\n"),
    "tabs": lambda code: _fence(code.replace("    ", "\t")),
    "hard spaces": lambda code: _fence(code.replace("    ", "\u00a0\u00a0\u00a0\u00a0")),
    "curly quotes": lambda code: _fence(_curly(code)),
    "escaped for a page": lambda code: f"<pre>\n{html.escape(code)}\n</pre>",
    "escaped for a page, fenced": lambda code: _fence(html.escape(code)),
    "escaped underscores": lambda code: _fence(
        code.replace("execute_command", "execute\\_command").replace("simple_query", "simple\\_query")
    ),
    "console": lambda code: _fence(
        "\n".join(f"{'...' if line[:1] in (' ', '#', ')') or not line else '>>>'} {line}" for line in code.split("\n"))
    ),
    "zero-width": lambda code: "\ufeff" + _fence("\u200b" + code),
    "Chinese around": lambda code: f"下面是函数：\n\n{_fence(code)}\n\n该函数返回答案。",
    "German around": lambda code: f"Gerne! Hier ist die Funktion:\n\n{_fence(code)}\n\nSie zählt die gefundenen Dinge.",
    "says sorry first": lambda code: f"I can't see the picture, but this program can look at it:\n{_fence(code)}",
    "final answer heading": lambda code: f"### Final Answer\n{_fence(code)}\n\nFinal answer: 3",
    "harmony": lambda code: f"<|channel|>final<|message|>\n{_fence(code)}",
    "indented whole": lambda code: textwrap.indent(code, "    "),
    "horizontal rules": lambda code: f"---\n\n{_fence(code)}\n\n---\n*Let me know if this helps!*",
    "assertions after": lambda code: _fence(f"{code}\n\nassert callable(execute_command)\ntest = 'done'"),
}
"""What stands around the code, or is done to it."""

STEPS = "BOX0=LOC(image=IMAGE,object='mug')\nANSWER0=COUNT(box=BOX0)\nANSWER1=EVAL(expr='{ANSWER0} - 1')\nFINAL_RESULT=RESULT(var=ANSWER1)"
STEP_HABITS: dict[str, Callable[[str], str]] = {
    name: HABITS[name]
    for name in (
        *("bare", "fence", "fence without a language", "tildes", "fence never closed", "announced", "explained after"),
        *(
            "in a list",
            "in a quotation",
            "thought before",
            "output after",
            "tag",
            "answer tag around a fence",
            "square tag",
        ),
        *("Windows lines", "Chinese around", "prose with a colon, no fence", "indented whole", "final answer heading"),
    )
} | {
    "numbered": lambda code: "\n".join(f"{number}. {line}" for number, line in enumerate(code.split("\n"), 1)),
    "points": lambda code: "\n".join(f"- `{line}`" for line in code.split("\n")),
    "commented lines": lambda code: "\n".join(f"{line}  # a step" for line in code.split("\n")),
    "comments between": lambda code: _fence("\n".join(f"# step\n{line}" for line in code.split("\n"))),
    "prose between": lambda code: "\n".join(f"Then:\n{line}" for line in code.split("\n")),
    "spaced": lambda code: code.replace("=", " = ", 1).replace(",", ", ").replace("=LOC", " = LOC"),
    "a fence a step": lambda code: "\n".join(_fence(line, "") for line in code.split("\n")),
    "over lines": lambda code: code.replace("(image=", "(\n    image=").replace("'mug')", "'mug'\n)"),
    "draft and revision": lambda code: f"{_fence('A=COUNT(box=B)')}\nBetter:\n{_fence(code)}",
    "program mark": lambda code: f"Program:\n{code}\n\nQuestion: How many?\nProgram:\nA=COUNT(box=B)",
}
"""The same for steps."""
