"""The picture of the report in README and docs, of the demo's first screen: `python -m bench.docs.screenshot`.

It needs the finished report (`make demo`) and Chromium. The picture is in light mode, with few colors so that it stays
small.
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from tests.browser.chromium import browser

ROOT = Path(__file__).parents[2]
FILE = "docs/images/report.png"
REPORT = "results/edct/report/index.html"
WIDTH, HEIGHT = 1280, 900
_COLORS = 96


def take(report: Path, out: Path) -> None:
    """Write the first screen of a report as a PNG."""
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as tab:
        light = [{"name": "prefers-color-scheme", "value": "light"}]
        tab("Emulation.setEmulatedMedia", features=light)
        tab("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        tab("Emulation.setScrollbarsHidden", hidden=True)
        tab.open(report.resolve())
        tab.screenshot(out)
    image = Image.open(out).convert("RGB")
    image.quantize(_COLORS, dither=Image.Dither.NONE).save(out, optimize=True)


if __name__ == "__main__":
    take(Path(next(iter(sys.argv[1:]), ROOT / REPORT)), ROOT / FILE)
