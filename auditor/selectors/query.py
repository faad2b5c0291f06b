"""The index of a report: open it, find a kind in it, select rows by labels and fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from auditor.errors import PlanError, SelectorError
from auditor.selectors.grammar import parse_field_selector, parse_label_selector

if TYPE_CHECKING:
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement

__all__ = ["Index", "IndexedKind", "open_index"]

_HIDDEN = ("cluster",)


@dataclass(frozen=True, slots=True)
class IndexedKind:
    """One partition of the index."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    storage: bool
    folder: Path


class Index:
    """The index of one report. Open it with `open_index`."""

    def __init__(self, report: Path) -> None:
        self.report = report
        self.kinds = tuple(self._kinds())

    def _kinds(self) -> list[IndexedKind]:
        known = {}
        path = self.report / "versions.parquet"
        if path.exists():
            for row in pq.read_table(path).to_pylist():
                known[(row["group"], row["version"], row["kind"])] = row
        out = []
        for folder in sorted((self.report / "index").glob("group=*/version=*/kind=*")):
            group, version, kind = (part.partition("=")[2] for part in folder.parts[-3:])
            row = known.get((group, version, kind), {})
            first = next(iter(sorted(folder.glob("*.parquet"))))
            namespaces = pq.read_table(first, columns=["namespace"])["namespace"]
            out.append(
                IndexedKind(
                    group="" if group == "core" else group,
                    version=version,
                    kind=kind,
                    plural=row.get("plural") or kind.lower() + "s",
                    namespaced=namespaces.null_count < len(namespaces),
                    storage=bool(row.get("storage")),
                    folder=folder,
                )
            )
        return out

    def resolve(self, text: str) -> IndexedKind:
        """Find a kind by KIND, plural, plural.group or KIND.version.group; case does not count.

        Raises:
            PlanError: No such kind, with what comes nearest, or more than one.
        """
        wanted = text.lower()
        hits = [kind for kind in self.kinds if wanted in _names(kind)]
        exact = [kind for kind in hits if wanted in _names(kind, with_version=True)]
        if exact and exact != hits:
            hits = exact
        groups = sorted({f"{kind.plural}.{kind.group}" for kind in hits})
        if len(groups) > 1:
            raise PlanError(text, "is ambiguous", "one of " + ", ".join(groups))
        if not hits:
            import difflib  # noqa: PLC0415

            names = sorted({name for kind in self.kinds for name in (kind.plural, kind.kind.lower())})
            near = difflib.get_close_matches(wanted.partition(".")[0], names, 3)
            raise PlanError(
                "",
                f'the server doesn\'t have a resource type "{text}"',
                "",
                "did you mean " + " or ".join(near) + "?" if near else "the index has: " + ", ".join(names),
            )
        return next((kind for kind in hits if kind.storage), hits[-1])

    def select(self, kind: str, *, field_selector: str = "", label_selector: str = "", namespace: str = "") -> pa.Table:
        """Return the rows of a kind that fit all selectors, in the order of the index.

        Args:
            kind: As `resolve` takes it.
            field_selector: The server's grammar; only metadata.name, metadata.namespace and the version's fields.
            label_selector: The server's grammar.
            namespace: Only this one; empty for all.
        Raises:
            SelectorError: In the server's words.
            PlanError: No such kind.
        """
        place = self.resolve(kind)
        data = ds.dataset([str(path) for path in sorted(place.folder.glob("*.parquet"))], format="parquet")
        requirements = parse_field_selector(field_selector)
        labels = parse_label_selector(label_selector)
        condition = _condition(requirements, namespace, data.schema.names, namespaced=place.namespaced)
        columns = [name for name in data.schema.names if name not in _HIDDEN]
        table = data.to_table(columns=columns, filter=condition)
        return _with_labels(table, labels)


def _names(kind: IndexedKind, *, with_version: bool = False) -> set[str]:
    out = set()
    for name in (kind.kind.lower(), kind.plural):
        if not with_version:
            out |= {name, f"{name}.{kind.group}"}
        out.add(f"{name}.{kind.version}.{kind.group}")
    return out


def _condition(
    requirements: tuple[FieldRequirement, ...], namespace: str, columns: list[str], *, namespaced: bool
) -> pc.Expression | None:
    condition: pc.Expression | None = pc.field("namespace") == namespace if namespace else None
    for requirement in requirements:
        label = requirement.label
        if label == "metadata.name":
            column = pc.field("name")
        elif label == "metadata.namespace" and namespaced:
            column = pc.field("namespace")
        elif f"field:{label}" in columns:
            column = pc.field(f"field:{label}")
        else:
            raise SelectorError("", f"field label not supported: {label}")
        term = pc.coalesce(column, pc.scalar("")) == requirement.value
        term = ~term if requirement.negated else term
        condition = term if condition is None else condition & term
    return condition


def _with_labels(table: pa.Table, requirements: tuple[LabelRequirement, ...]) -> pa.Table:
    if not requirements:
        return table
    keep = [
        all(requirement.matches(dict(labels or ())) for requirement in requirements)
        for labels in table["labels"].to_pylist()
    ]
    return table.filter(pa.array(keep, pa.bool_()))


def open_index(path: str | Path) -> Index:
    """Open the index of a report.

    Raises:
        PlanError: The folder is no report.
    """
    report = Path(path)
    if not (report / "index").is_dir() and not (report / "manifest.json").exists():
        raise PlanError(str(path), "is no report", "the --report folder of an audit")
    return Index(report)
