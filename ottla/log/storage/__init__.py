"""Where a partition's batches are kept: one contract (`contract`), and the storages that fill it."""
