"""Nodes, topics and leaders: how they are made, move when nodes stop, and are stored on disk."""
