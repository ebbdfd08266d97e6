"""One folder, one foreign thing: pipes, HTTP, SQLite, logs. Only `compose` sees this room."""
