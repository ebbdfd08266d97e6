"""What callers were shown, and what there was before."""
