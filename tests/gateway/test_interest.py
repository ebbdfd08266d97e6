from toolcrib.core.snapshot import Kind
from toolcrib.gateway.interest import Interest
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.wire.audience import Audience, Topic


def test_a_kind_is_watched_while_it_was_listed_and_a_stream_waits_for_news_of_it() -> None:
    access, audience = FakeAccess(), Audience()
    interest = Interest(access, audience)
    interest.listed(Kind.TOOLS)
    assert access.watched[Kind.TOOLS] == 0
    first, second = audience.join([Topic.TOOLS]), audience.join(Topic)
    assert access.watched == {Kind.TOOLS: 1}
    first.leave()
    assert access.watched[Kind.TOOLS] == 1
    second.leave()
    second.leave()
    assert access.watched[Kind.TOOLS] == 0


def test_a_kind_that_no_stream_asked_for_is_not_watched() -> None:
    access, audience = FakeAccess(), Audience()
    interest = Interest(access, audience)
    audience.join([Topic.PROMPTS])
    interest.listed(Kind.TOOLS)
    assert access.watched[Kind.TOOLS] == 0


def test_templates_are_watched_with_the_resources() -> None:
    access, audience = FakeAccess(), Audience()
    interest = Interest(access, audience)
    interest.listed(Kind.TEMPLATES)
    audience.join([Topic.RESOURCES])
    assert access.watched[Kind.TEMPLATES] == 1


def test_who_leaves_watches_nothing() -> None:
    access, audience = FakeAccess(), Audience()
    interest = Interest(access, audience)
    interest.listed(Kind.TOOLS)
    audience.join(Topic)
    interest.leave()
    interest.leave()
    assert access.watched[Kind.TOOLS] == 0
