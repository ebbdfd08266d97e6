"""A gateway in front of two servers that share a tool's name and a resource's URI."""

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import tool


@pytest.fixture
def rig() -> GatewayRig:
    rig = GatewayRig()
    rig.access.put("alpha", Kind.TOOLS, [tool("one"), tool("two.dotted")])
    rig.access.put("beta", Kind.TOOLS, [tool("one")])
    rig.access.put("beta", Kind.PROMPTS, [{"name": "ask me"}])
    rig.access.put("alpha", Kind.RESOURCES, [{"uri": "file:///a", "name": "a"}])
    rig.access.put("beta", Kind.RESOURCES, [{"uri": "file:///a", "name": "a"}])
    rig.access.put("beta", Kind.TEMPLATES, [{"uriTemplate": "db://{table}", "name": "t"}])
    return rig
