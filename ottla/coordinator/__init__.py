"""Groups, their members, their offsets, their log: which member owns which partition, and how far it has read.

A group is a *machine*: data, and a pure function (machine, now_ms, event) -> effects, without I/O, without waiting,
without a clock, without a random source. The rooms, each of which knows only those below it:

    groups/     the group coordinator of a node: which kinds of groups there are, and which requests get to a group
    classic/    the machine of JoinGroup and SyncGroup. A good order to read in: states, situations and decisions (the
                tables), group, step, rebalance; then join, sync, heartbeat, leave: one kind of request each
    kinds/      what a kind of group is, as one row: all that the coordinator and its tools know of it
    offsets/    what groups of every kind commit
    transactions/    the transaction coordinator of a node, in a topic of its own
    notes, config, write_errors, java_hash    what they all speak of
    runtime/    what drives machines of any kind, and loads them from an internal topic: all of asyncio is here

A new kind of group is a room beside classic/ with a row (`kinds.kind.GroupKind`), and a line in `groups/kinds.py`:
tests/coordinator/rota is one. A new internal topic is a shard of its own on another runtime:
tests/coordinator/runtime/toy.py is one.

Kafka: org.apache.kafka.coordinator.group, the classic groups; org.apache.kafka.coordinator.common.runtime.
"""
