"""Tells what a new release of definitions does to clients, without any object.

Input: the documents of an old and a new release. Output: each change with its effect under the server's rules, and for
a change that breaks something an object that proves it (`compare.py`). Objects are made from the schemas (`values.py`,
`strings.py`), tried by the engine under both definitions (`trial.py`), and made small (`witness.py`). `positions.py`
finds where schemas differ, `versions.py` judges the differences of a version, `implied.py` proves some harmless.
Nothing here reads files, and only `change.py` is imported with the package: views have its words.
"""

from auditor.crddiff.change import BREAKS, CHANGES, EFFECTS, HARMLESS, MAY_BREAK, VERDICTS, Change

__all__ = ["BREAKS", "CHANGES", "EFFECTS", "HARMLESS", "MAY_BREAK", "VERDICTS", "Change"]
