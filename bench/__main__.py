"""`python -m bench`: measure Ottla beside its peers, and print the table.

Per figure the peers take turns, three rounds over, and the best of each counts: what the machine does besides falls on
all of them alike.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from bench.broker import Broker, UnableError, until_answering
from bench.figures import ALL, Figure, Values
from bench.load import WrongAnswerError
from bench.peers import Peer, all_peers
from bench.report import Results, save
from tests.support.wire import ConnectionClosedError, SilenceError

#: What a peer may fail with; it then has a dash in the table, and the reason below it.
FAILURES = (UnableError, WrongAnswerError, ConnectionClosedError, SilenceError, OSError)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Ottla beside its peers.")
    parser.add_argument("--only", default="", help=f"figures, with commas between: {', '.join(f.name for f in ALL)}")
    parser.add_argument("--peers", default="", help="peers, with commas between (default: all that run here)")
    parser.add_argument("--against", default="", metavar="HOST:PORT", help="another broker to measure besides")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a run (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of which the best counts (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    figures = [figure for figure in ALL if not options.only or figure.name in options.only.split(",")]
    wanted = options.peers.split(",") if options.peers else None
    peers = [peer for peer in all_peers(options.against) if wanted is None or peer.name in wanted]
    peers = [peer for peer in peers if _can_run(peer)]
    results = Results([peer.name for peer in peers])
    measure_all(figures, peers, results, seconds=options.seconds, rounds=options.rounds)
    path = save(results, figures)
    print(results.json() if options.json else results.markdown(figures))
    print(f"bench: kept in {path} and beside it", file=sys.stderr)
    return 0


def measure_all(
    figures: Sequence[Figure], peers: Sequence[Peer], results: Results, *, seconds: float, rounds: int
) -> None:
    for figure in figures:
        if figure.fresh:
            for _ in range(rounds):
                for peer in peers:
                    with peer.start() as broker:
                        _measure(figure, broker, seconds, results)
    lasting = [figure for figure in figures if not figure.fresh]
    if not lasting:
        return
    with ExitStack() as running:
        brokers = [running.enter_context(peer.start()) for peer in peers]
        for broker in brokers:
            if not broker.is_echo:
                until_answering(broker)
        for figure in lasting:
            for _ in range(rounds):
                for broker in brokers:
                    _measure(figure, broker, seconds, results)


def _measure(figure: Figure, broker: Broker, seconds: float, results: Results) -> None:
    try:
        values: Values = figure.measure(broker, seconds)
    except FAILURES as error:
        results.cannot(figure, broker.peer, f"{error}" or type(error).__name__)
        return
    results.add(figure, broker.peer, values)
    shown = ", ".join(f"{value:,.1f}" for value in values.values() if value is not None)
    print(f"bench: {figure.name} {broker.peer}: {shown}", file=sys.stderr)


def _can_run(peer: Peer) -> bool:
    reason = peer.missing()
    if reason:
        print(f"bench: without {peer.name}: {reason}", file=sys.stderr)
        return False
    peer.prepare()
    return True


if __name__ == "__main__":
    sys.exit(main())
