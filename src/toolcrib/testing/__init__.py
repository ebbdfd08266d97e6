"""What toolcrib is tested with, for its users too: scripted servers, virtual time, contracts."""
