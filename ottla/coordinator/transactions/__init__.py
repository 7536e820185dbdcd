"""The transaction coordinator of a node: which producer writes under a transactional id, and how its transactions end.

    states, transaction       what is kept of a transactional id, and how it changes
    situations, decisions     the tables: what each request is answered in each state
    init_producer_id, partitions, end, time    one kind of event each
    machine, step             the transactional ids of one partition, and what an event does to them
    records, shard            a partition of __transaction_state
    coordinator, refusals     all of a node, and what a request is answered that does not get to a machine
    tables                    docs/transactions.md

Transactional ids sleep most of the time and there may be millions, so a machine is not one of them but a partition of
__transaction_state with all of its own: an id that sleeps costs some hundred bytes and no task. Markers are not written
here: the machine asks for them, and is told when they are in the logs.

Kafka: TransactionCoordinator, TransactionStateManager, TransactionMetadata.
"""
