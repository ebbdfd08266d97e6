"""What one principal's model is shown of its tools at the start, and why."""
