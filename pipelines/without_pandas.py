"""Makes imports of pandas fail in this process: where it is installed, Arrow imports it for a third of a start."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def leave_out_pandas() -> None:
    """Make this process find a pandas that is installed, and not load it: Arrow then works without."""
    sys.meta_path.insert(0, _Finder())


class _Finder:
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the place of pandas, with this as its loader; None for other modules, which others find."""
        spec = PathFinder.find_spec(name, path, target) if name == "pandas" else None
        if spec is not None:
            spec.loader = self  # type: ignore[assignment]
        return spec

    def create_module(self, _: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Refuse to load it.

        Raises:
            ImportError: Always.
        """
        raise ImportError("pandas is not used here", name=module.__name__)
