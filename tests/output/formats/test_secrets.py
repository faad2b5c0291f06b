"""No format, message, history or text of a report has a value of a Secret, in any form."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import urllib.parse
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from auditor.causes.filters import Filters
from auditor.causes.model import FindingsModel
from auditor.output.formats.problems import of_model
from auditor.output.formats.registry import FORMATS
from auditor.output.views.data import written
from auditor.output.views.listing import cause_lines, listing_lines
from auditor.output.views.message import message_data, message_text
from auditor.output.views.summary import summary_lines
from tests.causes.reports import audited
from tests.command import auditor
from tests.output.formats.clusters import SECRET_VALUES, drawn_dump, write_dump

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.output.formats.problems import Content

SEEDS = range(12)


def forms_of(value: str) -> set[str]:
    """Return a value as it could be hidden: as it is, escaped, in hexadecimal, and in base64 at any position."""
    data = value.encode()
    found = {value, json.dumps(value)[1:-1], urllib.parse.quote(value), urllib.parse.quote(value, safe=""), data.hex()}
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()
        found.add(text[4 if before else 0 : -4])  # without the groups that what is beside it has a part in
    return found


FORMS = {form for value in SECRET_VALUES for form in forms_of(value)}


def leaks(text: str) -> list[str]:
    """Return the values of Secrets in a text, also in what a page has compressed."""
    for packed in re.findall(r"[A-Za-z0-9+/]{200,}={0,2}", text):
        data = base64.b64decode(packed + "=" * (-len(packed) % 4))
        if data[:2] == b"\x1f\x8b":
            text += gzip.decompress(data).decode()
    return [form for form in FORMS if form in text]


def test_values_are_found_in_every_form() -> None:
    value = SECRET_VALUES[0]
    for form in (value, base64.b64encode(f"ab{value}cd".encode()).decode(), base64.b64encode(value.encode()).decode()):
        assert leaks(f"x {form} y")
    assert leaks(base64.b64encode(gzip.compress((value + "a b" * 1000 + str(list(range(200)))).encode())).decode())
    assert not leaks("nothing")


@pytest.fixture(scope="module", params=SEEDS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FindingsModel:
    """A report of Secrets that are whole, and of some that cannot be read."""
    folder = tmp_path_factory.mktemp("secrets")
    history = str(folder / "history")
    dump = drawn_dump(folder / "dump.json", request.param)
    return FindingsModel.open(audited(folder / "report", dump, history=history))


def unpacked(dump: Path) -> str:
    return "".join(base64.b64decode(one["value"]).decode() for one in json.loads(dump.read_text())["kvs"])


def test_the_dumps_have_the_values(tmp_path: Path) -> None:
    for seed in SEEDS:
        assert leaks(unpacked(drawn_dump(tmp_path / "dump.json", seed)))


@pytest.fixture(scope="module")
def content(model: FindingsModel) -> Content:
    """What formats write of the report; its problems are read once."""
    read = of_model(model)
    problems = list(read.problems())
    return replace(read, problems=lambda: iter(problems))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FORMATS)
def test_formats_have_no_value(name: str, content: Content) -> None:
    out = io.StringIO()
    FORMATS[name].write(replace(content), out)
    assert leaks(out.getvalue()) == []


def test_texts_and_messages_have_no_value(model: FindingsModel) -> None:
    content = of_model(model)
    texts = [message_text(content), json.dumps(message_data(content))]
    forms = ("json", "yaml", "ndjson", "csv", "markdown")
    texts += ["".join(written(model, model.causes, None, form)) for form in forms]
    assert any(name in text for text in texts for name in ("Secret", "secret"))
    lines = [*summary_lines(model, 200), *listing_lines(model, model.causes, 200, 0, wide=True)]
    for cause in model.causes:
        rows = [model.findings, model.objects][bool(cause.impact)](Filters(causes=(cause.digest,)))
        lines += cause_lines(model, cause, rows, 200, 0)
    texts += [line.text for line in lines]
    for text in texts:
        assert leaks(text) == []


def test_files_beside_the_report_have_no_value(model: FindingsModel) -> None:
    """The history, the causes and the manifest; findings/ and objects/ of Secrets are those of keys that cannot be read."""
    from auditor.base.arrow import read_parquet

    files = [*(model.path.parent / "history").iterdir(), model.path / "causes.parquet"]
    for path in files:
        assert leaks(str(read_parquet(path).to_pylist())) == []
    assert leaks((model.path / "manifest.json").read_text()) == []


def test_the_text_of_an_error_about_a_secret_is_in_no_format(tmp_path: Path) -> None:
    """What the server says of a key that it cannot read may quote a part of the value."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}}
    secret["metadata"]["creationTimestamp"] = SECRET_VALUES[0]  # type: ignore[index]
    dump = write_dump(tmp_path / "dump.json", {"/registry/secrets/b/a": json.dumps(secret).encode()})
    content = of_model(FindingsModel.open(audited(tmp_path / "report", dump)))
    assert [cause.kind for cause in content.causes] == ["Secret"]
    for form in FORMATS.values():
        out = io.StringIO()
        form.write(content, out)
        assert leaks(out.getvalue()) == []


MANIFESTS = {
    "plain": '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"p":"VALUE"}}',
    "typed": '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":"VALUE"}',
    "number": '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"p":{"q":"VALUE"}}}',
    "unknown": '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"VALUE":"x","stringData":{"p":"VALUE"}}',
    "type": '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"type":["VALUE"]}',
    "twice": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: VALUE\n  p: VALUE\n",
    "yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: [VALUE]\n",
}

WRITTEN = [form for form in FORMATS if form != "ndjson"]
"""The formats of `validate`, whose own ndjson answers the person who gave the manifest."""


@pytest.mark.parametrize("name", MANIFESTS)
def test_answers_to_manifests_have_no_value_in_a_format(name: str, tmp_path: Path) -> None:
    path = tmp_path / "secret.yaml"
    value = SECRET_VALUES[0]
    path.write_text(MANIFESTS[name].replace('"VALUE":"x",', '"surplus":"x",').replace("VALUE", value))
    outputs = [word for form in WRITTEN for word in ("-o", f"{form}={tmp_path / form}.out")]
    done = auditor("validate", path, *outputs)
    assert done.code == 1, done.output
    for form in WRITTEN:
        assert leaks((tmp_path / f"{form}.out").read_text()) == [], form
