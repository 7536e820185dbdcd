"""The topics in which coordinators keep what they know: which nodes lead them, how they are written, and read back."""
