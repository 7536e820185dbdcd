"""Fetches and produces that wait, as operations of the purgatory."""
