"""One file, one foreign library. Only `compose` sees this room."""
