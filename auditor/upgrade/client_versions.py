"""The versions at which clients read and write objects: those that a definition serves.

A server checks a write by the rules of the version that the client asks for, and drops what that version does not have.
So an object may be fine at one version and refused at another; the storage version counts only if it is served, too.

Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go (serve, crdConversionRESTOptionsGetter).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from auditor.upgrade.pairing import Pairing, same_version

if TYPE_CHECKING:
    from auditor.crds.definition import CustomResourceDefinition


class OtherVersion(NamedTuple):
    """A version that clients use beside the one at which an object is judged first.

    Attributes:
        name: Its name in the new definition.
        before: The version of the old definition that clients use until then.
        pairing: The two definitions at these versions.
    """

    name: str
    before: str
    pairing: Pairing


def client_version(definition: CustomResourceDefinition) -> str | None:
    """Return the version at which an object is judged first: the storage version, else the first that is served.

    It is the storage version too where no version is served; None if there is none.
    """
    storage = definition.storage_version
    if storage is not None and storage.served:
        return storage.name
    served = [version.name for version in definition.served_versions]
    return served[0] if served else None if storage is None else storage.name


def other_versions(
    old: CustomResourceDefinition, new: CustomResourceDefinition, judged_at: str
) -> tuple[OtherVersion, ...]:
    """Return the versions at which an upgrade may do something else to an object than at the one where it was judged.

    Where the version that clients are taken to use is no longer served, they have to use another one, and what they can
    do today is compared with that.

    Args:
        old: The definition before.
        new: The definition after.
        judged_at: The version of the new definition at which objects are judged first.
    """
    first = client_version(old)
    if first is None:
        return ()
    stays = any(version.name == first for version in new.served_versions)
    served = {version.name for version in old.served_versions}
    is_converted = new.conversion == "Webhook"
    out = []
    for after in new.served_versions:
        before = after.name if stays and after.name in served else first
        is_like_first = same_version(after, new.versions[judged_at]) and same_version(
            old.versions[before], old.versions[first]
        )
        if after.name != judged_at and (is_converted or not is_like_first):
            out.append(OtherVersion(after.name, before, Pairing(old, new, before, after.name)))
    return tuple(out)
