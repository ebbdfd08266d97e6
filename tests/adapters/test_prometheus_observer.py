"""Facts as metrics: every one is counted, and no label can grow without bound."""

import re
from dataclasses import fields
from typing import Any, get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from toolcrib import facts
from toolcrib.adapters.observing.prometheus_observer import (
    MOST_SERVERS,
    MOST_WORDS,
    PrometheusObserver,
)
from toolcrib.facts import Fact

KINDS: tuple[type[Any], ...] = get_args(Fact)


def counts(observer: PrometheusObserver) -> dict[str, float]:
    """Every sample but those that carry times of their own, by its name and labels."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(observer.render().decode()):
        for sample in family.samples:
            if not sample.name.endswith(("_created", "_bucket", "_sum")):
                labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
                name = sample.name.removeprefix("toolcrib_")
                found[f"{name}{{{labels}}}" if labels else name] = sample.value
    return found


def after(*noted: Fact) -> dict[str, float]:
    observer = PrometheusObserver()
    for fact in noted:
        observer.note(fact)
    return counts(observer)


@pytest.mark.parametrize("kind", KINDS)
def test_every_fact_is_counted(kind: type[Any]) -> None:
    types = {"str": "x", "int": 1, "float": 1.5, "bool": True}
    fact = kind(**{f.name: types[getattr(f.type, "__name__", str(f.type))] for f in fields(kind)})
    assert after(fact) != after()


def test_walks_and_requests_are_counted_apart() -> None:
    found = after(
        facts.WalkEnded("git", "tools", "published", 3, 10, 0, 100, 0.2),
        facts.WalkEnded("git", "tools", "failed", 2, 0, 0, 0, 0.1),
        facts.WalkEnded("git", "prompts", "renewed", 1, 0, 0, 0, 0.1),
    )
    assert found["walks_total{kind=tools,outcome=published,server=git}"] == 1
    assert found["walks_total{kind=tools,outcome=failed,server=git}"] == 1
    assert found["list_requests_total{kind=tools,server=git}"] == 5
    assert found["list_requests_total{kind=prompts,server=git}"] == 1
    assert found["walk_seconds_count{kind=tools,server=git}"] == 2


def test_catalogs_calls_and_hosts_have_their_counters() -> None:
    found = after(
        facts.Refreshed("git", "tools", 2, 10, 1, 0, 0),
        facts.Invalidated("git", "tools", "signal"),
        facts.Invalidated("git", "tools", "signal"),
        facts.Withdrawn("git", "tools"),
        facts.ServedStale("git", "tools", 3.0),
        facts.RefreshFailed("git", "tools", "timeout", "d", 1.0),
        facts.ItemQuarantined("git", "tools", "secret_tool", "no_input_schema"),
        facts.CallForwarded("git", "tools/call", "secret_tool", "ok", 0.1),
        facts.CallForwarded("git", "tools/call", "secret_tool", "tool_error", 0.1),
        facts.CallRefused("git", "secret_tool", "schema_changed"),
        facts.CallFailed("git", "secret_tool", "changed_silently"),
        facts.EraFound("git", "modern", "discover"),
        facts.Finding("git", "process_left", "d"),
        facts.Listed("tools", 10, 100, fresh=False, seconds=0.1),
        facts.HostNotified("tools"),
        facts.StoreDegraded("d"),
    )
    assert (
        found
        | {
            "refreshes_total{kind=tools,server=git}": 1,
            "invalidations_total{kind=tools,reason=signal,server=git}": 2,
            "withdrawals_total{kind=tools,server=git}": 1,
            "served_stale_total{kind=tools,server=git}": 1,
            "refresh_failures_total{failure=timeout,kind=tools,server=git}": 1,
            "quarantined_total{kind=tools,reason=no_input_schema,server=git}": 1,
            "calls_total{method=tools/call,outcome=ok,server=git}": 1,
            "calls_total{method=tools/call,outcome=tool_error,server=git}": 1,
            "call_seconds_count{method=tools/call,server=git}": 2,
            "calls_refused_total{code=schema_changed,server=git}": 1,
            "calls_failed_total{code=changed_silently,server=git}": 1,
            "eras_found_total{era=modern,server=git}": 1,
            "findings_total{code=process_left,server=git}": 1,
            "listings_total{fresh=no,kind=tools}": 1,
            "listing_seconds_count{kind=tools}": 1,
            "hosts_notified_total{kind=tools}": 1,
            "store_degraded_total": 1,
        }
        == found
    )


def test_runtimes_are_counted_by_language_and_whether_they_are_jailed() -> None:
    found = after(
        facts.RuntimeStarted("python", "monty 1", "", "no bubblewrap at /a/path"),
        facts.RuntimeStarted("typescript", "deno 2", "bubblewrap 1"),
    )
    assert found["runtimes_total{jailed=no,language=python}"] == 1
    assert found["runtimes_total{jailed=yes,language=typescript}"] == 1


def test_a_connection_is_in_one_state_at_a_time() -> None:
    observer = PrometheusObserver()
    for state in ("connecting", "ready"):
        observer.note(facts.ConnectionChanged("git", state))
    observer.note(facts.ConnectionChanged("git", "ready", connection=1))
    found = counts(observer)
    assert found["connections{server=git,state=connecting}"] == 0
    assert found["connections{server=git,state=ready}"] == 2
    observer.note(facts.ConnectionChanged("git", "closed", connection=1))
    observer.note(facts.ConnectionChanged("git", "closed", connection=1))
    observer.note(facts.ConnectionChanged("git", "backoff"))
    found = counts(observer)
    assert found["connections{server=git,state=ready}"] == 0
    assert found["connections{server=git,state=backoff}"] == 1


def test_noise_is_counted_by_line_although_facts_carry_totals() -> None:
    found = after(
        facts.NoiseSkipped("git", 1, "x"),
        facts.NoiseSkipped("git", 2, "x"),
        facts.NoiseSkipped("git", 16, "x"),
        facts.NoiseSkipped("git", 3, "a new connection"),
        facts.NoiseSkipped("other", 5, "x"),
    )
    assert found["noise_lines_total{server=git}"] == 19
    assert found["noise_lines_total{server=other}"] == 5


def test_no_label_tells_of_tools_details_or_words_of_servers() -> None:
    observer = PrometheusObserver()
    observer.note(facts.CallForwarded("git", "tools/call", "canary_tool", "ok", 0.1))
    observer.note(facts.CallRefused("git", "canary_tool", "tool_gone"))
    observer.note(facts.CallFailed("git", "canary_tool", "result_invalid"))
    observer.note(facts.ItemQuarantined("git", "tools", "canary_tool", "too_deep"))
    observer.note(facts.Finding("git", "code", "canary detail"))
    observer.note(facts.NoiseSkipped("git", 1, "canary noise"))
    observer.note(facts.RefreshFailed("git", "tools", "timeout", "canary", 1.0))
    observer.note(facts.ConnectionChanged("git", "lost", "", "canary"))
    assert b"canary" not in observer.render()


def test_labels_take_so_many_values_and_no_more() -> None:
    observer = PrometheusObserver()
    for number in range(MOST_SERVERS + 50):
        observer.note(facts.Withdrawn(f"server-{number}", "tools"))
    for number in range(MOST_WORDS + 50):
        observer.note(facts.CallRefused("git", "t", f"code-{number}"))
    found = counts(observer)
    servers = {key for key in found if key.startswith("withdrawals_total")}
    codes = {key for key in found if key.startswith("calls_refused_total")}
    assert len(servers) == MOST_SERVERS + 1
    assert found["withdrawals_total{kind=tools,server=other}"] == 50
    assert len(codes) == MOST_WORDS + 1
    assert found["calls_refused_total{code=other,server=other}"] == 50


def test_two_cribs_in_one_process_count_apart() -> None:
    one, two = PrometheusObserver(), PrometheusObserver()
    one.note(facts.HostNotified("tools"))
    assert "hosts_notified_total{kind=tools}" in counts(one)
    assert "hosts_notified_total{kind=tools}" not in counts(two)


def test_a_scrape_is_text_that_prometheus_reads() -> None:
    assert PrometheusObserver.content_type.startswith("text/plain")
    names = re.findall(rb"^# TYPE (\S+)", PrometheusObserver().render(), re.MULTILINE)
    assert names
    assert all(name.startswith(b"toolcrib_") for name in names)


def test_choices_of_a_small_model_are_counted_and_timed_where_it_was_asked() -> None:
    found = after(
        facts.SmallModelAsked("chosen", 0.3, 2),
        facts.SmallModelAsked("timeout", 5.0),
        facts.SmallModelAsked("paused", 0.0),
        facts.SmallModelAsked("over_budget", 0.0),
    )
    assert found["small_model_choices_total{outcome=chosen}"] == 1
    assert found["small_model_choices_total{outcome=over_budget}"] == 1
    assert found["small_model_seconds_count"] == 2
    assert found["small_model_invented_total"] == 2
