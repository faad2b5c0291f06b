"""Write the bill of materials of an installation into its folder: `sbom.cdx.json` (CycloneDX 1.6) and `LICENCES.txt`.

python bill_of_materials.py FOLDER
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

NOT_SHIPPED = frozenset({"pip", "setuptools"})


def licence_of(package: Distribution) -> str:
    """Return the licence that a package names: an SPDX expression, a short text, or its classifiers."""
    metadata = package.metadata
    named = metadata.get("License-Expression") or ""
    short = (metadata.get("License") or "").strip().partition("\n")[0]
    classified = [
        one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier") or () if one.startswith("License ::")
    ]
    return named or (short if 0 < len(short) < 60 else "") or ", ".join(classified) or "see the package"


def texts_of(package: Distribution) -> list[str]:
    """Return the texts of licences that a package contains."""
    found = []
    for path in package.files or ():
        name = path.name.upper()
        if name.startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE")) and ".dist-info" in str(path.parent):
            found.append(Path(str(package.locate_file(path))).read_text(encoding="utf-8", errors="replace").strip())
    return found


def component(package: Distribution) -> dict[str, Any]:
    """Return a package as a CycloneDX component."""
    name, version = package.metadata["Name"], package.version
    purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
    licence = {"license": {"name": licence_of(package)}}
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "licenses": [licence]}


def main(folder: Path) -> None:
    """Write both files."""
    packages = sorted(
        (one for one in distributions() if one.metadata["Name"].lower() not in NOT_SHIPPED),
        key=lambda one: one.metadata["Name"].lower(),
    )
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": [component(one) for one in packages],
    }
    (folder / "sbom.cdx.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    with (folder / "LICENCES.txt").open("w", encoding="utf-8") as out:
        for one in packages:
            out.write(f"{one.metadata['Name']} {one.version}: {licence_of(one)}\n")
        for one in packages:
            for text in texts_of(one):
                out.write(f"\n{'=' * 72}\n{one.metadata['Name']} {one.version}\n\n{text}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
