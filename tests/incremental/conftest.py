import pytest

from tests.incremental.support import Nights


@pytest.fixture
def nights(tmp_path):
    return Nights(tmp_path)
