"""Produce: the short way of one ordinary batch, and the admission of transactional batches."""
