"""What one model sees: tokens, the forms of providers, differences between turns."""
