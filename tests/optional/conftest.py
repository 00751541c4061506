"""The packages lie in a folder of their own, behind those of the lock."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / ".optional"))
