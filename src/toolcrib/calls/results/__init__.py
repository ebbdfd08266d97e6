"""Results: checked for everybody, and cut for a model."""
