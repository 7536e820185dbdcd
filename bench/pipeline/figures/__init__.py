"""The figures, a module each."""
