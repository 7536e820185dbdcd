"""Groups of JoinGroup and SyncGroup: who owns which partition is agreed on by the members."""
