"""What `toolcrib bench` reads and shows."""
