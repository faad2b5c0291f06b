"""Stores what compiling the rules of a definition finds, for later runs (`auditor.base.disk_cache`).

Most rules of a cluster are on fields that no object of a dump has, or are proven by generated code that is stored too.
With the facts in the cache a rule compiles when it is first evaluated.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Final

from auditor.base.disk_cache import active_cache
from auditor.validation.rules.compile import RuleFacts, compile_rules, compile_with_facts

if TYPE_CHECKING:
    from auditor.schema.structural import StructuralSchema
    from auditor.validation.rules.compile import RuleNode

__all__ = ["compile_cached"]

_KIND: Final = "rules"


def compile_cached(schema: StructuralSchema | None, digest: bytes) -> RuleNode | None:
    """Return what `compile_rules` does.

    Args:
        schema: The schema.
        digest: Identifies the schema and the release; empty if that is not known, then nothing is stored.
    """
    cache = active_cache() if digest else None
    if cache is None or schema is None:
        return compile_rules(schema)
    data = cache.get(_KIND, digest)
    if data is None:
        root, found = compile_with_facts(schema)
        if found:
            cache.put(_KIND, digest, pickle.dumps([tuple(one) for one in found], pickle.HIGHEST_PROTOCOL))
        return root
    known = [RuleFacts(*one) for one in pickle.loads(data)]  # noqa: S301 - of a file that no one else can write
    try:
        return compile_with_facts(schema, known)[0]
    except ValueError:  # of another schema, which no auditor writes under this digest
        return compile_rules(schema)
