"""The meta-tools: how a model finds, inspects and calls tools that it is not shown."""
