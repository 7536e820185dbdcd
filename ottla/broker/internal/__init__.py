"""The topics in which coordinators keep what they know: who leads them, how they are written, and read back."""
