"""Archives and folders of backups: many files that are one dump together.

Input: a tar in any compression, a zip, or a folder, read once from start to end; the name decides how each file is
used. Output: plans. Objects go to one spool, each once; a database inside an archive has its own plan. No file is
written under a name from an archive, so path traversal is not possible; attempts are reported.

layouts.py knows the tools (Velero, Rancher's backup operator, must-gather and `oc adm inspect`, `kubectl cluster-info
dump`, etcd data directories) by the paths that they write; members.py reads the containers, archive_plans.py combines
both.
"""

from auditor.sources.archives.archive_plans import open_archive, open_tree
from auditor.sources.archives.layouts import LAYOUTS, ArchiveLayout, layout_of
from auditor.sources.archives.members import Member, folder_members, tar_members, zip_members

__all__ = [
    "LAYOUTS",
    "ArchiveLayout",
    "Member",
    "folder_members",
    "layout_of",
    "open_archive",
    "open_tree",
    "tar_members",
    "zip_members",
]
