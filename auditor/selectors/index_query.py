"""The index of a report: opens it, finds a kind, selects rows by labels, fields and predicates.

Rows are in partitions, one a group, version and kind, sorted by namespace and name. `row_groups` reads them.
"""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auditor.base.arrow import parquet_footer, read_parquet, whole_parquet
from auditor.base.errors import AuditorError, PlanError, SelectorError
from auditor.base.wording import counted, first_of
from auditor.crds.definition import parse_definition
from auditor.crds.definitions_file import DefinitionsFile
from auditor.golang import jsontext
from auditor.selectors.filters import And, ConstantFilter, Filter, LabelTerm, Term
from auditor.selectors.grammar import parse_field_selector, parse_label_selector
from auditor.selectors.partitions import recorded_folders
from auditor.selectors.row_groups import (
    FAILS,
    UNKNOWN,
    Group,
    Scan,
    in_order,
    may_match,
    scan_group,
    spared,
    with_decided,
)
from auditor.selectors.selectable_fields import field_types, is_alike, nullable_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement
    from auditor.selectors.predicates import Predicate


_HIDDEN, _MANIFEST = ("cluster",), "manifest.json"
POSITION = ("cluster", "source", "offset", "length", "mod_revision", "namespace", "name")
"""Columns that say where the object of a row is."""
FINDINGS = "findings"
"""Folder of a report with the findings."""


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
    numbers: tuple[tuple[int, int], ...] | None = None
    """First number of the parts of some clusters of a fleet, and the one after the last; None for all parts."""

    @property
    def parts(self) -> list[Path]:
        """Its files, in the order of the index."""
        parts = sorted(self.folder.glob("*.parquet"))
        if self.numbers is None:
            return parts
        return [path for path in parts if any(a <= int(path.stem.rpartition("-")[2]) < b for a, b in self.numbers)]


