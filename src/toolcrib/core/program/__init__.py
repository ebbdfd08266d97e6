"""Programs of models before they run: what can be said of their text alone."""
