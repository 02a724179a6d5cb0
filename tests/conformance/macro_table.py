"""Area `macro_registry`: each registered macro against the row of the table that has its name.

Compared: alias and whether it is shown, numbers, names and types of arguments, whether arguments
are expanded late, and the types of results. Categories and descriptions are a matter of menus.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tavern_compiler import MACROS, Macro
from tests.conformance._cases import Case
from tests.conformance._findings import Findings


def load(area: str, document: Any) -> Iterator[Case]:
    """Read the registered macros: a case for each name."""
    for fields in document:
        yield Case(area, f"registry/{fields['name']}", fields)


def check(case: Case, findings: Findings) -> None:
    """Compare one registered name with the row that has it."""
    fields = case.fields
    name = fields["name"]
    rows = [row for row in MACROS if name.lower() in (one.lower() for one in row.names)]
    if findings.require("row", len(rows) == 1, f"{len(rows)} rows have the name"):
        wanted = ("name", "aliasOf", "aliasVisible", "min", "max", "list", "delay", "returnType")
        theirs = {key: fields[key] for key in wanted}
        theirs["args"] = [
            {key: argument[key] for key in ("name", "optional", "type")}
            for argument in fields["args"]
        ]
        findings.same("row", _row(rows[0], name), theirs, ordered=False)


def _row(row: Macro, name: str) -> Mapping[str, Any]:
    hidden = name in row.hidden_aliases
    return {
        "name": next(one for one in row.names if one.lower() == name.lower()),
        "aliasOf": None if name == row.name else row.name,
        "aliasVisible": None if name == row.name else not hidden,
        "min": row.min_arguments,
        "max": len(row.parameters),
        "list": {"min": 0, "max": None} if row.takes_list else None,
        "args": [
            {"name": one.name, "optional": one.optional, "type": _types(one.types)}
            for one in row.parameters
        ],
        "delay": row.lazy,
        "returnType": _types(row.returns),
    }


def _types(types: Sequence[str]) -> Any:
    names = [str(one) for one in types]
    return names[0] if len(names) == 1 else names
