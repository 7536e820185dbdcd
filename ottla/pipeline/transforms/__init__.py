"""What the jobs do with data: functions from DataFrame to DataFrame, with no session, no clock and no I/O."""
