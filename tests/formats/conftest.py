"""The validators lie in a folder of their own, behind the packages of the lock."""

import sys
from pathlib import Path

from tests.audit.bundle.conftest import bundle
from tests.audit.interchange.conftest import done
from tests.cvqa.stages.test_questions import published

__all__ = ["bundle", "done", "published"]

sys.path.append(str(Path(__file__).parents[2] / ".formats"))
