"""Values that the API server's own transformers (apiserver v0.37.2) sealed, and what they say when reading them back.

vectors.json holds, with the keys that protect nothing:
configs: EncryptionConfigurations by name. cases: for one of these, a resource and an etcd key, the stored value and
either the plain one or the error of the configuration's transformer for that resource. refused: configurations with
the error of LoadEncryptionConfig (none: accepted). kms: values of KMS providers whose plugin wraps a data key by
turning its bytes round, each xor 0x5a.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors.json").read_bytes())

UNWRAP = "import sys; sys.stdout.buffer.write(bytes(b ^ 0x5A for b in reversed(sys.stdin.buffer.read())))"
COMMAND = f"{sys.executable} -c '{UNWRAP}'"
