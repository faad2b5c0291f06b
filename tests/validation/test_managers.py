"""Who manages fields: which characters print is said by Go's Unicode, not by that of the Python at hand."""

from __future__ import annotations

import pytest

from tests.validation.support import foo, messages, validator

AT = "metadata.managedFields[0].manager"


@pytest.mark.parametrize(
    ("manager", "shown"),
    [
        ("kubectl", ""),
        ("é 言", ""),
        ("a\u0cf3", ""),  # Unicode 15.0, as Go has it; Python 3.11 has 14.0
        ("a\u2ffc", "\\u2ffc|U+2FFC (at position 1)"),  # Unicode 15.1, as Python 3.13 has it
        ("é\u00a0", "\\u00a0|U+00A0 (at position 2)"),
        ("\t", "\\t|U+0009 (at position 0)"),
    ],
)
def test_what_prints_to_go_may_be_in_a_manager(manager: str, shown: str) -> None:
    entry = {"manager": manager, "operation": "Update", "apiVersion": "g.io/v1", "time": "2024-01-01T00:00:00Z"}
    fields = [{**entry, "fieldsType": "FieldsV1", "fieldsV1": {}}]
    quoted, _, character = shown.partition("|")
    wanted = [f'{AT}: Invalid value: "{manager[:-1]}{quoted}": invalid character {character}'] if shown else []
    assert messages(validator({"type": "object"}).run(foo(managedFields=fields))) == wanted
