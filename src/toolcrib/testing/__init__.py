"""Public test tools: scripted servers, contract suites, virtual time. What we test with, users test with."""
