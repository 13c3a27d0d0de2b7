"""How every benchmark reports: a table, and with --json one JSON object as the last line."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def report(title: str, rows: Sequence[Mapping[str, Any]], **facts: Any) -> None:
    """Print the rows as a table; facts of the run go into the JSON object too."""
    columns = list(rows[0])
    cells = [[_shown(row[column]) for column in columns] for row in rows]
    widths = [max(len(column), *(len(row[at]) for row in cells)) for at, column in enumerate(columns)]
    print(title)
    print("  ".join(column.ljust(width) for column, width in zip(columns, widths, strict=True)))
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    if "--json" in sys.argv:
        print(json.dumps({"benchmark": title, "rows": list(rows), **facts}, ensure_ascii=False))


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
