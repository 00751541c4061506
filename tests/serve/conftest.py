"""One server for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.serve.server import Server, serving
from tests.tiny.vlms import checkpoint


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`transformers serve` with a tiny random Qwen2.5-VL."""
    with serving(checkpoint("qwen2_5_vl"), tmp_path_factory.mktemp("serve")) as server:
        yield server
