"""Icons and links of servers: what passes on, by which policy."""

import base64
from typing import Any

import pytest

from toolcrib.protocol.trust import ICON_BYTES, IconPolicy, link_fault, with_icons

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
JPEG = b"\xff\xd8\xff" + b"\0" * 20
SVG = b"<svg onload='x()'/>"


def data(image: bytes, kind: str = "image/png") -> dict[str, Any]:
    return {"src": f"data:{kind};base64,{base64.b64encode(image).decode()}"}


GOOD = [data(PNG), data(JPEG, "image/jpeg"), data(JPEG, "image/jpg"), data(PNG, "IMAGE/PNG")]
BAD: list[Any] = [
    {"src": "https://track.example/i.png"},
    {"src": "http://track.example/i.png"},
    {"src": "file:///i.png"},
    data(SVG, "image/svg+xml"),
    data(SVG),
    data(JPEG),
    data(PNG, "text/html"),
    data(PNG + b"\0" * ICON_BYTES),
    {"src": "data:image/png;base64,%%%"},
    {"src": "data:image/png;base64,iVBORw0KGg"},
    {"src": "data:image/png,plain"},
    {"src": 3},
    {},
    None,
    "data:image/png;base64,AA==",
]


@pytest.mark.parametrize("policy", ["drop", "data", "pass"])
def test_what_has_no_icons_is_left_as_it_is(policy: IconPolicy) -> None:
    described = {"name": "a"}
    assert with_icons(described, policy) is described


@pytest.mark.parametrize(
    "icons", [GOOD, BAD, [], None, "x", {}], ids=["good", "bad", "empty", "none", "text", "object"]
)
def test_dropped_icons_are_gone_and_passed_ones_stay(icons: object) -> None:
    described = {"name": "a", "icons": icons, "title": "A"}
    assert with_icons(described, "drop") == {"name": "a", "title": "A"}
    assert with_icons(described, "pass") is described
    assert described["icons"] is icons


@pytest.mark.parametrize("icon", GOOD, ids=["png", "jpeg", "jpg", "upper case"])
def test_a_small_image_passes_inside_its_definition(icon: dict[str, Any]) -> None:
    whole = {**icon, "sizes": ["48x48"]}
    assert with_icons({"icons": [BAD[0], whole]}, "data") == {"icons": [whole]}


@pytest.mark.parametrize("icon", BAD, ids=[str(number) for number in range(len(BAD))])
def test_any_other_icon_does_not(icon: Any) -> None:
    assert with_icons({"icons": [icon]}, "data") == {}


@pytest.mark.parametrize("size", [ICON_BYTES - 1, ICON_BYTES, ICON_BYTES + 1])
def test_the_bound_is_that_of_the_image(size: int) -> None:
    icon = data(PNG + b"\0" * (size - len(PNG)))
    assert ("icons" in with_icons({"icons": [icon]}, "data")) is (size <= ICON_BYTES)


@pytest.mark.parametrize("icons", [None, "x", {"src": "x"}, 3], ids=str)
def test_icons_that_are_no_list_do_not_pass_as_data(icons: object) -> None:
    assert with_icons({"icons": icons}, "data") == {}


@pytest.mark.parametrize(
    "uri",
    ["javascript:alert(1)", "JavaScript:alert(1)", " javascript:x", "java\nscript:x",
     "vbscript:x", "data:text/html,<b>", "blob:https://x/1"],
)  # fmt: skip
def test_a_link_that_runs_what_it_holds_is_a_fault(uri: str) -> None:
    assert "scheme" in link_fault(uri)


@pytest.mark.parametrize(
    "uri",
    ["file:///a", "https://example.com/a?b=javascript:c", "note://javascript:1", "x", "", ":x",
     "javascripts:x", "urn:data:1", "toolcrib://server/a"],
)  # fmt: skip
def test_a_link_that_names_a_resource_is_none(uri: str) -> None:
    assert link_fault(uri) == ""
