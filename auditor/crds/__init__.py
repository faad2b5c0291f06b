"""Definitions: documents in the form of v1 or v1beta1 to records of what is served, and how objects are converted.

In: decoded documents. Out: CustomResourceDefinition, CrdCatalog; what no server could decode is named, not raised. What
is wrong with a definition that a server would refuse today is another room's. Follows apiextensions-apiserver
pkg/apis/apiextensions and pkg/apiserver/conversion.
"""

from auditor.crds.catalog import CrdCatalog
from auditor.crds.conversion import NEEDS_WEBHOOK, ConversionError, convert, parse_group_version
from auditor.crds.definition import CrdVersion, CustomResourceDefinition, Scale, parse_definition

__all__ = [
    "NEEDS_WEBHOOK",
    "ConversionError",
    "CrdCatalog",
    "CrdVersion",
    "CustomResourceDefinition",
    "Scale",
    "convert",
    "parse_definition",
    "parse_group_version",
]
