"""Nodes, topics, and who leads what: how they are made, move when nodes stop, and outlive the process."""
