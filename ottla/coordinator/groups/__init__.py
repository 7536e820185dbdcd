"""The group coordinator of a node: what its shards are made of, and which requests get to a group.

Here, and only here, is known which kinds of groups there are.

    shard          a partition of __consumer_offsets: its groups, and the transactions that span them
    coordinator    all groups of a node
    refusals       what a request is answered that does not get to a group
    tables         docs/groups.md

Kafka: GroupCoordinatorService, GroupCoordinatorShard.
"""
