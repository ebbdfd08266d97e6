"""Questions in mid-call: whoever asks them, and however the caller can be asked."""
