"""Makes the CycloneDX bill of materials of our binaries.

maturin can make one too, but with the time, a random number and the paths of the machine in it.
"""

from __future__ import annotations

from typing import Any

from linked import Crate, Key, Linked


def bill_of_materials(parts: Linked) -> dict[str, Any]:
    """The bill as JSON values, sorted by crate."""
    ours = purl(("mcpool", parts.version))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": ours,
                "name": "mcpool",
                "version": parts.version,
                "licenses": [{"expression": "Apache-2.0 OR MIT"}],
                "purl": ours,
            },
        },
        "components": [component(crate) for crate in parts.crates],
        "dependencies": [
            {"ref": ours, "dependsOn": [purl(key) for key in parts.direct]},
            *(
                {"ref": purl(crate.key), "dependsOn": [purl(key) for key in crate.dependencies]}
                for crate in parts.crates
            ),
        ],
    }


def component(crate: Crate) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl(crate.key),
        "name": crate.name,
        "version": crate.version,
        "description": crate.description,
        "scope": "required",
        "hashes": [{"alg": "SHA-256", "content": crate.checksum}],
        "licenses": [{"expression": crate.licence}],
        "purl": purl(crate.key),
    }
    if crate.repository:
        entry["externalReferences"] = [{"type": "vcs", "url": crate.repository}]
    return entry


def purl(key: Key) -> str:
    """The package URL of a crate; a version may have a plus sign, which has to be escaped."""
    name, version = key
    return f"pkg:cargo/{name}@{version.replace('+', '%2B')}"
