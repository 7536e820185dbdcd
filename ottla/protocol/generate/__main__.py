"""`make generate`: read the schemas from Kafka's jars and write `ottla/protocol/messages/`.

python -m ottla.protocol.generate --jar kafka-clients.jar --jar kafka-group-coordinator.jar …
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path
from typing import Final

from ottla.protocol.generate.modules import generate

MESSAGES: Final = Path(__file__).parents[1] / "messages"


def schemas_in_jar(jar: Path) -> dict[str, str]:
    """The schema files of one of Kafka's jars, by message name."""
    with zipfile.ZipFile(jar) as archive:
        return {
            Path(name).stem: archive.read(name).decode()
            for name in archive.namelist()
            if name.startswith("common/message/") and name.endswith(".json")
        }


def main(arguments: list[str] | None = None) -> int:
    """Write every module, and remove those no schema stands behind any more."""
    parser = argparse.ArgumentParser(prog="python -m ottla.protocol.generate", description="Write the message codecs.")
    parser.add_argument("--jar", action="append", required=True, type=Path, help="a Kafka jar with message schemas")
    parser.add_argument("--out", default=MESSAGES, type=Path, help="folder to write (default: %(default)s)")
    options = parser.parse_args(arguments)
    sources: dict[str, str] = {}
    for jar in options.jar:
        sources.update(schemas_in_jar(jar))
    texts = generate(sources)
    options.out.mkdir(exist_ok=True)
    for stale in options.out.glob("*.py"):
        if stale.name not in texts:
            stale.unlink()
    for name, text in texts.items():
        (options.out / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(texts)} modules to {options.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
