"""What is configured and not there yet is refused, and says what to set."""

from typing import Any

import pytest

from toolcrib.core.exposure import Wanted
from toolcrib.discovery.exposing.exposing import check_available
from toolcrib.errors import ConfigError
from toolcrib.settings import ExposureSettings


@pytest.mark.parametrize(
    ("wanted", "above", "setting"),
    [("code", "search", "set exposure to"), ("auto", "code", "set exposure.above to")],
)
def test_the_exposure_code_is_refused_until_there_is_code_mode(
    wanted: Wanted, above: Any, setting: str
) -> None:
    with pytest.raises(ConfigError, match="comes with code mode") as refused:
        check_available(wanted, ExposureSettings(above=above))
    assert setting in (refused.value.remedy or "")


@pytest.mark.parametrize("wanted", ["full", "search"])
def test_what_auto_would_show_does_not_matter_to_what_is_configured(wanted: Wanted) -> None:
    check_available(wanted, ExposureSettings(above="code"))
