"""GitLab Code Quality: a JSON array with one entry for each problem.

Source: GitLab's documentation of code quality reports: unique fingerprints, paths without `./`, five severities.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from auditor.base.visible import visible
from auditor.output.formats.problems import cut

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.output.formats.problems import Content


_SEVERITIES: Final = {"critical": "blocker", "high": "critical", "medium": "major", "low": "minor"}
_LONGEST: Final = 1000


def write_code_quality(content: Content, out: TextIO) -> None:
    """Write what was not read, and the problems that are not accepted."""
    out.write("[")
    number = 0
    for problem in content.entries():
        if problem.accepted:
            continue
        entry = {
            "description": cut(visible(problem.sentence), _LONGEST),
            "check_name": f"{problem.check}/{problem.type}",
            "fingerprint": problem.fingerprint,
            "severity": _SEVERITIES[problem.severity],
            "location": {"path": problem.uri, "lines": {"begin": problem.line}},
        }
        out.write(",\n" if number else "\n")
        out.write(json.dumps(entry))
        number += 1
    out.write("\n]\n")
