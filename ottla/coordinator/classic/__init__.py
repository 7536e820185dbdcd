"""Groups of JoinGroup and SyncGroup: the members agree on which of them owns which partition."""
