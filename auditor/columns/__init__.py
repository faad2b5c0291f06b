"""Objects of a kind as typed Arrow rows: columns made of a schema, and a conversion that loses nothing.

`KindColumns.of` takes a definition, or a built-in kind, and has the Arrow schema of its table. `KindColumns.batch`
turns objects as they were read into a record batch. A value that its column cannot hold without loss is in the column
`_rest`.

- `column_types` makes columns of a structural schema or of the Go types of a built-in kind;
- `exact` converts one object, value by value: the reference;
- `records` decodes stored objects of a definition to records of the fields of its columns, without reading them first;
- `arrays` makes the columns of many records, a leaf at a time;
- `generated` has generated code that converts objects which are no records;
- `kind_columns` has the table of a kind.
"""

from auditor.columns.kind_columns import KindColumns, TableRow

__all__ = ["KindColumns", "TableRow"]
