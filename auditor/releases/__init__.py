"""The releases of Kubernetes: which are reproduced, which one is at the moment, and what differs between them.

A behaviour that differs is one record in `changes`. Code that behaves in two ways asks the record; no other code
compares releases.
"""

from auditor.releases import changes
from auditor.releases.release import DEFAULT, RELEASES, Release, active, find_release, running_as

__all__ = ["DEFAULT", "RELEASES", "Release", "active", "changes", "find_release", "running_as"]
