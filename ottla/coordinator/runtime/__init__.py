"""What drives machines of any kind: inbox and task, timers, appends."""
