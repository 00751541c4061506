"""A study from an empty folder to its report, by the command line alone; and what must not change meanwhile."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.study.service import init_options, photographs, service


def first_study(command: Sequence[str], place: Path, environment: Mapping[str, str]) -> float:
    """Make, run and look at a study of two models on six photographs in an empty folder; seconds that the run took.

    Args:
        command: what starts cfeval.
        place: the empty folder.
        environment: of every command; it holds no key.
    """
    photographs(place / "photos")
    photos = listed(place / "photos")

    def cfeval(*words: str) -> str:
        done = subprocess.run(
            [*command, *words], cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout

    with service() as server:
        assert cfeval("init", "mine", *init_options(server, Path("photos"))).endswith(
            "Review it, then run:\n  cfeval run mine\n"
        )
        start = time.monotonic()
        said = cfeval("run", "mine", "--yes")
        took = time.monotonic() - start
        asked = len(server.log)
        assert "vlm-a on own by judge: " in said
        assert "6 of 6 scored" in said
        assert said.endswith("report: mine/results/mine/edct/report/index.html\n")
        assert cfeval("report", "mine") == "mine/results/mine/edct/report/index.html\n"
        assert "images in mine.zip; open report.html in it\n" in cfeval("report", "mine", "--pack", "mine.zip")
        again = cfeval("run", "mine", "--yes")
        assert "results are up to date" in again
        assert len(server.log) == asked
    page = (place / "mine/results/mine/edct/report/index.html").read_text(encoding="utf-8")
    assert "vlm-a" in page
    assert sorted(file.name for file in place.iterdir()) == ["mine", "mine.zip", "photos"]
    assert sorted(file.name for file in (place / "mine/results").iterdir()) == ["mine"]
    assert listed(place / "photos") == photos
    return took


def listed(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): (file.stat().st_size, file.stat().st_mtime_ns) for file in files}
