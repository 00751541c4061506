"""Makes the modules of the folder workflow/ importable, as the Snakefile does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))
