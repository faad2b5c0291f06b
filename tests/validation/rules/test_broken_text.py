"""Hosts and queries of URLs may decode to bytes that are not UTF-8. Answers are the server's."""

import pytest

from tests.validation.rules.definitions import definition, foo, messages
from tests.validation.rules.test_audit_run import run

HOST = "url(self.s).getHost()"
URL = "http://a%c3%e6%97z/"


def schema(rule, shown):
    rules = [{"rule": rule, "messageExpression": shown}] if shown else [{"rule": rule, "message": "m"}]
    return {"type": "object", "properties": {"s": {"type": "string"}}, "x-kubernetes-validations": rules}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (HOST, "a\ufffd\ufffd\ufffdz"),
        (f"{HOST}.upperAscii()", "A\ufffd\ufffd\ufffdZ"),
        (f"{HOST}.substring(1)", "\ufffd\ufffd\ufffdz"),
        (f"{HOST}.charAt(1) == '\ufffd'", "true"),
        (f"{HOST}.substring(0) == {HOST}", "false"),
        (f"{HOST}.trim() == {HOST}", "true"),
        (f"{HOST}.split('')", r'["a", "\xc3", "\xe6", "\x97", "z"]'),
        (f"bytes({HOST}).size()", "5"),
        (f"'%x'.format([{HOST}])", "61c3e6977a"),
        (f"{HOST}.find('[^a].')", "\ufffd\ufffd"),
        (f"{HOST}.find('[^a].') == '\ufffd\ufffd'", "false"),
        (f"{HOST}.findAll('.').size()", "5"),
        (f"{HOST}.matches(r'^a[^?]+\\bz$')", "true"),
    ],
)
def test_what_is_no_utf8_is_shown_as_the_servers_json_has_it(expression, text):
    found = messages(schema("false", f"'%s'.format([{expression}])"), {"s": URL})
    assert found == [f"spec: Invalid value: {text}"]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (f"{{'a': true}}[{HOST}]", "no such key: a\ufffd\ufffd\ufffdz"),
        (f"'x'.matches({HOST})", "error parsing regexp: invalid UTF-8: `\ufffd\ufffd\ufffdz`"),
        (f"'x'.find({HOST}) == ''", "Illegal regex: error parsing regexp: invalid UTF-8: `\ufffd\ufffd\ufffdz`"),
        (
            f"('%' + {HOST}.split('')[1]).format([1]) == ''",
            'could not parse formatting clause: unrecognized formatting clause "\u00c3"',
        ),
    ],
)
def test_errors_show_it_the_same_way(rule, text):
    assert messages(schema(rule, ""), {"s": URL}) == [f'spec: Invalid value: "object": {text} evaluating rule: m']


def test_a_run_writes_such_a_finding_down(tmp_path):
    _, findings, *_ = run(tmp_path, definition(schema("false", HOST)), foo({"s": URL}))
    created = [row["message"] for row in findings if row["request"] == "create"]
    assert created == ["spec: Invalid value: a\ufffd\ufffd\ufffdz"]
