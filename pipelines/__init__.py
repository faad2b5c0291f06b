"""Processes, files and the command line around the auditor.

`run.py` chains the stages plan, read and audit, index, report; stages never call each other, engines know none of them.
"""
