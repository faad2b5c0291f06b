"""Archives and trees of backups: many files that together are one dump.

In: a tar in any compression, a zip, or a folder, read once from front to end; names decide what each file is. Out:
plans. Objects go to one spool, each once; a database inside an archive becomes a plan of its own. No file is ever
written under a name that an archive gives, so no name leads anywhere; those that try are reported.

layouts.py knows the tools (Velero, Rancher's backup operator, must-gather and `oc adm inspect`, `kubectl cluster-info
dump`, etcd data directories) by the paths they write, members.py the containers, reading.py puts both together.
"""

from auditor.sources.archives.layouts import LAYOUTS, Layout, layout_of
from auditor.sources.archives.members import Member, folder_members, tar_members, zip_members
from auditor.sources.archives.reading import open_archive, open_tree

__all__ = [
    "LAYOUTS",
    "Layout",
    "Member",
    "folder_members",
    "layout_of",
    "open_archive",
    "open_tree",
    "tar_members",
    "zip_members",
]
