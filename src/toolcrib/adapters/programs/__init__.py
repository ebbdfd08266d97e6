"""What the runtimes of programs share: threads that wait for workers, and printed text."""
