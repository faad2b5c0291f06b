"""What all that `auditor.open` returns has in common: it can be closed, by `with` too, and lists its public names."""

from __future__ import annotations

from typing import Self


class Closing:
    """Something that is opened and can be closed; a context manager."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def close(self) -> None:
        """Close it."""
        raise NotImplementedError
