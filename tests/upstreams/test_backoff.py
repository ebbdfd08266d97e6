import math

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.settings import Reconnect
from toolcrib.upstreams.backoff import GROWTH, JITTER, Attempts

lots = st.floats(min_value=0, max_value=1, exclude_max=True)
seconds = st.floats(min_value=0.01, max_value=1e4)


@st.composite
def rules(draw: st.DrawFn) -> Reconnect:
    base = draw(st.floats(min_value=0.01, max_value=10))
    return Reconnect(
        backoff_base=base,
        backoff_max=base * draw(st.floats(min_value=1, max_value=1000)),
        slow_probe=draw(seconds),
        give_up_after=draw(st.integers(min_value=0, max_value=60)),
        sustained=draw(seconds),
    )


def failed(times: int, rule: Reconnect) -> Attempts:
    attempts = Attempts()
    for _ in range(times):
        attempts = attempts.after(0.0, rule)
    return attempts


@given(rules(), lots)
def test_the_first_attempt_waits_for_nothing(rule: Reconnect, lot: float) -> None:
    assert Attempts().delay(rule, lot) == 0.0
    assert not Attempts().slow(rule)


@given(rules(), st.integers(min_value=1, max_value=200), lots)
def test_a_delay_stays_between_the_base_and_the_jittered_maximum(
    rule: Reconnect, times: int, lot: float
) -> None:
    attempts = failed(times, rule)
    delay = attempts.delay(rule, lot)
    longest = rule.slow_probe if attempts.slow(rule) else rule.backoff_max
    shortest = rule.slow_probe if attempts.slow(rule) else rule.backoff_base
    assert shortest <= delay <= longest * (1 + JITTER)


@given(rules(), st.integers(min_value=1, max_value=199))
def test_without_jitter_no_delay_is_shorter_than_the_one_before(
    rule: Reconnect, times: int
) -> None:
    now, then = failed(times, rule), failed(times + 1, rule)
    if now.slow(rule) == then.slow(rule):
        assert then.delay(rule, 0.0) >= now.delay(rule, 0.0)


@given(rules(), st.integers(min_value=1, max_value=200), lots, lots)
def test_jitter_only_lengthens_and_by_a_quarter_at_most(
    rule: Reconnect, times: int, one: float, other: float
) -> None:
    attempts = failed(times, rule)
    bare = attempts.delay(rule, 0.0)
    assert bare <= attempts.delay(rule, one) <= bare * (1 + JITTER)
    assert (one <= other) == (attempts.delay(rule, one) <= attempts.delay(rule, other)) or (
        attempts.delay(rule, one) == attempts.delay(rule, other)
    )


@given(rules(), st.integers(min_value=1, max_value=200), lots, seconds)
def test_the_wait_a_server_asks_for_is_never_undercut_and_never_endless(
    rule: Reconnect, times: int, lot: float, asked: float
) -> None:
    attempts = failed(times, rule)
    delay = attempts.delay(rule, lot, asked)
    assert delay >= min(asked, rule.slow_probe)
    assert delay >= attempts.delay(rule, lot)
    assert delay <= max(attempts.delay(rule, lot), rule.slow_probe)


@given(rules(), st.integers(min_value=0, max_value=200), st.floats(min_value=0, max_value=1e5))
def test_only_sustained_uptime_starts_the_delay_anew(
    rule: Reconnect, times: int, uptime: float
) -> None:
    after = failed(times, rule).after(uptime, rule)
    assert after.failed == (1 if uptime >= rule.sustained else times + 1)


@given(rules(), st.integers(min_value=0, max_value=200))
def test_slow_probing_begins_once_more_attempts_failed_than_allowed(
    rule: Reconnect, times: int
) -> None:
    assert failed(times, rule).slow(rule) == (times > rule.give_up_after)


def test_the_delays_of_the_default_rule_triple_up_to_a_minute_and_then_probe_slowly() -> None:
    rule = Reconnect()
    delays = [failed(times, rule).delay(rule, 0.0) for times in range(11)]
    assert delays == [0, 0.5, 1.5, 4.5, 13.5, 40.5, 60, 60, 60, 300, 300]
    assert math.isclose(delays[2], delays[1] * GROWTH)


def test_five_starts_is_the_most_in_the_first_minute_of_a_server_that_keeps_exiting() -> None:
    rule = Reconnect()
    at, starts = 0.0, 0
    attempts = Attempts()
    while at < 60:
        starts += 1
        attempts = attempts.after(0.0, rule)
        at += attempts.delay(rule, 0.0)
    assert starts == 5
