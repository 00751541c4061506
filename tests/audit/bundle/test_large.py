"""What further items of a bundle take is so little that a hundred thousand are built and checked with 500 MB.

The test measures two sizes and draws the line through both. `python -m tests.audit.bundle.test_large 100000` measures a
hundred thousand items themselves, in some minutes: 140 MB to build the bundle, 171 MB to check it.
"""

import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.audit.bundle.large import make

ROOT = Path(__file__).parents[3]
FEW, MANY, PROMISED = 1_000, 6_000, 100_000
"""Items; memory is measured with few and with many, and told of as many as are promised."""
SHARDS = 50
MOST = 500
"""In MB, of each process at its peak."""
BUILD = (
    "from tests.audit.bundle.large import study; from cfeval_audit.bundle.build import build; "
    "build(study(), Path('../b.zip'))"
)
CHECK = "from cfeval_audit.bundle.check import check; check(Path('../b.zip'))"
PEAK = "; print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
"""In kB, of the process alone: what `getrusage` says holds also for the one that started it."""


def peak(place: Path, code: str) -> int:
    """The most memory that a process took, in MB, which ran some code in a folder."""
    code = "from pathlib import Path; " + code + PEAK
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return int(done.stdout.splitlines()[-1]) // 1024


def peaks(place: Path, items: int) -> dict[str, int]:
    """Of building the bundle of so many items and of checking it."""
    place.mkdir(parents=True)
    with chdir(place):
        make(items, SHARDS)
    return {what: peak(place, code) for what, code in (("build", BUILD), ("check", CHECK))}


@pytest.mark.slow
def test_by_what_further_items_take_a_hundred_thousand_take_less_than_500_mb(tmp_path: Path) -> None:
    few, many = (peaks(tmp_path / str(items) / "study", items) for items in (FEW, MANY))
    print(few, many)
    for what, taken in many.items():
        of_an_item = (taken - few[what]) / (MANY - FEW)
        assert taken + of_an_item * (PROMISED - MANY) < MOST


if __name__ == "__main__":
    with TemporaryDirectory(prefix="cfeval-large-") as place:
        print(peaks(Path(place, "study"), int(sys.argv[1])))
