"""What a program sees of a server: a module with a typed function for each of its tools."""
