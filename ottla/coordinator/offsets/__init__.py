"""What a group has committed: kept, fetched, deleted, expired, written down. For groups of every kind.

A group has-an `Offsets`. Its kind decides which commits are allowed, which topics it reads, and from when on offsets
expire; all else is here. `AnyGroup` is what these modules see of a group.

    store, pending    what is committed, and what is in transactions that are still open
    records           what of it is written to __consumer_offsets
    commit, fetch     OffsetCommit and OffsetFetch
    removal           OffsetDelete, DeleteGroups, deleted topics, expiry

Kafka: OffsetMetadataManager.
"""
