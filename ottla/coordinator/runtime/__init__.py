"""What drives machines of any kind, and loads them from an internal topic. All of asyncio in the coordinator is here.

A *machine* is data and a pure function: (machine, now_ms, event) -> effects. The runtime knows no more of it: it gives
it events, performs its effects, wakes it when a timer runs out, and hears from the log for it. Machines live in a
*shard*, one for each partition of an internal topic, which knows how they come out of its records and what spans them.

    records, effects, events    what is written, what a machine asks for, what every machine is told
    kind, shard                 what the runtime has to know of a kind of machine, and of a partition
    owner, timers               the task that owns one machine
    runtime, sweep, topics      all machines of one internal topic on one node

Kafka: org.apache.kafka.coordinator.common.runtime.
"""
