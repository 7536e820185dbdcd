"""Where files are: a path of this machine, or a URI of any file system Spark's Hadoop client knows (hdfs:, s3a:, …).

Local paths become absolute file: URIs, since Spark's own processes work in other folders. They are as Hadoop has them:
nothing is escaped, so a blank is a blank. What is local can be looked at before Spark starts; what lies elsewhere only
Spark can look at, so `refuse_unless_free` is asked again then.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline.refusals import CannotWork

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Two letters at least: one is a drive.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_LOCAL: Final = "file://"


def uri(place: str) -> str:
    """A path or URI as a URI."""
    return place if _SCHEME.match(place) else f"{_LOCAL}{Path(place).absolute()}"


def local_path(place: str) -> Path | None:
    """Where it is on this machine; None if it is elsewhere."""
    whole = uri(place)
    return Path(re.sub(r"^//[^/]*", "", whole.removeprefix("file:"))) if whole.startswith("file:") else None


def refuse_unless_free(place: str, option: str, spark: SparkSession | None = None) -> None:
    """Raise unless nothing is there, or an empty folder. Without a session what isn't on this machine passes."""
    path = local_path(place)
    if path is not None:
        is_taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    elif spark is not None:
        is_taken = _has_files(spark, place)
    else:
        return
    if is_taken:
        raise CannotWork(f"{option} {place} is there already and not empty; name a new folder, or remove it")


def size_bytes(spark: SparkSession, place: str) -> int:
    """The size of a file, or of all files in a folder and below."""
    size: int = _file_system(spark, place).getContentSummary(_hadoop_path(spark, place)).getLength()
    return size


def write_text(spark: SparkSession, place: str, text: str) -> None:
    """Write a file, anew if it is there; its folder is made."""
    stream = _file_system(spark, place).create(_hadoop_path(spark, place), True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def read_text(place: str, spark: SparkSession | None = None) -> str | None:
    """What a small file says; None if there is none. Without a session it has to be on this machine."""
    path = local_path(place)
    if path is not None:
        return path.read_text() if path.is_file() else None
    assert spark is not None, "what lies elsewhere only Spark can read"
    files, there = _file_system(spark, place), _hadoop_path(spark, place)
    if not files.exists(there):
        return None
    stream = files.open(there)
    try:
        return bytes(stream.readAllBytes()).decode()
    finally:
        stream.close()


def refuse_if_absent(place: str, what: str, spark: SparkSession | None = None) -> None:
    """Raise if nothing is there. Without a session what isn't on this machine passes."""
    path = local_path(place)
    if path is not None:
        is_there = path.exists()
    elif spark is not None:
        is_there = _file_system(spark, place).exists(_hadoop_path(spark, place))
    else:
        return
    if not is_there:
        raise CannotWork(f"{what} {place} is not there; name a file or folder that is")


def remove_strays(spark: SparkSession, folder: str, names: Collection[str], suffix: str, older_than_ms: int) -> int:
    """Delete files below that end so, are older, and whose names aren't among those given; returns how many."""
    files, strays = _file_system(spark, folder), 0
    found = files.listFiles(_hadoop_path(spark, folder), True)
    while found.hasNext():
        status = found.next()
        name = status.getPath().getName()
        if name.endswith(suffix) and name not in names and status.getModificationTime() < older_than_ms:
            strays += bool(files.delete(status.getPath(), False))
    return strays


def _has_files(spark: SparkSession, place: str) -> bool:
    files, path = _file_system(spark, place), _hadoop_path(spark, place)
    return bool(files.exists(path)) and len(files.listStatus(path)) > 0


def _file_system(spark: SparkSession, place: str) -> Any:
    context = spark.sparkContext
    return _hadoop_path(spark, place).getFileSystem(context._jsc.hadoopConfiguration())


def _hadoop_path(spark: SparkSession, place: str) -> Any:
    return spark.sparkContext._jvm.org.apache.hadoop.fs.Path(uri(place))  # type: ignore[union-attr]
