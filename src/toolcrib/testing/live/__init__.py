"""Real processes of toolcrib: each in a home of its own, none left behind."""
