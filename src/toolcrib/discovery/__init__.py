"""What the model sees first, and how it finds the rest (DESIGN section 7)."""
