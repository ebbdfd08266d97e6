import pytest

from toolcrib.catalog.access import PublishedChange
from toolcrib.catalog.published import PublishedHook
from toolcrib.core.snapshot import Kind


def change(generation: int) -> PublishedChange:
    return PublishedChange("s", Kind.TOOLS, None, None, generation)


class Ear:
    def __init__(self) -> None:
        self.heard: list[int] = []

    def __call__(self, published: PublishedChange) -> None:
        self.heard.append(published.generation)


def test_every_listener_hears_every_change_in_order() -> None:
    hook, ears = PublishedHook(), [Ear(), Ear(), Ear()]
    for ear in ears:
        hook.subscribe(ear)
    for number in range(50):
        hook.publish(change(number))
    assert [ear.heard for ear in ears] == [list(range(50))] * 3


def test_one_that_raises_is_logged_and_costs_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    hook, before, after = PublishedHook(), Ear(), Ear()

    def broken(_change: PublishedChange) -> None:
        raise RuntimeError("my own fault")

    hook.subscribe(before)
    hook.subscribe(broken)
    hook.subscribe(after)
    hook.publish(change(1))
    hook.publish(change(2))
    assert before.heard == after.heard == [1, 2]
    assert caplog.text.count("a listener of published changes raised") == 2


def test_a_change_that_a_listener_causes_is_told_after_the_one_it_heard_of() -> None:
    hook, last = PublishedHook(), Ear()

    def causing(published: PublishedChange) -> None:
        if published.generation < 5:
            hook.publish(change(published.generation + 1))

    hook.subscribe(causing)
    hook.subscribe(last)
    hook.publish(change(1))
    assert last.heard == [1, 2, 3, 4, 5]


def test_who_unsubscribes_hears_nothing_more_even_of_the_change_that_is_being_told() -> None:
    hook, late = PublishedHook(), Ear()

    def ending(_change: PublishedChange) -> None:
        end_late()

    hook.subscribe(ending)
    end_late = hook.subscribe(late)
    hook.publish(change(1))
    end_late()
    hook.publish(change(2))
    assert late.heard == []


def test_who_subscribes_during_a_change_hears_the_next_one() -> None:
    hook, late = PublishedHook(), Ear()

    def inviting(published: PublishedChange) -> None:
        if published.generation == 1:
            hook.subscribe(late)

    hook.subscribe(inviting)
    hook.publish(change(1))
    hook.publish(change(2))
    assert late.heard == [2]


def test_one_listener_may_subscribe_twice_and_ends_each_by_itself() -> None:
    hook, ear = PublishedHook(), Ear()
    end_one, _ = hook.subscribe(ear), hook.subscribe(ear)
    hook.publish(change(1))
    end_one()
    end_one()
    hook.publish(change(2))
    assert ear.heard == [1, 1, 2]


def test_after_a_listener_that_ends_everything_changes_are_told_again() -> None:
    hook, ear = PublishedHook(), Ear()

    def fatal(_change: PublishedChange) -> None:
        raise KeyboardInterrupt

    end_fatal = hook.subscribe(fatal)
    hook.subscribe(ear)
    with pytest.raises(KeyboardInterrupt):
        hook.publish(change(1))
    end_fatal()
    hook.publish(change(2))
    assert ear.heard == [2]
