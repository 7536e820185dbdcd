"""Where the transaction coordinators meet logs: their own, those that get markers, and those that ask them."""
