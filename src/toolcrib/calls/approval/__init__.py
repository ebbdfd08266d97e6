"""What a person is asked before a call, and what was answered."""
