"""The group coordinator of a node: which groups live here, and which requests get to them."""
