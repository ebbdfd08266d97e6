"""The parts of `toolcrib.testing.scripted_server`, which is their public face."""
