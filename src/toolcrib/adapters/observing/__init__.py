"""Where facts go: log lines and Prometheus metrics."""
