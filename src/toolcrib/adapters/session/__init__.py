"""One live connection in one era: envelopes, change signals, errors, and how the era is found."""
