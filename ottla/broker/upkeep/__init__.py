"""Periodic and background work, and the supervision of tasks and timers."""
