"""Frozen records of everything that can be configured.

Nobody reads them from a file here: they are handed around.
"""

from toolcrib.settings.approval import ApprovalRule, ApprovalSettings, ApprovalVerdict, Remember
from toolcrib.settings.code import CodeSettings, FlowRule, FlowVerdict, Language
from toolcrib.settings.discovery import (
    Counting,
    DynamicSettings,
    Exposure,
    ExposureSettings,
    ModelApi,
    SearchMethod,
    SearchSettings,
    Skill,
    SubagentSettings,
)
from toolcrib.settings.gateway import GatewaySettings, NameStyle, Relayed
from toolcrib.settings.launch import (
    HttpLaunch,
    HttpTransport,
    Launch,
    OAuthSettings,
    StdioLaunch,
    launch_digest,
)
from toolcrib.settings.limits import Limits
from toolcrib.settings.pace import Reconnect, Waits
from toolcrib.settings.secret import Secret
from toolcrib.settings.server import Connect, OnChange, ServerSettings, Strategy, ToolFilter
from toolcrib.settings.whole import Settings, StoreSettings

__all__ = [
    "ApprovalRule",
    "ApprovalSettings",
    "ApprovalVerdict",
    "CodeSettings",
    "Connect",
    "Counting",
    "DynamicSettings",
    "Exposure",
    "ExposureSettings",
    "FlowRule",
    "FlowVerdict",
    "GatewaySettings",
    "HttpLaunch",
    "HttpTransport",
    "Language",
    "Launch",
    "Limits",
    "ModelApi",
    "NameStyle",
    "OAuthSettings",
    "OnChange",
    "Reconnect",
    "Relayed",
    "Remember",
    "SearchMethod",
    "SearchSettings",
    "Secret",
    "ServerSettings",
    "Settings",
    "Skill",
    "StdioLaunch",
    "StoreSettings",
    "Strategy",
    "SubagentSettings",
    "ToolFilter",
    "Waits",
    "launch_digest",
]