class Index:
    """The index of one report. Open it with `open_index`."""

    def __init__(self, report: Path) -> None:
        self.report = report
        self._footers: dict[Path, pq.FileMetaData] = {}
        self._hidden = () if (self._manifest() or {}).get("clusters") else _HIDDEN
        self.kinds = tuple(self._kinds())

    def __repr__(self) -> str:
        kinds = sorted({f"{kind.plural}.{kind.group}" for kind in self.kinds})
        names = f": {first_of(kinds, 3)}" if kinds else ""
        return f"<Index of {self.report}, {counted(len(kinds), 'kind')}{names}>"

    def _kinds(self) -> list[IndexedKind]:
        known: dict[tuple[str, ...], dict[str, Any]] = {}
        path = self.report / "versions.parquet"
        if path.exists():
            for row in read_parquet(path).to_pylist():
                known[(row["group"], row["version"], row["kind"])] = row
                known[(row["group"], row["version"], row["kind"], row["crd"])] = row
        root, out = self.report / "index", []
        folders = sorted(root.glob("group=*/version=*/kind=*"))
        names = recorded_folders(self._manifest(), (folder.relative_to(root).as_posix() for folder in folders))
        for folder in folders:
            whose = names[folder.relative_to(root).as_posix()]
            of_kind = (whose.group, whose.version, whose.kind)
            row = known.get((*of_kind, whose.crd)) or known.get(of_kind) or {}
            first = next(iter(sorted(folder.glob("*.parquet"))), None)
            if first is not None:
                out.append(
                    IndexedKind(
                        group=whose.group,
                        version=whose.version,
                        kind=whose.kind,
                        plural=whose.plural or row.get("plural") or whose.kind.lower() + "s",
                        namespaced=_has_namespaces(self.footer(first)),
                        storage=bool(row.get("storage")),
                        folder=folder,
                    )
                )
        return out

    def _manifest(self) -> dict[str, Any] | None:
        try:
            content = orjson.loads((self.report / _MANIFEST).read_bytes())  # the caller has checked that it is a report
        except (OSError, ValueError):
            return None
        return content if type(content) is dict else {}

    def footer(self, path: Path) -> pq.FileMetaData:
        """Return the footer of a part, read once."""
        footer = self._footers.get(path)
        if footer is None:
            footer = self._footers[path] = parquet_footer(path)
        return footer

    def schema(self, place: IndexedKind) -> pa.Schema:
        """Return the columns of a partition."""
        return self.footer((place.parts or replace(place, numbers=None).parts)[0]).schema.to_arrow_schema()

    def partition(self, group: str, version: str, kind: str, plural: str = "") -> IndexedKind | None:
        """Return the partition of a kind at a version, or None.

        Args:
            plural: The plural of the definition, if several have the kind.
        """
        of_kind = [entry for entry in self.kinds if (entry.group, entry.version, entry.kind) == (group, version, kind)]
        return next((entry for entry in of_kind if plural in ("", entry.plural)), None)

    def resolve(self, text: str) -> IndexedKind:
        """Find a kind by KIND, plural, plural.group or KIND.version.group; case is ignored.

        Raises:
            PlanError: No such kind (with the nearest names), or more than one.
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
            names = sorted({name for kind in self.kinds for name in (kind.plural, kind.kind.lower())})
            near = difflib.get_close_matches(wanted.partition(".")[0], names, 3)
            raise PlanError(
                "",
                f'the server doesn\'t have a resource type "{text}"',
                "",
                "did you mean " + " or ".join(near) + "?" if near else "the index has: " + ", ".join(names),
            )
        return next((kind for kind in hits if kind.storage), hits[-1])

    def select(
        self,
        kind: str,
        *,
        field_selector: str = "",
        label_selector: str = "",
        where: str = "",
        namespace: str = "",
        cluster: str | Sequence[str] = "",
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return the rows of a kind that fit all selectors, in the order of the index.

        Args:
            kind: As `resolve` takes it.
            field_selector: The server's grammar; only metadata.name, metadata.namespace and the version's fields.
            label_selector: The server's grammar.
            where: A CEL predicate over the object. What the index cannot decide is read from the dump of the report.
            namespace: Only this one; empty for all.
            cluster: For the report of a fleet only this one, or these; empty for all.
            columns: Only these; None for all.
        Raises:
            SelectorError: The message is in the server's words.
            PlanError: No such kind, or an expression that needs the objects, and their dump is not there.
        """
        tables = list(
            self.batches(
                kind,
                field_selector=field_selector,
                label_selector=label_selector,
                where=where,
                namespace=namespace,
                cluster=cluster,
                columns=columns,
            )
        )
        if not tables:
            place = self._of_clusters(self.resolve(kind), cluster)
            names, schema = self._columns(place, columns), self.schema(place)
            return pa.table({name: pa.array([], schema.field(name).type) for name in names})
        return pa.concat_tables(tables)

    def stream(
        self,
        kind: str,
        *,
        field_selector: str = "",
        label_selector: str = "",
        where: str = "",
        namespace: str = "",
        cluster: str | Sequence[str] = "",
        columns: Sequence[str] | None = None,
    ) -> pa.RecordBatchReader:
        """Return what `select` returns as a stream; a few row groups are in memory at a time.

        DuckDB, polars and everything else that takes an Arrow stream reads it directly.
        """
        place = self._of_clusters(self.resolve(kind), cluster)
        schema = self.schema(place)
        wanted = pa.schema([schema.field(name) for name in self._columns(place, columns)])
        selected = self.batches(
            kind,
            field_selector=field_selector,
            label_selector=label_selector,
            where=where,
            namespace=namespace,
            cluster=cluster,
            columns=columns,
        )
        batches = (batch for table in selected for batch in table.cast(wanted).to_batches())
        return pa.RecordBatchReader.from_batches(wanted, batches)

    def batches(
        self,
        kind: str,
        *,
        field_selector: str = "",
        label_selector: str = "",
        where: str = "",
        namespace: str = "",
        cluster: str | Sequence[str] = "",
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the result of `select` in pieces, one for each row group with a match."""
        place = self._of_clusters(self.resolve(kind), cluster)
        schema = self.schema(place)
        condition = selector_filter(
            parse_field_selector(field_selector),
            parse_label_selector(label_selector),
            namespace,
            set(schema.names),
            namespaced=place.namespaced,
        )
        if not where:
            yield from self.scan(place, condition, columns=columns)
            return
        from auditor.selectors.pushdown import push_down  # noqa: PLC0415 - loads CEL
        from auditor.selectors.where import compile_where  # noqa: PLC0415

        predicate = push_down(compile_where(where).root, schema, unclear=self.unclear_fields(place))
        scan, wanted = Scan(), self._columns(place, columns)
        read = list(dict.fromkeys((*wanted, *POSITION)))
        for table in self.scan(place, condition, columns=read, where=predicate, scan=scan):
            decided = with_decided(table, lambda rows: self.decide(place, where, rows), scan)
            yield decided.filter(pc.equal(decided[UNKNOWN], 0)).select(wanted)
        if scan.failed:
            warnings.warn(f"evaluation of where failed for {counted(scan.failed, 'object')}", stacklevel=2)

    def decide(self, place: IndexedKind, where: str, rows: pa.Table) -> list[bool | None]:
        """Return whether a predicate that the index cannot decide holds for rows, which have the columns `POSITION`.

        An index alone cannot: `auditor.open_index` returns one that reads the objects. A row is None if it fails there.

        Raises:
            PlanError: The objects are not there.
        """
        del place, where, rows
        expected = "selectable fields and metadata"
        raise PlanError("--where", "needs more than the index holds", expected, "use `auditor query`")

    def _of_clusters(self, place: IndexedKind, wanted: str | Sequence[str]) -> IndexedKind:
        """Return the part of a partition with the rows of some clusters.

        Raises:
            PlanError: The report has no such cluster.
        """
        names = [wanted] if isinstance(wanted, str) and wanted else list(wanted)
        if not names:
            return place
        manifest = self._manifest() or {}
        clusters = manifest.get("clusters")
        if clusters is None:
            own = (manifest.get("options") or {}).get("cluster")
            clusters = [{"name": own, "parts": [0, 1 << 62]}] if own else []
        known = {cluster["name"]: tuple(cluster["parts"]) for cluster in clusters}
        for name in names:
            if name not in known:
                expected = f"one of {', '.join(sorted(known))}" if known else "nothing: the report names no cluster"
                raise PlanError("cluster", f"the report has no cluster {name!r}", expected)
        return replace(place, numbers=tuple(known[name] for name in names))

    def unclear_fields(self, place: IndexedKind, definition: CustomResourceDefinition | None = None) -> set[str] | None:
        """Return the selectable fields of a kind with values that the index does not distinguish from absent ones.

        These values are null, where the schema allows it, and an empty text in the place of a number or a boolean. An
        object with the latter has a finding at that field, if it was judged by a schema with the same type.

        Args:
            place: The partition of the kind.
            definition: Its definition; None for that of the report.
        Returns:
            None if unknown: any field may have such values.
        """
        definition = definition or self._definition(place)
        if definition is None:
            return None
        version = definition.versions[place.version]
        unclear = nullable_fields(version)
        others = {label for label, kind in field_types(version) if kind in ("boolean", "integer")} - unclear
        alike = {label for label in others if is_alike(definition, label)}
        return unclear | (others - alike) | (self._with_findings(place, alike) if alike else set())

    def _definition(self, place: IndexedKind) -> CustomResourceDefinition | None:
        file = DefinitionsFile(self.report)
        if not file.exists():
            return None
        wanted = f'"{place.plural}.{place.group}"'.encode()
        hits = []
        for line in file.lines():
            if wanted not in line:
                continue
            try:
                definition = parse_definition(jsontext.decode(line))
            except AuditorError:
                continue
            if (definition.group, definition.kind) == (
                place.group,
                place.kind,
            ) and place.version in definition.versions:
                hits.append(definition)
        return hits[0] if len(hits) == 1 else None  # each cluster of a fleet may have its own

    def _with_findings(self, place: IndexedKind, fields: set[str]) -> set[str]:
        """Return the fields of a kind at which some object has a finding; all fields if the report has no findings."""
        folder = self.report / FINDINGS
        if not folder.is_dir():
            return fields
        names: set[str] = set()
        of_kind = (pc.field("group") == place.group) & (pc.field("kind") == place.kind)
        of_kind &= pc.field("field").isin(sorted(fields))
        for path in sorted(folder.glob("*.parquet")):
            rows = read_parquet(path, ["group", "kind", "field"])
            with whole_parquet(path):
                names.update(rows.filter(of_kind)["field"].unique().to_pylist())
        return names

    def _columns(self, place: IndexedKind, columns: Sequence[str] | None) -> list[str]:
        if columns is not None:
            return list(columns)
        return [name for name in self.schema(place).names if name not in self._hidden]

    def scan(
        self,
        place: IndexedKind,
        condition: Filter,
        *,
        columns: Sequence[str] | None = None,
        scan: Scan | None = None,
        where: Predicate | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the rows of a partition that fit a condition.

        Args:
            place: The partition.
            condition: The condition that rows must match.
            columns: Only these; None for all.
            scan: Receives the counters.
            where: A predicate that rows must also match; then there is a column `UNKNOWN`, and also rows on which the
                predicate fails.
        """
        scan = scan if scan is not None else Scan()
        wanted = self._columns(place, columns)
        own = condition.columns()
        compared = own | (where.columns() if where is not None else set())
        groups: list[Group] = []
        for path in place.parts:
            footer = self.footer(path)
            for number in range(footer.num_row_groups):
                rows = footer.row_group(number).num_rows
                scan.rows += rows
                scan.row_groups += 1
                if may_match(footer, number, condition, where):
                    scan.scanned += rows
                    groups.append(Group(path, footer, number))
                else:
                    scan.skipped += 1

        def scanned(group: Group) -> pa.Table | None:
            return scan_group(group, condition, sorted(compared - spared(group, compared - own)), wanted, where)

        for table in in_order(scanned, groups):
            if table is not None:
                scan.kept += table.num_rows
                if where is not None:
                    scan.failed += pc.sum(pc.equal(table[UNKNOWN], FAILS)).as_py()
                    scan.kept -= pc.sum(pc.greater_equal(table[UNKNOWN], FAILS)).as_py()
                yield table

    def rows_to_scan(self, place: IndexedKind, condition: Filter, where: Predicate | None = None) -> int:
        """Return the number of rows in the row groups that statistics do not rule out."""
        rows = 0
        for path in place.parts:
            footer = self.footer(path)
            for number in range(footer.num_row_groups):
                if may_match(footer, number, condition, where):
                    rows += footer.row_group(number).num_rows
        return rows


def _has_namespaces(footer: pq.FileMetaData) -> bool:
    position = footer.schema.to_arrow_schema().get_field_index("namespace")
    for number in range(footer.num_row_groups):
        column = footer.row_group(number).column(position)
        if column.statistics is None or column.statistics.null_count < footer.row_group(number).num_rows:
            return True
    return False


def _names(kind: IndexedKind, *, with_version: bool = False) -> set[str]:
    out = set()
    for name in (kind.kind.lower(), kind.plural):
        if not with_version:
            out |= {name, f"{name}.{kind.group}"}
        out.add(f"{name}.{kind.version}.{kind.group}")
    return out


def selector_filter(
    fields: Iterable[FieldRequirement],
    labels: Iterable[LabelRequirement],
    namespace: str,
    columns: set[str],
    *,
    namespaced: bool,
) -> Filter:
    """Return the condition of selectors over the columns of a partition.

    Raises:
        SelectorError: A label has no column; in the server's words.
    """
    terms: list[Filter] = []
    if namespace:
        terms.append(_compared("namespace", "==", namespace))
    for requirement in fields:
        label = requirement.label
        if label == "metadata.name":
            column = "name"
        elif label == "metadata.namespace" and namespaced:
            column = "namespace"
        elif f"field:{label}" in columns:
            column = f"field:{label}"
        else:
            raise SelectorError("", f"field label not supported: {label}")
        terms.append(_compared(column, "!=" if requirement.negated else "==", requirement.value, absent=""))
    terms += [LabelTerm(requirement) for requirement in labels]
    return And(tuple(terms))


def _compared(column: str, operator: str, value: str, absent: str | None = None) -> Filter:
    """Return the comparison of a column with a text; no column has bytes that are not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return ConstantFilter(operator == "!=")
    return Term(column, operator, value, absent)


def open_index(path: str | Path, kind: type[Index] = Index) -> Index:
    """Open the index of a report.

    Raises:
        PlanError: The folder is not a report.
    """
    report = Path(path)
    if not (report / "index").is_dir() and not (report / _MANIFEST).exists():
        raise PlanError(str(path), "is not a report", "the --report folder of an audit")
    return kind(report)
