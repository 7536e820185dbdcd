"""What is attached to a server for tests and scripts: one object for all that they do, seeds, automatic jumps."""
