# The types of the public names, which `__init__.py` loads when they are asked for.

from auditor.base.errors import AuditorError as AuditorError
from auditor.base.records import AuditedObject as AuditedObject
from auditor.base.records import Finding as Finding
from auditor.base.records import Unreadable as Unreadable
from auditor.base.release import KUBERNETES_RELEASE as KUBERNETES_RELEASE
from auditor.crdcheck import CheckedDefinition as CheckedDefinition
from auditor.crdcheck import check_crd as check_crd
from auditor.crdcheck import check_crd_update as check_crd_update
from auditor.crds.catalog import CrdCatalog as CrdCatalog
from auditor.releases import running_as as running_as
from auditor.shards.batches import audit_batches as audit_batches
from auditor.shards.batches import batch_schema as batch_schema
from auditor.updates.request import audit_object as audit_object
from auditor.updates.request import check_update as check_update
from auditor.updates.request import try_update as try_update
from auditor.updates.update import CheckedUpdate as CheckedUpdate
from auditor.updates.update import TriedUpdate as TriedUpdate
from pipelines.run.python_api import OpenedDump as OpenedDump
from pipelines.run.python_api import OpenedReport as OpenedReport
from pipelines.run.python_api import OpenedTables as OpenedTables
from pipelines.run.python_api import StoredObject as StoredObject
from pipelines.run.python_api import open as open  # noqa: A004 - its name is `auditor.open`
from pipelines.run.python_api import open_index as open_index

__version__: str
