"""The version of this project, and the release of Kubernetes that it reproduces by default."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
KUBERNETES_RELEASE: Final = "v1.37.2"
