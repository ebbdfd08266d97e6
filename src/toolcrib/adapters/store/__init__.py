"""What stores of records share, and the store of one process."""
