"""What handlers see of the broker: a node, and the services behind all nodes."""
