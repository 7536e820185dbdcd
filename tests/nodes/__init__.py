"""Nodes that stop and start: elections, failover, and what clients see of it."""
