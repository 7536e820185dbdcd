"""What is measured is what is meant."""
