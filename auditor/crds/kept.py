"""Stores parsed definitions for later runs (`auditor.base.disk_cache`)."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace
from typing import Final

from auditor.base.disk_cache import active_cache
from auditor.crds.definition import CustomResourceDefinition, parse_definition
from auditor.golang import jsontext
from auditor.releases import active

__all__ = ["parse_text"]

_KIND: Final = "definition"


def parse_text(text: bytes, *, stored: bool) -> CustomResourceDefinition:
    """Return the definition in a JSON text, as `parse_definition` does, parsed now or in an earlier run.

    Raises:
        SchemaError: As `parse_definition`.
        GoJsonError: The text is not JSON.
    """
    document = jsontext.decode(text)
    cache = active_cache()
    if cache is None:
        return parse_definition(document, stored=stored)
    key = hashlib.sha256(b"%s %d " % (active().name.encode(), stored) + text).digest()
    data = cache.get(_KIND, key)
    if data is not None:
        found = pickle.loads(data)  # noqa: S301 - of a file that no one else can write
        if isinstance(found, CustomResourceDefinition):
            return replace(found, document=document)
    made = replace(parse_definition(document, stored=stored), digest=key)
    try:
        data = pickle.dumps(replace(made, document={}), pickle.HIGHEST_PROTOCOL)
    except RecursionError:  # too deeply nested
        return made
    cache.put(_KIND, key, data)
    return made
