"""What groups of every kind commit: kept, fetched, deleted, expired, written down."""
