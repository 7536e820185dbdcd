"""Bounds on what one client can make the broker hold or do at a time, with Kafka's own beside them where it has one.

How long a request may be is a setting, as in Kafka: socket.request.max.bytes.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

#: Frames are cut out of one receive buffer that all connections of a process share; larger ones get their own.
RECEIVE_BUFFER_BYTES: Final = 256 * KIB
#: A frame's own buffer is at most so many times as large as what has arrived of it, so that a length alone costs
#: nothing; but no smaller than this. Kafka makes room for all of it at once.
FRAME_BUFFER_GROWTH: Final = 4
FRAME_BUFFER_BYTES_FIRST: Final = 4 * KIB
#: A frame's buffer of more than this counts for what all clients may have sent in part.
FRAME_BUFFER_BYTES_COUNTED: Final = 256 * KIB
#: Blocks of memory up to this size are used again and again instead of going back to the system each time: what a
#: frame of a megabyte is received and copied into.
REUSED_BLOCK_BYTES_MAX: Final = 8 * MIB
#: Requests of one connection that are taken up before the others get their turn. Kafka takes up one.
REQUESTS_PER_TURN_MAX: Final = 512
#: How large a request may be that a connection remembers in case it comes again.
REMEMBERED_REQUEST_BYTES_MAX: Final = 1 * KIB
#: How many answers that repeat are kept with their bytes, of each version of an API, and how large they may be.
KEPT_ANSWERS_MAX: Final = 256
KEPT_ANSWER_BYTES_MAX: Final = 1 * KIB
#: How large a request may be that is taken for a small one, where its API is brief; and one with records.
BRIEF_REQUEST_BYTES_MAX: Final = 4 * KIB
BRIEF_PRODUCE_BYTES_MAX: Final = 64 * KIB
#: How many partitions a small request may be about.
BRIEF_PARTITIONS_MAX: Final = 16
#: Answers below this are joined into one buffer before they are written; above, they are handed over in parts, unless
#: the parts are small on average: then there are so many that to copy them is less work.
JOINED_ANSWER_BYTES_MAX: Final = 64 * KIB
PART_BYTES_MIN: Final = 4 * KIB
#: Answers that wait for the end of the turn to leave together; with more of them they leave at once, so that a client
#: which does not read is noticed before the next answer is made.
UNSENT_ANSWER_BYTES_MAX: Final = 256 * KIB
#: Partitions that fetches may wait for, all of them together: some hundred bytes each. Beyond, a fetch is answered with
#: what there is.
WATCHED_PARTITIONS_MAX: Final = 500_000
#: Answers that wait for clients that don't read, all of them together, apart from records, which are views of the log.
#: Beyond, the connection that has most of them is closed.
UNREAD_BYTES_MAX: Final = 64 * MIB
#: Frames half received, all of them together: so much, or twice what one may have if that is more. Beyond, the
#: connection that has the largest is closed. Kafka has queued.max.request.bytes for that, without a bound by default.
RECEIVING_BYTES_MAX: Final = 256 * MIB

assert FRAME_BUFFER_GROWTH > 1, "what is there of a frame fits into its buffer"
assert UNSENT_ANSWER_BYTES_MAX >= JOINED_ANSWER_BYTES_MAX
