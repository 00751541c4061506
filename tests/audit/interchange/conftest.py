import pytest

from cfeval_audit.interchange.study import Finished
from tests.audit.interchange.study import make


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A small study that is run to its end."""
    return make(tmp_path_factory.mktemp("interchange"))
