"""Who owns which partition, and how far they read: consumer groups, their members, their offsets, their log.

Everything but `owner.py` and `coordinator.py` is pure: `step(group, now_ms, event)` changes the group and returns what
is to be done (answer, append, arm), without I/O, without waiting, without a clock. A good order to read in:

    states     the tables: what is answered in which state to whom
    group      what a group is, and what always holds
    step       one event in, effects out; events and effects beside it
    round      one rebalance, from the cause to the new generation
    join, sync, heartbeat, leave, offsets    one kind of request each
    group_log  what is written, and how a group comes back from it
    owner      the task that owns a group; coordinator: all groups of a node

Kafka: org.apache.kafka.coordinator.group, the classic groups.
"""
