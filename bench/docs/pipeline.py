"""The diagram of the pipeline: what happens to one item. `python -m bench.docs.pipeline` writes it."""

from html import escape
from pathlib import Path

from cfeval.core.files import write_text

FILE = "docs/images/pipeline.svg"
STEPS = (
    ("1 Baseline", "target model", ("Answer, then", "explanation")),
    ("2 Instruction", "instruction writer", ("Cited concept and", "edit instruction")),
    ("3 Counterfactual", "editor, gate", ("Edited image,", "verified")),
    ("4 Requery", "target model", ("New answer and", "explanation")),
    ("5 Verdict", "judge", ("Do both follow", "the edit?")),
)
"""A step each: its name, which model does it, and what comes out."""
LINE = 'fill="none" stroke="#1f2328" stroke-width="3"'
RIGHT, DOWN = "m -12 -8 l 12 8 l -12 8", "m -8 -12 l 8 12 l 8 -12"
"""The heads of arrows."""
NOTES = (
    (505, "Gate: an edit that fails its check is retried once, then the item is missing."),
    (545, "Controls: the same steps with an uncited edit, a null edit or a blank image."),
)


def draw() -> str:
    """The diagram as SVG, 1,200 × 570 pixels, on a ground of its own so that it can be read on a dark page too."""
    parts = [_text(30, 50, "Image and question", 26, "bold"), _arrow(140, 66, 140, 104)]
    for number, (name, who, made) in enumerate(STEPS):
        x, y = (30 + 400 * (number % 3), 110 if number < 3 else 310)
        parts.append(f'<rect x="{x}" y="{y}" width="340" height="150" rx="12" fill="#ffffff" stroke="#3949ab"/>')
        parts.append(_text(x + 20, y + 40, name, 26, "bold", "#283593"))
        parts += [_text(x + 20, y + 78 + 30 * line, text, 24) for line, text in enumerate(made)]
        parts.append(_text(x + 20, y + 138, who, 22, "normal", "#57606a"))
    parts += [_arrow(370, 185, 428, 185), _arrow(770, 185, 828, 185), _arrow(370, 385, 428, 385)]
    parts.append(f'<path d="M1000 260 V 285 H 200 V 306 {DOWN}" {LINE}/>')
    parts.append(_arrow(770, 385, 828, 385))
    parts += [_text(850, 350, "PCS: answer", 24, "bold"), _text(850, 385, "NCC: explanation", 24, "bold")]
    parts.append(_text(850, 420, "CCS = PCS × NCC", 24, "bold"))
    parts += [_text(30, y, text, 23, "normal", "#57606a") for y, text in NOTES]
    story = "; ".join(f"{name} ({who}): {' '.join(made)}" for name, who, made in STEPS)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 570" width="1200" height="570" '
        f'font-family="system-ui, sans-serif" role="img"><title>{escape(story)}</title>\n'
        '<rect width="1200" height="570" rx="16" fill="#f6f8fa"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _text(x: int, y: int, text: str, size: int, weight: str = "normal", fill: str = "#1f2328") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{fill}">{escape(text)}</text>'


def _arrow(x: int, y: int, to_x: int, to_y: int) -> str:
    return f'<path d="M{x} {y} L{to_x} {to_y} {RIGHT if y == to_y else DOWN}" {LINE}/>'


if __name__ == "__main__":
    write_text(Path(__file__).parents[2] / FILE, draw())
