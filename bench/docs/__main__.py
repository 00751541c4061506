"""`make docs`: renews the generated pages of docs/ and builds the documentation site, offline, into build/site.

Every warning is an error: a dead link, a page that the navigation lacks, an anchor that is not there.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.docs import sources

ROOT = Path(__file__).parents[2]


def main(command: str) -> int:
    """Renew docs/, write the pages into build/docs and build the site, or serve it; the exit status of mkdocs."""
    folder = ROOT / "build" / "docs"
    shutil.rmtree(folder, ignore_errors=True)
    sources.renew(ROOT)
    sources.write(ROOT, folder)
    strict = ["--strict"] if command == "build" else []
    mkdocs = [sys.executable, "-m", "mkdocs", command, "--quiet", *strict]
    return subprocess.run(mkdocs, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["build"]))
