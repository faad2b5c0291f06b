"""Stores the compiled code of generated functions for later runs (`auditor.base.disk_cache`).

There is one file for each program (by the first word of its title); it maps the hash of each source to its code.
Sources are generated in each run, so that stored code is used only for exactly the same source.
"""

from __future__ import annotations

import hashlib
import marshal
from types import CodeType
from typing import Final

from auditor.base.disk_cache import active_cache

__all__ = ["compiled", "keep_code"]

_KIND: Final = "code"
_MOST: Final = 2 << 20
"""If the code of one program has more bytes than this, only the code that this process needed is stored."""

_books: dict[str, dict[bytes, bytes]] = {}
_needed: dict[str, dict[bytes, bytes]] = {}
_changed: set[str] = set()


def compiled(source: str, filename: str, title: str) -> CodeType:
    """Return the code of a module, compiled now or in an earlier run.

    Args:
        source: The module.
        filename: The name of its file, for tracebacks.
        title: Title of the module; its first word names the program.
    """
    if active_cache() is None:
        return compile(source, filename, "exec")
    name = title.partition(" ")[0]
    book = _books.get(name)
    if book is None:
        book = _books[name] = _read(name)
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()
    data = book.get(digest)
    if data is None:
        code = compile(source, filename, "exec")
        data = book[digest] = marshal.dumps(code)
        _changed.add(name)
    else:
        code = _renamed(marshal.loads(data), filename)  # noqa: S302 - of a file that no one else can write
    _needed.setdefault(name, {})[digest] = data
    return code


def keep_code() -> None:
    """Store the code compiled since the last call, merged with the code that other processes stored meanwhile."""
    cache = active_cache()
    if cache is None or not _changed:
        return
    for name in sorted(_changed):
        whole = _read(name) | _books[name]
        if sum(map(len, whole.values())) > _MOST:
            whole = _needed[name]
        cache.put(_KIND, name.encode("utf-8", "surrogatepass"), marshal.dumps(whole))
    _changed.clear()


def _read(name: str) -> dict[bytes, bytes]:
    cache = active_cache()
    data = None if cache is None else cache.get(_KIND, name.encode("utf-8", "surrogatepass"))
    if data is None:
        return {}
    found = marshal.loads(data)  # noqa: S302 - of a file that no one else can write
    return found if type(found) is dict else {}


def _renamed(code: CodeType, filename: str) -> CodeType:
    inner = tuple(_renamed(one, filename) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=filename, co_consts=inner)
