"""How large the JSON of a value is at least, found without walking more of it than matters."""

from toolcrib.core.jsontypes import is_array, is_object


def json_floor(value: object, most: int) -> tuple[int, int]:
    """Characters that the compact JSON of a value has at least, and values that were looked at.

    The walk ends as soon as the first number is above `most`; so the second is never above
    `most + 1`, whatever the value is, and one that contains itself ends, too.
    """
    size, looked_at = 0, 0
    stack = [value]
    while stack and size <= most:
        node = stack.pop()
        looked_at += 1
        if isinstance(node, str):
            size += len(node) + 2
        elif is_array(node):
            size += len(node) + 1
            if size <= most:
                stack += node
        elif is_object(node):
            size += 4 * len(node) + 1
            if size <= most:
                size += sum(map(len, node))
                stack += node.values()
        else:
            size += 1
    return size, looked_at
