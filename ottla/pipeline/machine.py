"""What Spark needs on this machine: the [spark] extra, and a Java. Checked before anything is started."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from ottla.pipeline.refusals import CannotWork

JAVA_VERSION_MIN: Final = 17
#: Java 23 refuses Subject.getSubject, which the Hadoop of Spark 4.0 calls.
JAVA_VERSION_MAX: Final = 22
_ANSWER_SECONDS_MAX: Final = 30.0
#: `openjdk version "17.0.15"`, and `java version "1.8.0_392"` of old.
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_EXTRA: Final = {
    "pyspark": "pyspark",
    "confluent_kafka": "confluent-kafka",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
}


def missing() -> str | None:
    """Why no job can run here, in one line that says what to do, or None."""
    return missing_extra() or missing_java()


def refuse_if_missing() -> None:
    """Raise if no job can run here."""
    if reason := missing():
        raise CannotWork(reason)


def missing_extra() -> str | None:
    absent = [distribution for module, distribution in _EXTRA.items() if importlib.util.find_spec(module) is None]
    if absent:
        return f"{', '.join(absent)} not installed; `pip install 'ottla[spark]'` brings what the pipeline needs"
    return None


def missing_java() -> str | None:
    found = _java()
    need = f"Spark runs on Java {JAVA_VERSION_MIN} to {JAVA_VERSION_MAX}"
    if found is None:
        return f"{need}, and there is none; install one, or let JAVA_HOME name where it is"
    version = _java_version(found)
    if version is None:
        return f"{need}, and {found} doesn't say what it is; let JAVA_HOME name a Java that runs"
    if not JAVA_VERSION_MIN <= version <= JAVA_VERSION_MAX:
        return f"{need}, and {found} is Java {version}; install another one, or let JAVA_HOME name it"
    return None


def _java() -> Path | None:
    """The Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    return Path(found) if found else None


def _java_version(java: Path) -> int | None:
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS_MAX
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(said)
    return int(found[1]) if found else None
