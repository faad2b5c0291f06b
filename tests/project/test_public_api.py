"""The public names exist and are light to import."""

import subprocess
import sys

import pytest

import auditor


def test_importing_the_package_loads_no_heavy_library():
    code = "import auditor, sys; print([m for m in ('pyarrow', 'numpy', 'msgspec', 're2', 'yaml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = auditor.no_such_name
