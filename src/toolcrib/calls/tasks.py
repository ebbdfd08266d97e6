"""Tools that run only as tasks: an extension that is not spoken here, so they cannot be called.

Revision 2025-11-25 has tools say so (`execution.taskSupport`), and a server must refuse a call of
such a tool that is no task (its tasks: tool-level negotiation). We refuse it before it is sent, in
words that say why.
"""

from toolcrib.calls.call import ToolCall
from toolcrib.core.jsontypes import is_object
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Item
from toolcrib.errors import NotAllowed


def check_no_task(call: ToolCall, item: Item) -> None:
    """Raises `NotAllowed` for a tool that can only be called as a task."""
    execution = item.definition.get("execution")
    if is_object(execution) and execution.get("taskSupport") == "required":
        raise NotAllowed(
            f"{quoted(call.name)} runs only as a task, and tasks are not relayed: nothing was sent",
            server=call.server,
            remedy="use another tool, or call it from a client that is connected to its server",
        )
