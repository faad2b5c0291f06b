"""The words of the server's answer to a server-side apply of an object that does not fit its types.

Apart from `server_side_apply`, as views need them and not the types.
"""

from __future__ import annotations

import re
from typing import Final

APPLY_FAILS: Final = "failed to create "
"""Begin of the answer."""
_CALLED: Final = re.compile(r"\)(?: to smd typed)?: ")


def faults_in(answer: str) -> str:
    """Return what does not fit in an answer of `apply_fault`, which begins with the name of the object."""
    return _CALLED.split(answer, 1)[-1]
