"""Values checked against JSON Schemas: jsonschema-rs judges, what stands here bounds and explains.

The library is asked for a verdict only. Its lists of errors are made as a whole, each with a copy
of the value (2,000 missing names in one object of a megabyte were gigabytes), so the sentences come
from `explain`, which stops after a few.
"""

from toolcrib.adapters.schema.checker import JsonSchemaChecker

__all__ = ["JsonSchemaChecker"]
