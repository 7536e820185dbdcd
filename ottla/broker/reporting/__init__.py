"""Where the log goes: its lines, their forms, and the complaints of the event loop."""
