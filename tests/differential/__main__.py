"""Explore differences by hand.

python -m tests.differential --cases 'join*'                          Ottla against the golden files
python -m tests.differential --cases 'join*' --against kafka          a fresh Kafka against the golden files
python -m tests.differential --against ottla --against host:port      two brokers, live
python -m tests.differential --cases 'join*' --record                 write Kafka's answers into the golden files
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext

from ottla.conformance import golden
from ottla.conformance.scene import run
from ottla.conformance.script import Script, all_scripts
from tests.differential.brokers import warm_kafka, warm_ottla


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default="*", help="names of scripts, with wildcards (default: all)")
    parser.add_argument("--against", action="append", metavar="BROKER", help="ottla, kafka or host:port; at most two")
    parser.add_argument("--record", action="store_true", help="record a fresh Kafka's answers as golden")
    parser.add_argument("--show", action="store_true", help="print the transcripts too")
    options = parser.parse_args()
    scripts = [script for script in all_scripts() if fnmatch.fnmatch(script.name, options.cases)]
    with ExitStack() as stack:
        brokers = [
            stack.enter_context(start(broker))
            for broker in (["kafka"] if options.record else options.against or ["ottla"])
        ]
        if options.record:
            record(scripts, brokers[0])
            return 0
        return 1 if compare(scripts, brokers, show=options.show) else 0


def start(broker: str) -> AbstractContextManager[str]:
    match broker:
        case "ottla":
            return warm_ottla()
        case "kafka":
            return warm_kafka()
    return nullcontext(broker)


def record(scripts: list[Script], bootstrap: str) -> None:
    """Play all scripts against a Kafka and keep what it said; scripts not played keep what they had."""
    for area in sorted({script.area for script in scripts}):
        recorded = dict(golden.read(area))
        known = {script.name for script in all_scripts() if script.area == area}
        for script in scripts:
            if script.area == area:
                recorded[script.name] = {version: run(script.play, bootstrap, version) for version in script.versions}
        golden.write(area, {name: transcripts for name, transcripts in recorded.items() if name in known})
        print(f"recorded {area}", file=sys.stderr)


def compare(scripts: list[Script], brokers: list[str], *, show: bool) -> int:
    """Print each difference between one broker and the golden files, or between two; returns how many there were."""
    played = different = 0
    for script in scripts:
        recorded = golden.read(script.area).get(script.name, {})
        for version in script.versions:
            got = run(script.play, brokers[-1], version)
            expected = recorded.get(version, []) if len(brokers) == 1 else run(script.play, brokers[0], version)
            if show:
                print(f"{script.name} v{version}", *map(str, got), sep="\n  ")
            text = golden.difference(expected, got, script.exempt)
            played += 1
            if text and not show:
                different += 1
                print(f"\n{script.name} v{version}\n{text}")
                if script.differs:
                    print(f"on purpose: {script.differs}")
    print(f"\n{played} played, {different} different", file=sys.stderr)
    return different


if __name__ == "__main__":
    sys.exit(main())
