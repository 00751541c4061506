"""`make bench`: every benchmark, or those that are named, and docs/project/benchmarks.md of what each found."""

import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

from bench.table import Found, machine, today

PARTS = (
    *("orchestration", "rate_limits", "resume", "judge", "growth", "metrics", "local", "calls"),
    *("gate", "programs", "answers", "puzzles", "readers", "vce_cost", "vce_valid", "gpu"),
)
"""A module each, with `tables() -> list[Table]`; its docstring opens the section. In the order of the page."""
PAGE = Path(__file__).parent.parent / "docs/project/benchmarks.md"
_HEAD = "<!-- made by `make bench` -->\n"


def main(wanted: list[str]) -> None:
    """Run the wanted benchmarks, each in a process of its own, and write the page."""
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        raise SystemExit(f"bench: unknown part '{unknown[0]}'; allowed: {', '.join(PARTS)}")
    for part in wanted or PARTS:
        start = time.monotonic()
        print(f"bench: {part}", file=sys.stderr)
        status = subprocess.run([sys.executable, "-c", f"from bench.__main__ import one; one({part!r})"], check=False)
        ended = "done" if status.returncode == 0 else f"FAILED with status {status.returncode}"
        print(f"bench: {part} {ended} in {time.monotonic() - start:.0f} s", file=sys.stderr)
    PAGE.write_text(page(), encoding="utf-8")


def one(part: str) -> None:
    """Run one benchmark and keep what it found."""
    Found(machine(), import_module(f"bench.{part}").tables(), today()).save(part)


def page() -> str:
    """The page: what stands in it by hand, up to the mark, and below it every section."""
    by_hand = PAGE.read_text(encoding="utf-8").split(_HEAD)[0] if PAGE.is_file() else ""
    return by_hand + _HEAD + "".join(_section(part) for part in PARTS)


def _section(part: str) -> str:
    found = Found.read(part)
    if found is None:
        return ""
    said = (import_module(f"bench.{part}").__doc__ or "").strip()
    title, _, rest = said.partition("\n")
    tables = "\n".join(table.markdown() for table in found.tables)
    return f"\n## {title}\n{rest}\n\n`python -m bench {part}` · {found.machine} · {found.day}\n\n{tables}"


if __name__ == "__main__":
    main(sys.argv[1:])
