import pytest

from tests.pipelines.nights.support import Nights


@pytest.fixture
def nights(tmp_path):
    return Nights(tmp_path)
