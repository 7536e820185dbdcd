"""Redaction of private values: each becomes a pseudonym, and equal values equal ones.

What is replaced is named by a path: `key`, `value`, `headers`, `headers.NAME`, or a field of a JSON key or value:
`value.customer.name`. A field within a list is that of every item. What stands there keeps its shape, so that programs
that read it go on working: text becomes 16 hexadecimal digits, a number another one, and objects and lists keep theirs;
null, true and false stay.

The pseudonym depends on the salt and the value, not on the place: one customer in two topics stays one customer.
Without the salt, values can't be found by trying. A key or value that should be JSON and isn't is replaced whole: it
may contain the private value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, TypeAlias

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import pandas_udf

#: A column, and what of it: names from the outside in; empty: all of it.
Path: TypeAlias = tuple[str, ...]

PARTS: Final = ("key", "value", "headers")
#: The column with the paths that were met, as bits. The caller drops it, and may count them first.
MET: Final = "_met"
PATHS_MAX: Final = 62
_DIGITS: Final = 16
_NUMBER_MAX: Final = 1_000_000
_REDACTED: Final = "data binary, met bigint"


def parse_path(text: str) -> Path:
    """`value.customer.name` as a path. Raises `ValueError` for what is none."""
    part, *fields = text.split(".")
    if part not in PARTS or not all(fields):
        raise ValueError(text)
    if part == "headers" and fields:
        return part, ".".join(fields)
    return part, *fields


def redacted(records: DataFrame, paths: Sequence[Path], salt: str) -> DataFrame:
    """Kept records without what stands at these paths; `_met` says by bits which of them a record had."""
    of_part = {part: {path[1:]: 1 << bit for bit, path in enumerate(paths) if path[0] == part} for part in PARTS}
    records = records.withColumn(MET, F.lit(0).cast("bigint"))
    for part in ("key", "value"):
        if of_part[part]:
            records = _redact_part(records, part, of_part[part], salt)
    return _redact_headers(records, of_part["headers"], salt) if of_part["headers"] else records


def _redact_part(records: DataFrame, part: str, fields: dict[Path, int], salt: str) -> DataFrame:
    """A key or value, whole or fields of it."""
    if () in fields:
        met = F.when(F.col(part).isNotNull(), fields[()]).otherwise(0)
        return records.withColumns({part: _pseudonym(F.col(part), salt), MET: F.col(MET).bitwiseOR(met)})
    made = pandas_udf(_redactor(fields, salt), _REDACTED)(F.col(part))  # type: ignore[call-overload]
    return (
        records.withColumn("_redacted", made)
        .withColumns({part: F.col("_redacted.data"), MET: F.col(MET).bitwiseOR(F.col("_redacted.met"))})
        .drop("_redacted")
    )


def _redact_headers(records: DataFrame, names: dict[Path, int], salt: str) -> DataFrame:
    """Values of headers: all, or those of these names."""
    met = F.col(MET)
    for path, bit in names.items():
        is_met = F.size("headers") > 0 if not path else F.exists("headers", _is_named(path[0]))
        met = met.bitwiseOR(F.when(is_met, bit).otherwise(0))

    def replaced(header: Column) -> Column:
        hidden = F.lit(True) if () in names else header["key"].isin([path[0] for path in names])
        value = F.when(hidden, _pseudonym(header["value"], salt)).otherwise(header["value"])
        return F.struct(header["key"].alias("key"), value.alias("value"))

    return records.withColumns({MET: met, "headers": F.transform("headers", replaced)})


def _is_named(name: str) -> Any:
    return lambda header: header["key"] == name


def _pseudonym(data: Column, salt: str) -> Column:
    """What `pseudonym` is, by Spark itself."""
    digest = F.sha2(F.concat(F.lit(salt.encode()), data), 256)
    return F.substring(digest, 1, _DIGITS).cast("binary")


def _redactor(fields: dict[Path, int], salt: str) -> Any:
    def redact(column: pd.Series) -> pd.DataFrame:
        made = [redact_json(None if data is None else bytes(data), fields, salt) for data in column]
        return pd.DataFrame({"data": [data for data, _ in made], "met": [met for _, met in made]})

    return redact


def redact_json(data: bytes | None, fields: dict[Path, int], salt: str) -> tuple[bytes | None, int]:
    """JSON without what stands in these fields, and the bits of those it had.

    It is written anew even if it had none: what was read is not all there was if a name is in it twice.
    """
    if data is None:
        return None, 0
    try:
        found, met = json.loads(data), 0
        if isinstance(found, (dict, list)):
            for path, bit in fields.items():
                found, is_met = _replaced(found, path, salt)
                met |= bit if is_met else 0
            return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode(), met
    except (ValueError, RecursionError):  # no JSON, half a character, or lists in lists without end
        pass
    return pseudonym(data, salt).encode(), 0


def pseudonym(data: bytes, salt: str) -> str:
    """What stands for it: 16 hexadecimal digits."""
    return hashlib.sha256(salt.encode() + data).hexdigest()[:_DIGITS]


def _replaced(value: Any, path: Path, salt: str) -> tuple[Any, bool]:
    """A value of JSON with what stands at a path replaced, and whether there was anything."""
    if not path:
        return _disguised(value, salt), True
    if isinstance(value, list):
        made = [_replaced(item, path, salt) for item in value]
        return [item for item, _ in made], any(is_met for _, is_met in made)
    if not isinstance(value, dict) or path[0] not in value:
        return value, False
    below, is_met = _replaced(value[path[0]], path[1:], salt)
    return {**value, path[0]: below}, is_met


def _disguised(value: Any, salt: str) -> Any:
    """A value of the same shape that tells nothing."""
    if isinstance(value, dict):
        return {name: _disguised(below, salt) for name, below in value.items()}
    if isinstance(value, list):
        return [_disguised(item, salt) for item in value]
    if value is None or isinstance(value, bool):
        return value
    digits = pseudonym(str(value).encode(), salt)
    if isinstance(value, str):
        return digits
    return type(value)(int(digits, 16) % _NUMBER_MAX)


def met_counts(paths: Collection[Path]) -> Iterator[Column]:
    """For each path, in how many records it was."""
    for bit in range(len(paths)):
        yield F.count_if(F.col(MET).bitwiseAND(F.lit(1 << bit).cast("bigint")) != 0)
