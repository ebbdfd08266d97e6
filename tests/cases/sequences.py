"""Which tests prove that no sequence that breaks a plausible freshness machine breaks ours.

Each entry says in one sentence what goes wrong, and names the tests that prove that it does not, as
`file::test` below the root of the project; `test_manifest.py` holds it to both. The sequences 19,
22, 23 and 30 need calls or identities.
"""

from collections.abc import Mapping

Entry = tuple[str, tuple[str, ...]]
"""What goes wrong, and the tests."""

FRESHNESS = "tests/core/freshness"

SEQUENCES: Mapping[int, Entry] = {
    1: (
        "The reader whose arrival began a walk goes away, and takes the walk with it.",
        (
            "tests/cases/test_freshness.py::test_hosts_that_list_at_expiry_share_one_walk_although_the_first_goes_away",
            "tests/catalog/test_keeper.py::test_a_reader_that_is_cancelled_at_any_moment_takes_nothing_with_it",
            f"{FRESHNESS}/test_when_to_walk.py::test_1_readers_that_arrive_together_share_one_walk_and_are_served_by_it",
        ),
    ),
    2: (
        "A walk during which a signal came is published as if it were new.",
        (
            f"{FRESHNESS}/test_signals.py::test_2_a_dirty_walk_is_repeated_at_once_and_not_published",
            f"{FRESHNESS}/test_signals.py::test_2_however_many_signals_fall_into_a_walk_one_more_follows",
            "tests/catalog/test_keeper.py::test_a_signal_while_the_listing_is_in_flight_makes_its_answer_an_old_one",
        ),
    ),
    3: (
        "An older walk that answers late replaces a newer one.",
        (
            "tests/cases/test_freshness.py::test_an_old_walk_that_answers_after_a_newer_one_was_published_is_dropped",
            f"{FRESHNESS}/test_signals.py::test_3_an_old_walk_that_answers_late_is_dropped",
        ),
    ),
    4: (
        "Pages from before and after a change are shown as one list.",
        (
            "tests/cases/test_pagination.py::test_a_change_between_two_pages_is_never_shown_half",
            f"{FRESHNESS}/test_signals.py::test_4_a_signal_between_the_pages_never_leads_to_a_mixed_listing",
            f"{FRESHNESS}/test_signals.py::test_4_two_equal_dirty_walks_in_a_row_are_published_as_stale",
        ),
    ),
    5: (
        "Signals that keep coming at the start keep hosts without any tools.",
        (
            "tests/cases/test_freshness.py::test_a_cold_start_in_a_storm_shows_tools_within_one_walk",
            f"{FRESHNESS}/test_signals.py::test_5_a_cold_start_in_a_storm_shows_the_first_whole_walk_as_stale",
        ),
    ),
    6: (
        "A change between the walk and the acknowledgement of the stream is missed by both.",
        (
            "tests/cases/test_reconnect.py::test_a_change_between_the_listing_and_the_acknowledgement_is_found",
            f"{FRESHNESS}/test_when_to_walk.py::test_6_a_walk_that_ended_before_the_stream_was_answered_does_not_count",
        ),
    ),
    7: (
        "A server that signals on each of our listings is listed without end.",
        (
            "tests/cases/test_freshness.py::test_a_server_that_signals_on_each_listing_is_slowed_down_and_its_changes_are_seen",
            f"{FRESHNESS}/test_signals.py::test_7_a_server_that_signals_on_each_of_our_walks_is_settled",
        ),
    ),
    8: (
        "The signal comes before the change, and the walk it causes finds nothing.",
        (
            "tests/cases/test_freshness.py::test_a_signal_that_comes_before_its_change_is_looked_after_once_more",
            f"{FRESHNESS}/test_signals.py::test_8_a_signal_that_comes_before_the_change_is_found_by_the_recheck",
            f"{FRESHNESS}/test_signals.py::test_8_a_recheck_that_fails_is_made_up_for",
        ),
    ),
    9: (
        "The last page of a walk brings back what was withdrawn meanwhile.",
        (
            "tests/cases/test_tenants.py::test_a_page_that_arrives_after_the_right_was_lost_brings_nothing_back",
            "tests/cases/test_tenants.py::test_a_right_that_is_lost_withdraws_for_that_principal_only",
            f"{FRESHNESS}/test_rights.py::test_9_a_page_that_arrives_after_the_revocation_is_dropped",
        ),
    ),
    10: (
        "A list becomes private without another word in it, and goes on being shared.",
        (
            "tests/cases/test_tenants.py::test_a_scope_that_tightens_is_passed_on_at_once_and_is_no_new_content",
            f"{FRESHNESS}/test_rights.py::test_10_an_equal_listing_that_became_private_is_withdrawn_where_it_was_shared",
            f"{FRESHNESS}/test_rights.py::test_10_where_nothing_is_shared_the_scope_changes_and_the_generation_stays",
        ),
    ),
    11: (
        "A server that is still registering its tools is believed to have none.",
        (
            "tests/cases/test_reconnect.py::test_a_server_that_registers_its_tools_slowly_after_a_restart_loses_none",
            f"{FRESHNESS}/test_second_looks.py::test_11_a_server_that_registers_its_tools_slowly_loses_none_of_them",
        ),
    ),
    12: (
        "A server that really lost its tools is never believed.",
        (
            "tests/cases/test_reconnect.py::test_a_server_that_really_lost_its_tools_is_believed_after_a_second_look",
            f"{FRESHNESS}/test_second_looks.py::test_12_a_loss_after_a_reconnect_is_confirmed_once_and_then_published",
            f"{FRESHNESS}/test_second_looks.py::test_12_without_a_reconnect_an_empty_listing_is_published_at_once",
        ),
    ),
    13: (
        "Replicas that take turns change the list of every host each time.",
        (
            "tests/cases/test_reconnect.py::test_replicas_that_disagree_are_reported_and_not_published_each_time",
            "tests/cases/test_reconnect.py::test_a_tool_of_either_replica_stays_known_to_the_keeper",
            "tests/cases/test_reconnect.py::test_a_tool_of_either_replica_stays_callable_for_a_host",
            f"{FRESHNESS}/test_second_looks.py::test_13_replicas_of_the_server_that_disagree_are_reported_and_held",
            f"{FRESHNESS}/test_need.py::test_a_tool_of_the_listing_that_is_held_back_stays_callable",
        ),
    ),
    14: (
        "A change that is taken back later is held for a quarrel of replicas, and never shown.",
        (
            "tests/cases/test_freshness.py::test_a_silent_change_and_its_reversal_are_both_shown",
            f"{FRESHNESS}/test_second_looks.py::test_14_a_silent_change_and_its_reversal_are_published",
        ),
    ),
    15: (
        "Readers of a dead server wait for it one after the other, and keep asking it.",
        (
            "tests/cases/test_age.py::test_a_dead_server_is_asked_at_the_pace_of_its_breaker_and_readers_do_not_wait",
            f"{FRESHNESS}/test_failing.py::test_15_a_dead_server_is_asked_at_the_pace_of_the_breaker",
            f"{FRESHNESS}/test_failing.py::test_15_retry_after_is_respected_and_a_reconnect_does_not_lift_it",
        ),
    ),
    16: (
        "A cursor that its server no longer takes ends the list in the middle.",
        (
            "tests/cases/test_pagination.py::test_a_refused_cursor_begins_the_listing_again_and_loses_nothing",
            f"{FRESHNESS}/test_failing.py::test_16_a_refused_cursor_restarts_the_walk_once_and_counts_as_dirty",
        ),
    ),
    17: (
        "A page fails, and half a list is shown.",
        (
            "tests/cases/test_pagination.py::test_a_page_that_fails_publishes_nothing_of_the_listing",
            "tests/cases/test_pagination.py::test_where_nothing_is_held_a_page_that_fails_is_an_empty_list_and_no_half_one",
            f"{FRESHNESS}/test_failing.py::test_17_a_failing_second_page_publishes_nothing",
        ),
    ),
    18: (
        "A clock is set back, and what was stored is fresh for longer than its hints say.",
        (
            "tests/cases/test_reconnect.py::test_a_wall_clock_that_jumps_never_lengthens_what_may_be_relied_on",
            "tests/cases/test_reconnect.py::test_what_a_store_received_in_the_future_is_stale_and_its_ttl_not_longer",
            f"{FRESHNESS}/test_failing.py::test_18_a_clock_that_jumps_never_lengthens_a_ttl",
            f"{FRESHNESS}/test_failing.py::test_18_a_lease_from_before_the_jump_does_not_block",
        ),
    ),
    20: (
        "An outage decides what a server speaks, or a change of era throws last good away.",
        (
            "tests/cases/test_reconnect.py::test_last_good_survives_an_outage_and_a_change_of_era",
            f"{FRESHNESS}/test_failing.py::test_20_last_good_survives_an_outage_and_a_reconnect_as_stale",
            "tests/adapters/test_era.py::test_an_outage_over_http_decides_nothing",
        ),
    ),
    21: (
        "A server without a ttl is listed anew for each listing of each host.",
        (
            "tests/cases/test_freshness.py::test_many_listings_without_a_ttl_cost_one_walk_per_interval",
            f"{FRESHNESS}/test_when_to_walk.py::test_21_a_server_without_ttl_is_walked_once_per_interval",
        ),
    ),
    22: (
        "A call changes its own server, and its result arrives with the old list.",
        (
            "tests/cases/test_stale_calls.py::test_what_a_call_changes_is_listed_when_its_result_is_there_and_told_with_it",
            "tests/cases/test_stale_calls.py::test_a_refresh_that_takes_too_long_costs_a_result_one_second",
            "tests/cases/test_stale_calls.py::test_a_call_that_is_answered_with_a_storm_of_signals_is_answered",
            "tests/gateway/test_call_results.py::test_word_of_what_a_call_changed_reaches_the_host_before_its_result",
        ),
    ),
    23: (
        "A person agrees after minutes, and what is sent is not what they agreed to.",
        (
            "tests/cases/test_stale_calls.py::test_what_a_person_agreed_to_is_not_sent_once_the_tool_is_another",
            "tests/cases/test_stale_calls.py::test_a_long_thought_about_a_tool_that_only_reads_otherwise_is_no_matter",
            "tests/calls/test_pipeline.py::test_a_call_whose_tool_changed_while_a_person_thought_is_refused",
        ),
    ),
    24: (
        "Signals right after the start, while the first listing runs, multiply the walks.",
        (
            "tests/cases/test_freshness.py::test_five_signals_right_after_the_start_end_in_the_whole_list_after_two_walks",
            f"{FRESHNESS}/test_when_to_walk.py::test_24_five_signals_right_after_the_start_cost_at_most_two_walks",
            "tests/e2e/test_a_server_that_changes_its_tools.py::test_a_burst_of_signals_ends_in_the_whole_list_after_two_walks_at_most",
        ),
    ),
    25: (
        "A stream is lost without an error, and nobody notices for ever.",
        (
            "tests/cases/test_reconnect.py::test_a_stream_that_is_lost_without_a_word_costs_the_ttl_at_most",
            "tests/cases/test_reconnect.py::test_what_changed_while_the_stream_was_lost_is_found_when_it_is_back",
            f"{FRESHNESS}/test_when_to_walk.py::test_25_a_lost_stream_invalidates_and_the_next_walk_counts",
        ),
    ),
    26: (
        "The hint of one page speaks for the others.",
        (
            "tests/cases/test_pagination.py::test_a_listing_is_fresh_as_long_as_its_shortest_page",
            f"{FRESHNESS}/test_when_to_walk.py::test_26_freshness_is_the_minimum_over_pages_each_from_its_own_receipt",
        ),
    ),
    27: (
        "Storms of many servers fill queues, and the last word is lost in them.",
        (
            "tests/cases/test_freshness.py::test_storms_of_many_servers_stay_bounded_and_all_lists_converge",
            "tests/catalog/test_keeping.py::test_after_the_last_of_ten_thousand_signals_two_walks_find_the_servers_list",
            f"{FRESHNESS}/test_signals.py::test_27_ten_thousand_signals_in_a_second_queue_nothing_and_converge",
            "tests/wire/test_audience.py::test_ten_thousand_changes_nobody_reads_are_one_per_topic",
        ),
    ),
    28: (
        "One malformed tool of many costs the page, or its repair is not noticed.",
        (
            "tests/cases/test_definitions.py::test_99_of_100_are_published_when_one_is_malformed",
            "tests/cases/test_definitions.py::test_a_bad_definition_that_goes_bad_otherwise_is_noticed_by_the_digest",
            f"{FRESHNESS}/test_second_looks.py::test_28_one_malformed_tool_costs_one_tool_and_its_repair_is_noticed",
        ),
    ),
    29: (
        "The same tools in another order count as a change.",
        (
            "tests/cases/test_neighbours.py::test_a_server_that_comes_back_with_the_same_tools_changes_no_byte",
            f"{FRESHNESS}/test_signals.py::test_29_the_same_listing_in_another_order_is_the_same_generation",
            "tests/core/test_fingerprint.py::test_the_order_received_does_not_move_the_digest",
        ),
    ),
    30: (
        "A token ends in the middle of a walk, and the walk or its partition is lost.",
        (
            "tests/cases/test_token_refresh.py::test_a_walk_whose_token_ends_is_finished_with_the_next_one",
            "tests/cases/test_token_refresh.py::test_what_changed_under_the_next_token_is_a_newer_generation_of_the_same",
            "tests/cases/test_token_refresh.py::test_a_walk_whose_right_is_gone_withdraws_and_shows_no_half",
        ),
    ),
}
