"""Named formats: the texts that match, and the server's messages for others."""

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import NONE, Optional_
from auditor.cel.library.named_formats import FORMATS, functions
from auditor.cel.operations.equality import equal_not_null
from tests.cel.library.calling import outcome

LIBRARY = functions()
ENDS = "must start and end with an alphanumeric character"
LABEL = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {ENDS} (e.g. 'my-name',"
    "  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {ENDS} (e.g. "
    "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
KEY = (
    f"must consist of alphanumeric characters, '-', '_' or '.', and {ENDS} (e.g. 'MyName',  or 'my.name',  or "
    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {ENDS} (e.g. "
    "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("name", "text", "complaints"),
    [
        ("dns1123Label", "a-1", []),
        ("dns1123Label", "", [LABEL]),
        ("dns1123Label", "A", [LABEL]),
        ("dns1123Label", "a\n", [LABEL]),
        ("dns1123Label", "a.b", ["must not contain dots"]),
        ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
        ("dns1123Label", "é" * 32, ["must be no more than 63 characters", LABEL]),
        ("dns1123Subdomain", "a.b-c", []),
        ("dns1123Subdomain", "a..b", [SUBDOMAIN]),
        ("dns1123Subdomain", "a" * 254, ["must be no more than 253 characters"]),
        ("dns1035Label", "a1", []),
        ("dns1035Label", "1a", [LABEL_1035]),
        ("dns1035Label", "a.b", [LABEL_1035]),
        ("qualifiedName", "a.b/My_Name", []),
        ("qualifiedName", "", ["name part must be non-empty", f"name part {KEY}"]),
        ("qualifiedName", "/a", ["prefix part must be non-empty"]),
        ("qualifiedName", "A/b", [f"prefix part {SUBDOMAIN}"]),
        ("qualifiedName", "a" * 254 + "/b", ["prefix part must be no more than 253 bytes"]),
        ("qualifiedName", "a/" + "b" * 64, ["name part must be no more than 63 bytes"]),
        (
            "qualifiedName",
            "a/b/c",
            [f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
        ("dns1123LabelPrefix", "a-", []),
        ("dns1123LabelPrefix", "-", [LABEL]),
        ("dns1123LabelPrefix", "--", []),
        ("dns1123LabelPrefix", "a.b.-", ["must not contain dots"]),
        ("dns1123LabelPrefix", "aé-", [LABEL]),
        ("dns1123SubdomainPrefix", "a.b.-", []),
        ("dns1123SubdomainPrefix", "", [SUBDOMAIN]),
        ("dns1035LabelPrefix", "a-", []),
        ("dns1035LabelPrefix", "1-", []),
        ("dns1035LabelPrefix", "1x-", [LABEL_1035]),
        ("labelValue", "", []),
        ("labelValue", "a_B.c", []),
        ("labelValue", "a/b", [VALUE]),
        ("labelValue", "a" * 64, ["must be no more than 63 bytes"]),
        ("uri", "http://h/", []),
        ("uri", "::bad", ['parse "::bad": missing protocol scheme']),
        ("uuid", "123E4567e89b-12d3a456-426614174000", []),
        ("uuid", "123e4567", ["does not match the UUID format"]),
        ("byte", "aGk=", []),
        ("byte", "+/==", []),
        ("byte", "", ["invalid base64"]),
        ("byte", "a-_=", ["invalid base64"]),
        ("byte", "aGk=\n", ["invalid base64"]),
        ("date", "2024-02-29", []),
        ("date", "2023-02-29", ["invalid date"]),
        ("datetime", "2024-01-01t23:59:59x5z", []),
        ("datetime", "2024-01-01T00:00:00+25:99", []),
        ("datetime", "2024-01-01T00:00:00ZTanything", []),
        ("datetime", "2024-01-01T24:00:00Z", ["invalid datetime"]),
        ("datetime", "2024-01-01", ["invalid datetime"]),
    ],
)
def test_a_format_says_what_is_wrong(name, text, complaints):
    form = outcome(LIBRARY, f"format.{name}")
    assert outcome(LIBRARY, "format-named", name) == Optional_.of(form)
    assert outcome(LIBRARY, "format-validate", form, text) == (Optional_.of(complaints) if complaints else NONE)


def test_formats_have_names_and_sizes():
    assert {name: (form.name, form.max_regex_size) for name, form in FORMATS.items()} == {
        "dns1123Label": ("DNS1123Label", 30),
        "dns1123Subdomain": ("DNS1123Subdomain", 60),
        "dns1035Label": ("DNS1035Label", 30),
        "qualifiedName": ("QualifiedName", 60),
        "dns1123LabelPrefix": ("DNS1123LabelPrefix", 30),
        "dns1123SubdomainPrefix": ("DNS1123SubdomainPrefix", 60),
        "dns1035LabelPrefix": ("DNS1035LabelPrefix", 30),
        "labelValue": ("LabelValue", 40),
        "uri": ("URI", 1103),
        "uuid": ("uuid", 70),
        "byte": ("byte", 84),
        "date": ("date", 71),
        "datetime": ("datetime", 71),
    }


def test_a_format_that_is_not_there_is_none():
    assert outcome(LIBRARY, "format-named", "dns1123label") == NONE


def test_formats_are_equal_by_name():
    one, other = FORMATS["date"], FORMATS["datetime"]
    assert equal_not_null(one, FORMATS["date"]) is True
    assert equal_not_null(one, other) is False
    assert equal_not_null(one, "date") == CelError("no such overload")
