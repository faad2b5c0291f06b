"""A command of the user that converts objects, where the API server would call a conversion webhook.

It reads a ConversionReview from standard input and writes one to standard output, within the limits of
`helper_command`. Its answer is checked as by the server. Objects of a shard are sent together; a failing review is
split in halves, so that each reason is that of one object.

Source: apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from auditor.crds.conversion import NEEDS_WEBHOOK, ConversionError, parse_group_version
from auditor.golang import jsontext
from auditor.golang.go_text import type_name
from auditor.sources.helper_command import HelperCommand, HelperFailed
from auditor.validation.objectmeta import check_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition


_OPTION: Final = "--convert-with"
_SECONDS: Final = 30.0
"""Seconds that a server waits for a webhook."""
_MOST: Final = 256 << 20
_BATCH_BYTES: Final = 8 << 20
_BATCH: Final = 500
_KNOWN_BYTES: Final = 64 << 20
"""Most bytes of cached answers; an object that is read several times is converted once."""
_GROUP: Final = "apiextensions.k8s.io"
_REVIEWS: Final = ("v1", "v1beta1")


class _CommandFailed(Exception):
    """The command gave no answer, so the answer of the webhook is unknown."""


class _ReviewRefused(Exception):
    """The error of a server about the answer to a whole review."""


class ConversionCommand:
    """Converts objects by a command; see the module.

    Args:
        command: The words of a command, quoted as in a shell; no shell runs it.

    Raises:
        PlanError: The command cannot be split into words, or is empty.
    """

    def __init__(self, command: str) -> None:
        self._command = HelperCommand(_OPTION, command, name="the conversion command", seconds=_SECONDS, most=_MOST)
        self._known: dict[tuple[str, str, str], str | ConversionError] = {}
        self._known_bytes = 0

    def prepare(self, definition: CustomResourceDefinition, version: str, objects: Sequence[JsonObject]) -> None:
        """Convert several objects at once, so that `convert` knows the answers.

        Args:
            definition: The definition of the objects.
            version: The version wanted.
            objects: The objects before their conversion.
        """
        texts: list[str] = []
        size = 0
        for obj in objects:
            if not _is_convertible(obj, definition, version):
                continue
            texts.append(jsontext.encode(obj))
            size += len(texts[-1])
            if size >= _BATCH_BYTES or len(texts) >= _BATCH:
                self._ask(definition, version, texts)
                texts, size = [], 0
        if texts:
            self._ask(definition, version, texts)

    def convert(self, obj: JsonObject, definition: CustomResourceDefinition, version: str) -> None:
        """Convert an object to a version of its definition, in place.

        Raises:
            ConversionError: The conversion failed, in the server's words, or the command gave no answer.
        """
        text = jsontext.encode(obj)
        key = (definition.name, version, text)
        if key not in self._known:
            self._ask(definition, version, [text])
        answer = self._known[key]
        if isinstance(answer, ConversionError):
            raise ConversionError(*answer.args)
        converted = jsontext.decode(answer.encode("utf-8", "surrogatepass"))
        obj.clear()
        obj.update(converted)

    def _ask(self, definition: CustomResourceDefinition, version: str, texts: list[str]) -> None:
        """Convert objects, and cache each result by the JSON of the object."""
        objects = [jsontext.decode(text.encode("utf-8", "surrogatepass")) for text in texts]
        try:
            answers = self._review(definition, version, objects)
        except (_CommandFailed, _ReviewRefused) as error:
            if len(texts) > 1:
                half = len(texts) // 2
                self._ask(definition, version, texts[:half])
                self._ask(definition, version, texts[half:])
                return
            kind = _kind_of(objects[0])
            text = f"conversion webhook for {kind} {error}"
            if isinstance(error, _CommandFailed):
                text = f"{NEEDS_WEBHOOK}: from {objects[0]['apiVersion']} to {definition.group}/{version}: {error}"
            self._remember((definition.name, version, texts[0]), ConversionError(text))
            return
        for text, original, converted in zip(texts, objects, answers, strict=True):
            answer: str | ConversionError
            try:
                answer = jsontext.encode(_checked(original, converted, f"{definition.group}/{version}"))
            except _ReviewRefused as refused:
                answer = ConversionError(f"conversion webhook for {_kind_of(original)} returned {refused}")
            self._remember((definition.name, version, text), answer)

    def _remember(self, key: tuple[str, str, str], answer: str | ConversionError) -> None:
        size = len(key[2]) + len(str(answer))
        if self._known_bytes + size > _KNOWN_BYTES:
            self._known.clear()
            self._known_bytes = 0
        self._known[key] = answer
        self._known_bytes += size

    def _review(self, definition: CustomResourceDefinition, version: str, objects: list[Any]) -> list[Any]:
        """Return the converted objects of one review; only their number is checked."""
        review = next((version for version in _review_versions(definition) if version in _REVIEWS), None)
        if review is None:
            raise _ReviewRefused("failed: no supported conversion review versions")
        uid = str(uuid.uuid4())
        request = {"uid": uid, "desiredAPIVersion": f"{definition.group}/{version}", "objects": objects}
        asked = {"kind": "ConversionReview", "apiVersion": f"{_GROUP}/{review}", "request": request}
        try:
            answer = self._command.ask(jsontext.encode(asked).encode("utf-8", "surrogatepass"))
        except HelperFailed as failed:
            raise _CommandFailed(str(failed)) from None
        try:
            document = jsontext.decode(answer)
        except jsontext.GoJsonError as error:
            raise _ReviewRefused(f"failed: {error}") from None
        converted = _converted(document, review, uid)
        if len(converted) != len(objects):
            raise _ReviewRefused(f"returned {len(converted)} objects, expected {len(objects)}")
        return converted


def _is_convertible(obj: JsonObject, definition: CustomResourceDefinition, version: str) -> bool:
    """Return whether a read calls the webhook for an object: it is of the group, at another existing version."""
    api_version = obj.get("apiVersion")
    group, stored = (parse_group_version(api_version) or ("", "")) if type(api_version) is str else ("", "")
    return group == definition.group and stored != version and stored in definition.versions and len(obj) != 2


def _review_versions(definition: CustomResourceDefinition) -> list[Any]:
    spec = definition.document.get("spec")
    conversion = spec.get("conversion") if type(spec) is dict else None
    if type(conversion) is not dict:
        return []
    webhook = conversion.get("webhook")
    parts = (webhook if type(webhook) is dict else {}, conversion)  # as in v1 and v1beta1
    versions = next((part["conversionReviewVersions"] for part in parts if part.get("conversionReviewVersions")), None)
    return versions if type(versions) is list else ["v1beta1"]


def _converted(document: Any, review: str, uid: str) -> list[Any]:
    """Return the objects in the answer to a review.

    Raises:
        _Refused: The answer is malformed, or reports that the conversion failed.
    """
    if type(document) is not dict:
        raise _ReviewRefused(f"failed: json: cannot unmarshal {type_name(document)} into a ConversionReview")
    identity = (document.get("apiVersion"), document.get("kind"))
    if review == "v1" and identity != (f"{_GROUP}/v1", "ConversionReview"):
        wanted, got = f"{_GROUP}/v1, Kind=ConversionReview", f"{identity[0] or '/'}, Kind={identity[1] or ''}"
        raise _ReviewRefused(f"failed: expected webhook response of {wanted}, got {got}")
    response = document.get("response")
    if type(response) is not dict:
        raise _ReviewRefused("failed: no response provided")
    if review == "v1" and response.get("uid") != uid:
        raise _ReviewRefused(f'failed: expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    result = response.get("result")
    result = result if type(result) is dict else {}
    if result.get("status") != "Success":
        plain = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
        raise _ReviewRefused(f"failed: {result.get('message') or plain}")
    converted = response.get("convertedObjects")
    return converted if type(converted) is list else []


def _checked(original: JsonObject, converted: Any, api_version: str) -> JsonObject:
    """Return a converted object with the metadata of the original one, except for labels and annotations.

    Raises: _Refused: The server does not accept it.
    """
    if type(converted) is not dict:
        raise _ReviewRefused(f"invalid object: {type_name(converted)} is no object")
    for name, label in (("apiVersion", "groupVersion"), ("kind", "kind")):
        expected = api_version if name == "apiVersion" else original.get(name)
        if converted.get(name) != expected:
            got = converted.get(name, "")
            raise _ReviewRefused(f"invalid object at index 0: invalid {label} (expected {expected}, received {got})")
    before, after = original.get("metadata"), converted.get("metadata")
    before = before if type(before) is dict else {}
    if type(after) is not dict:
        what = (
            "missing metadata in" if "metadata" not in converted else f"invalid metadata of type {type_name(after)} in"
        )
        raise _ReviewRefused(f"invalid metadata: {what} converted object")
    for name, label in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        old, new = (part.get(name) if type(part.get(name)) is str else "" for part in (before, after))
        if old != new:
            raise _ReviewRefused(f"invalid object: must have the same {label}: {old} != {new}")
    return {**converted, "metadata": _restored(before, after)}


def _restored(before: JsonObject, after: JsonObject) -> JsonObject:
    out = dict(before)
    for name in ("labels", "annotations"):
        value = after.get(name)
        if value is None:
            out.pop(name, None)
            continue
        if type(value) is not dict:
            raise _ReviewRefused(
                f"invalid metadata: invalid metadata.{name} of type {type_name(value)} in converted object"
            )
        for key, text in value.items():
            if type(text) is not str:
                what = f"metadata.{name}[{key}] must be a string, but is {type_name(text)} in converted object"
                raise _ReviewRefused(f"invalid metadata: {what}")
        if value != (before.get(name) or {}):
            _check_texts(name, value)
        out[name] = value
    return out


def _check_texts(name: str, value: JsonObject) -> None:
    findings = check_metadata({"name": "a", name: value}, namespaced=False, name_rule=lambda *_: ())
    texts = [finding.message for finding in findings if finding.field.startswith(f"metadata.{name}")]
    if texts:
        shown = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        raise _ReviewRefused(f"invalid metadata: {shown}")


def _kind_of(obj: JsonObject) -> str:
    return f"{obj.get('apiVersion', '')}, Kind={obj.get('kind', '')}"
