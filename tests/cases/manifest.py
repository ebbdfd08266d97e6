"""Which tests prove that we do not have the known faults of other projects.

Each entry says in one sentence what kind of fault it is, and names the tests of the whole kind, as
`file::test` below the root of the project; `test_manifest.py` holds it to both.
"""

from collections.abc import Mapping

Entry = tuple[str, tuple[str, ...]]
"""The kind of fault, and its tests."""

FRESHNESS = "tests/core/freshness"

CASES: Mapping[str, Entry] = {
    "PG1": (
        "Only the first page of a listing is read, so that later tools do not exist.",
        (
            "tests/cases/test_pagination.py::test_every_page_of_every_kind_reaches_the_host_on_one_page",
            f"{FRESHNESS}/test_walk.py::test_every_page_is_followed_and_the_first_request_has_no_cursor",
            "tests/catalog/test_walk.py::test_the_first_request_carries_no_cursor_key_and_the_next_exactly_its_cursor",
        ),
    ),
    "PG2": (
        "A server gives the same cursor again, and the reader follows it for ever.",
        (
            "tests/cases/test_pagination.py::test_a_listing_that_goes_in_circles_without_news_is_used_once_and_told",
            "tests/cases/test_pagination.py::test_a_listing_that_goes_in_circles_with_news_fails_and_last_good_stays",
            f"{FRESHNESS}/test_walk.py::test_a_cursor_that_comes_twice_without_new_names_ends_a_usable_walk",
            f"{FRESHNESS}/test_walk.py::test_a_longer_cycle_is_noticed_too",
        ),
    ),
    "PG3": (
        "An empty cursor is taken for the end although another page follows.",
        (
            "tests/cases/test_pagination.py::test_every_page_of_every_kind_reaches_the_host_on_one_page",
            "tests/cases/test_pagination.py::test_an_absent_and_a_null_cursor_end_a_listing",
            f"{FRESHNESS}/test_walk.py::test_any_cursor_but_none_is_followed",
            "tests/protocol/test_listing.py::test_any_string_continues_the_walk_and_the_empty_one_too",
        ),
    ),
    "PG4": (
        "An old server marks its end with an empty cursor, and the reader never stops.",
        (
            "tests/cases/test_pagination.py::test_a_listing_that_goes_in_circles_without_news_is_used_once_and_told",
            f"{FRESHNESS}/test_walk.py::test_a_cursor_that_comes_twice_without_new_names_ends_a_usable_walk",
        ),
    ),
    "PG8": (
        "A gateway passes on the first page of a server, or a cursor that is not its own.",
        (
            "tests/cases/test_pagination.py::test_every_page_of_every_kind_reaches_the_host_on_one_page",
            "tests/cases/test_pagination.py::test_a_cursor_that_a_host_sends_is_not_ours",
            "tests/gateway/test_eras.py::test_there_is_one_page_and_no_cursor_is_ours",
        ),
    ),
    "FR1": (
        "A call makes its server offer more tools, and no search finds them.",
        (
            "tests/cases/test_discovery.py::test_what_a_call_brought_is_found_by_the_search_after_its_result",
            "tests/cases/test_discovery.py::test_what_a_call_brought_is_found_while_the_call_goes_on",
            "tests/cases/test_discovery.py::test_what_came_without_a_signal_is_found_by_the_next_search_that_needs_a_look",
            "tests/cases/test_discovery.py::test_names_details_and_signatures_are_all_of_the_newest_list",
            "tests/discovery/test_tool_index.py::test_what_is_published_before_a_search_is_found_by_it",
            "tests/discovery/test_tool_index.py::test_a_change_during_the_building_is_in_the_answer",
            "tests/e2e/test_searching_hosts.py::test_tools_that_a_call_brought_are_found_by_the_next_search",
        ),
    ),
    "FR2": (
        "Each signal of a storm starts a listing of its own.",
        (
            "tests/cases/test_freshness.py::test_a_storm_during_a_call_costs_two_walks_and_ends_in_the_servers_list",
            "tests/catalog/test_keeping.py::test_after_the_last_of_ten_thousand_signals_two_walks_find_the_servers_list",
            f"{FRESHNESS}/test_signals.py::test_2_however_many_signals_fall_into_a_walk_one_more_follows",
            "tests/e2e/test_a_server_that_changes_its_tools.py::test_a_burst_of_signals_ends_in_the_whole_list_after_two_walks_at_most",
        ),
    ),
    "FR3": (
        "A signal during a listing is answered by that listing, which is already old.",
        (
            "tests/cases/test_freshness.py::test_a_change_while_a_listing_is_in_flight_is_followed_by_a_second_walk_at_once",
            "tests/catalog/test_keeper.py::test_a_signal_while_the_listing_is_in_flight_makes_its_answer_an_old_one",
            "tests/catalog/test_keeper.py::test_a_signal_between_any_two_steps_of_a_cold_start_ends_in_the_newest_list",
            f"{FRESHNESS}/test_signals.py::test_2_a_dirty_walk_is_repeated_at_once_and_not_published",
        ),
    ),
    "FR5": (
        "A server signals after each listing, and the two keep each other busy for ever.",
        (
            "tests/cases/test_freshness.py::test_a_server_that_signals_on_each_listing_is_slowed_down_and_its_changes_are_seen",
            f"{FRESHNESS}/test_signals.py::test_7_a_server_that_signals_on_each_of_our_walks_is_settled",
            "tests/catalog/test_keeper_life.py::test_what_is_odd_is_told_as_a_finding",
        ),
    ),
    "FR6": (
        "A signal that was not declared is dropped, or one that comes before its change is wasted.",
        (
            "tests/cases/test_freshness.py::test_a_signal_that_comes_before_its_change_is_looked_after_once_more",
            "tests/catalog/test_server_catalogs.py::test_a_notification_refreshes_its_own_lists_and_no_others",
            f"{FRESHNESS}/test_signals.py::test_8_a_signal_that_comes_before_the_change_is_found_by_the_recheck",
            "tests/adapters/test_connector.py::test_a_signal_that_nobody_declared_is_heard",
        ),
    ),
    "FR7": (
        "A listing that fails, after a slow call perhaps, takes the tools away until a restart.",
        (
            "tests/cases/test_age.py::test_a_refresh_that_fails_keeps_the_tools_as_stale_and_is_made_up_for",
            "tests/catalog/test_keeper.py::test_a_listing_that_breaks_us_costs_its_own_catalog_only",
            f"{FRESHNESS}/test_failing.py::test_15_a_dead_server_is_asked_at_the_pace_of_the_breaker",
            "tests/catalog/test_a_day_in_virtual_time.py::test_a_day_of_changes_keeps_promises_one_to_four",
        ),
    ),
    "FR8": (
        "Definitions are called from however long ago they could last be confirmed.",
        (
            "tests/cases/test_age.py::test_calls_from_a_catalog_that_is_too_old_are_refused_and_never_sent",
            "tests/cases/test_age.py::test_past_its_age_a_listing_is_hidden_and_others_stay",
            "tests/cases/test_age.py::test_what_is_too_old_to_be_listed_may_still_be_called_until_calls_are_refused_too",
            "tests/catalog/test_catalogs.py::test_a_call_is_admitted_from_what_is_too_old_to_be_listed_and_refused_later",
        ),
    ),
    "FR10": (
        "A tool is called by a schema that it no longer has, and nobody says what changed.",
        (
            "tests/cases/test_stale_calls.py::test_after_a_restart_a_call_of_what_was_is_told_the_difference_and_not_sent",
            "tests/cases/test_stale_calls.py::test_a_program_that_says_what_it_saw_is_told_the_same",
            "tests/cases/test_stale_calls.py::test_a_contract_that_is_back_to_what_was_seen_is_called",
            "tests/cases/test_stale_calls.py::test_a_change_that_is_none_of_the_contract_blocks_nothing",
            "tests/cases/test_stale_calls.py::test_a_call_in_flight_finishes_although_its_tool_is_no_more_what_it_was",
            "tests/calls/test_kept_lists.py::test_nothing_is_sent_and_the_answer_leads_to_a_call_that_succeeds",
            "tests/e2e/test_hosts_that_never_list_again.py::test_a_host_that_never_lists_again_is_led_to_a_call_that_succeeds",
        ),
    ),
    "FR14": (
        "A stream of signals ends, and what was signalled meanwhile is never looked for.",
        (
            "tests/cases/test_reconnect.py::test_what_changed_while_the_stream_was_lost_is_found_when_it_is_back",
            "tests/cases/test_reconnect.py::test_while_there_is_no_stream_the_server_is_polled_by_its_ttl",
            "tests/cases/test_freshness.py::test_a_host_that_subscribed_hears_of_a_silent_change_however_long_it_was_quiet",
            "tests/adapters/test_listen.py::test_a_lost_stream_is_told_and_asked_for_again",
            "tests/adapters/test_listen.py::test_the_delay_doubles_up_to_its_maximum_and_is_jittered",
            "tests/adapters/test_http_get_stream.py::test_failures_are_retried_for_ever_with_a_capped_backoff",
        ),
    ),
    "RC1": (
        "A server comes back with other tools, and the old list is served on.",
        (
            "tests/cases/test_reconnect.py::test_a_server_that_comes_back_is_listed_anew_and_only_new_content_counts",
            f"{FRESHNESS}/test_when_to_walk.py::test_a_reconnect_alone_makes_what_is_held_stale_and_is_walked",
            "tests/e2e/test_crashes.py::test_a_killed_server_fails_its_call_at_once_keeps_its_tools_and_comes_back",
        ),
    ),
    "RC3": (
        "A server that is away when we start is never found, and nobody says why.",
        (
            "tests/cases/test_discovery.py::test_a_server_that_is_away_at_the_start_is_found_once_it_is_there_and_until_then_told",
            "tests/cases/test_discovery.py::test_enabling_a_server_that_is_away_tries_at_once",
            "tests/cases/test_discovery.py::test_a_server_that_goes_away_keeps_its_tools_found_and_tells_why_calls_fail",
            "tests/discovery/test_servers_on_demand.py::test_enabling_forces_the_attempt_that_was_put_off",
            "tests/discovery/test_servers_tools.py::test_a_server_that_cannot_be_reached_is_told_with_the_reason",
            "tests/e2e/test_searching_hosts.py::test_a_server_that_is_away_at_the_start_is_found_when_it_is_there",
        ),
    ),
    "RC5": (
        "A server that answers and exits is started again and again without a pause.",
        (
            "tests/upstreams/test_supervisor.py::test_a_server_that_exits_after_each_handshake_starts_five_times_a_minute_at_most",
            "tests/upstreams/test_backoff.py::test_only_sustained_uptime_starts_the_delay_anew",
            "tests/upstreams/test_backoff.py::test_five_starts_is_the_most_in_the_first_minute_of_a_server_that_keeps_exiting",
            "tests/cases/test_reconnect.py::test_a_crash_loop_is_seen_in_the_status_and_costs_few_starts",
            "tests/e2e/test_crashes.py::test_a_server_that_exits_is_started_anew_with_growing_pauses",
        ),
    ),
    "RC6": (
        "Replicas of one server list different tools, and each flap reaches the hosts.",
        (
            "tests/cases/test_reconnect.py::test_replicas_that_disagree_are_reported_and_not_published_each_time",
            "tests/cases/test_reconnect.py::test_a_listing_that_stays_is_published_after_a_quiet_minute",
            "tests/cases/test_reconnect.py::test_the_probe_names_replicas_that_disagree_with_their_counts",
            "tests/catalog/test_probe.py::test_replicas_that_disagree_are_told_with_counts",
            f"{FRESHNESS}/test_second_looks.py::test_13_replicas_of_the_server_that_disagree_are_reported_and_held",
            "tests/e2e/test_commands.py::test_probe_finds_a_server_that_disagrees_with_itself",
        ),
    ),
    "NM1": (
        "A name with characters that model APIs refuse makes the whole list unusable.",
        (
            "tests/cases/test_names.py::test_every_name_fits_every_host_and_leads_back_to_its_original",
            "tests/core/test_naming.py::test_a_qualified_name_fits_every_host",
            "tests/core/test_naming.py::test_a_table_leads_back_to_every_original",
            "tests/gateway/test_calls.py::test_a_call_goes_to_its_server_under_the_original_name",
        ),
    ),
    "NM2": (
        "Two long names are cut to the same one, and calls reach the wrong tool.",
        (
            "tests/cases/test_names.py::test_every_name_fits_every_host_and_leads_back_to_its_original",
            "tests/cases/test_names.py::test_names_are_the_same_in_every_run",
            "tests/core/test_naming.py::test_long_names_stay_distinct_within_the_limit",
            "tests/core/test_naming.py::test_names_are_the_same_in_every_process",
        ),
    ),
    "NM4": (
        "Two servers share a name: one tool hides the other, or renames it when it comes.",
        (
            "tests/cases/test_names.py::test_names_of_different_servers_never_meet",
            "tests/cases/test_names.py::test_a_server_that_comes_renames_nobody",
            "tests/cases/test_names.py::test_plain_names_that_meet_are_both_kept_out_and_reported",
            "tests/core/test_naming.py::test_a_new_server_renames_nobody",
            "tests/core/test_naming.py::test_two_tools_never_share_a_name",
        ),
    ),
    "NM6": (
        "One server lists a name twice with different schemas, and chance decides which one holds.",
        (
            "tests/cases/test_names.py::test_of_two_definitions_under_one_name_the_first_wins_and_the_other_is_told",
            f"{FRESHNESS}/test_walk.py::test_of_different_definitions_the_first_wins_and_the_others_are_quarantined",
            f"{FRESHNESS}/test_walk.py::test_equal_definitions_on_one_page_collapse_at_once",
        ),
    ),
    "NM7": (
        "Arguments that look like an envelope are unpacked, or their keys renamed.",
        (
            "tests/cases/test_forwarding.py::test_arguments_arrive_as_they_were_given_and_alone",
            "tests/gateway/test_eras.py::test_an_inner_object_passes_as_it_is_whatever_its_keys_are_called",
        ),
    ),
    "SC1": (
        "One tool without a usable schema makes the page, or the server, disappear.",
        (
            "tests/cases/test_definitions.py::test_one_bad_definition_costs_itself_alone_and_its_repair_is_noticed",
            "tests/cases/test_definitions.py::test_a_whole_list_of_bad_definitions_is_an_empty_list_and_not_an_error",
            "tests/cases/test_definitions.py::test_a_root_that_forgot_to_be_an_object_is_completed_with_a_note",
            "tests/cases/test_forwarding.py::test_tools_with_bad_marks_are_named_and_cost_nobody_else",
            "tests/core/test_quarantine.py::test_a_tool_with_an_unusable_schema_is_kept_out",
            "tests/protocol/test_listing.py::test_bad_tools_cost_themselves_alone",
        ),
    ),
    "SC2": (
        "A schema that is only true or false makes a model API refuse all tools.",
        (
            "tests/cases/test_provider_copies.py::test_true_is_written_as_an_empty_schema_and_what_is_forbidden_is_left_out",
            "tests/cases/test_provider_copies.py::test_no_copy_of_these_breaks_a_rule_of_its_provider",
            "tests/context/test_schema_copies.py::test_true_is_written_as_the_empty_schema_and_false_is_left_out",
            "tests/context/test_schema_copies.py::test_a_property_that_is_left_out_is_not_required_either",
            "tests/context/test_provider_tools.py::test_no_provider_would_refuse_a_copy_of_anything",
        ),
    ),
    "SC3": (
        "Alternatives at the root of a schema make a model API refuse the tool.",
        (
            "tests/cases/test_provider_copies.py::test_alternatives_at_the_root_are_merged_and_the_original_still_decides",
            "tests/cases/test_provider_copies.py::test_no_copy_of_these_breaks_a_rule_of_its_provider",
            "tests/context/test_schema_copies.py::test_alternatives_at_the_root_are_merged_and_told",
            "tests/context/test_schema_copies.py::test_alternatives_inside_alternatives_are_merged_too",
            "tests/context/test_schema_copies.py::test_what_a_tool_takes_its_copies_take",
        ),
    ),
    "SC8": (
        "A model API that knows one type for each place is sent several.",
        (
            "tests/cases/test_provider_copies.py::test_where_a_provider_takes_one_type_null_is_told_beside_it",
            "tests/cases/test_provider_copies.py::test_no_copy_of_these_breaks_a_rule_of_its_provider",
            "tests/context/test_schema_copies.py::test_lists_of_types_become_one_type_that_may_be_null",
            "tests/context/test_schema_copies.py::test_a_bare_array_gets_items",
        ),
    ),
    "SC9": (
        "A tool without parameters is refused, or is sent null for its arguments.",
        (
            "tests/cases/test_provider_copies.py::test_a_tool_without_parameters_has_an_object_for_them_and_is_sent_an_empty_one",
            "tests/cases/test_provider_copies.py::test_through_the_gateway_no_null_reaches_a_tool_without_parameters",
            "tests/context/test_schema_copies.py::test_a_tool_without_parameters_has_properties_all_the_same",
            "tests/context/test_provider_tools.py::test_a_tool_without_parameters_has_an_empty_object_or_none_for_gemini",
            "tests/context/test_toolset.py::test_no_arguments_are_the_empty_object",
        ),
    ),
    "SC10": (
        "A schema that breaks its own meta-schema reaches a model API, which refuses everything.",
        (
            "tests/cases/test_definitions.py::test_one_bad_definition_costs_itself_alone_and_its_repair_is_noticed",
            "tests/core/test_schema.py::test_a_fault_is_found_exactly_where_the_meta_schema_finds_one",
            "tests/core/test_quarantine.py::test_anything_at_all_gets_a_verdict_and_is_left_alone",
        ),
    ),
    "SC5": (
        "A result schema that refers to itself is resolved in the wrong place, or without an end.",
        (
            "tests/cases/test_programs.py::test_a_schema_that_refers_to_itself_is_shown_and_its_tool_is_called",
            "tests/core/stubs/test_schemas_as_types.py::test_a_result_that_contains_itself_through_definitions_ends_in_a_name",
            "tests/core/test_refs.py::test_a_reference_is_resolved_inside_or_not_at_all",
        ),
    ),
    "SC6": (
        "A schema of arguments that refers to itself is written out until memory ends.",
        (
            "tests/cases/test_programs.py::test_a_schema_that_refers_to_itself_is_shown_and_its_tool_is_called",
            "tests/core/stubs/test_schemas_as_types.py::test_an_argument_that_contains_itself_ends_in_a_name",
            "tests/core/stubs/test_schemas_as_types.py::test_references_that_multiply_end",
            "tests/core/stubs/test_schemas_as_types.py::test_the_root_can_contain_itself",
            "tests/hostile/test_toolset_schemas.py::test_what_references_bring_in_is_bounded_for_each_copy_alone",
        ),
    ),
    "SC12": (
        "A reference in a schema makes us fetch an address or read a file of the server's choice.",
        (
            "tests/cases/test_programs.py::test_a_reference_to_elsewhere_is_any_value_to_a_program",
            "tests/cases/test_definitions.py::test_a_reference_to_elsewhere_is_never_followed",
            "tests/core/test_refs.py::test_a_reference_is_resolved_inside_or_not_at_all",
            "tests/core/test_quarantine.py::test_remote_references_leave_the_tool_in_place_with_a_note",
        ),
    ),
    "SC13": (
        "One enumeration of thousands of values fills the context of the model.",
        (
            "tests/cases/test_provider_copies.py::test_a_copy_tells_the_first_values_and_all_of_them_validate",
            "tests/cases/test_provider_copies.py::test_details_show_the_first_values_with_their_number_and_all_of_them_validate",
            "tests/cases/test_provider_copies.py::test_a_long_enumeration_counts_towards_showing_less",
            "tests/context/test_schema_copies.py::test_an_enumeration_beyond_forty_values_is_told_in_words",
            "tests/context/test_shown_schema.py::test_a_long_enumeration_is_shown_by_its_beginning",
            "tests/discovery/test_meta_search.py::test_a_long_enumeration_is_shown_by_its_beginning",
        ),
    ),
    "TN1": (
        "A cached list is found by the address alone, so that another credential gets it.",
        (
            "tests/cases/test_tenants.py::test_two_credentials_at_one_address_never_share_a_catalog_and_show_nowhere",
            "tests/cases/test_tenants.py::test_whatever_tells_two_callers_apart_separates_their_catalogs",
            "tests/cases/test_tenants.py::test_what_is_declared_to_a_server_separates_what_it_listed",
            "tests/catalog/test_crib.py::test_another_launch_or_principal_finds_nothing_of_the_first_one",
            "tests/core/test_partition.py::test_every_dimension_separates",
            "tests/core/test_partition.py::test_a_key_tells_nothing",
            "tests/config/test_keys.py::test_digests_depend_on_the_key_and_on_everything_that_is_launched",
            "tests/config/test_no_secret_shows.py::test_no_log_line_and_no_traceback_shows_a_value",
        ),
    ),
    "TN2": (
        "Tools are found by their name alone, so that one tenant calls another's.",
        (
            "tests/cases/test_tenants.py::test_anothers_tool_is_unknown_in_lists_calls_and_the_words_of_errors",
            "tests/cases/test_tenants.py::test_each_principal_of_a_stateful_server_has_its_own_connection_and_list",
            "tests/cases/test_tenants.py::test_a_change_of_one_principals_list_is_told_to_nobody_else",
            "tests/catalog/test_crib.py::test_two_principals_of_two_replicas_keep_to_their_own",
        ),
    ),
    "TN4": (
        "A list that was filtered for one caller is called public, and a cache shows it to all.",
        (
            "tests/cases/test_tenants.py::test_a_public_listing_of_one_caller_is_not_shown_to_another_unless_believed",
            "tests/cases/test_tenants.py::test_the_whole_listing_is_as_private_as_its_most_private_server",
            "tests/catalog/test_server_catalogs.py::test_a_public_listing_is_believed_without_credentials_or_by_configuration",
            "tests/catalog/test_server_catalogs.py::test_nothing_else_is_ever_called_public",
            "tests/gateway/test_eras.py::test_a_listing_filtered_by_caller_is_never_called_public",
        ),
    ),
    "TN8": (
        "The context of a call lies on an object that the next caller overwrites.",
        (
            "tests/cases/test_tenants.py::test_a_call_runs_with_its_callers_context_whoever_called_last",
            "tests/upstreams/test_pool.py::test_who_shares_a_connection",
            "tests/gateway/test_calls.py::test_equal_progress_tokens_of_two_hosts_never_mix",
            "tests/cases/test_forwarding.py::test_two_hosts_with_equal_ids_and_tokens_get_their_own",
        ),
    ),
    "RS1": (
        "The structure of a result is lost or changed where its text stays.",
        (
            "tests/cases/test_answers.py::test_a_promised_structure_passes_with_its_text_as_both_are",
            "tests/calls/test_results.py::test_structured_content_of_any_type_is_held_to_the_schema",
            "tests/gateway/test_calls.py::test_a_result_reaches_a_modern_host_as_the_server_gave_it",
        ),
    ),
    "RS2": (
        "An error of a tool is held to the schema of its results, and its words are lost.",
        (
            "tests/cases/test_answers.py::test_an_error_of_a_tool_is_told_in_its_words_and_held_to_no_schema",
            "tests/calls/test_results.py::test_an_error_of_a_tool_promises_nothing",
        ),
    ),
    "RS3": (
        "An error of a tool counts as a success, for scripts and in the numbers.",
        (
            "tests/cases/test_answers.py::test_an_error_of_a_tool_is_counted_as_one_and_as_nothing_else",
            "tests/cases/test_answers.py::test_an_error_of_a_tool_is_told_in_its_words_and_held_to_no_schema",
            "tests/cases/test_migration.py::test_an_error_of_the_tool_reaches_the_host_as_one",
            "tests/e2e/test_commands.py::test_call_calls_and_tells_errors_by_its_exit_code",
        ),
    ),
    "RS6": (
        "A large result fills the model's context, or is cut to something that cannot be read.",
        (
            "tests/cases/test_answers.py::test_a_large_result_is_cut_to_what_is_configured_and_read_whole_by_its_handle",
            "tests/cases/test_answers.py::test_through_the_gateway_a_large_result_passes_whole",
            "tests/calls/test_clipping.py::test_whatever_comes_is_a_result_within_the_limit",
            "tests/calls/test_kept_results.py::test_nobody_else_reads_a_result_and_nobody_learns_that_there_is_one",
        ),
    ),
    "RS8": (
        "A large integer comes out as another one.",
        (
            "tests/cases/test_answers.py::test_a_number_comes_and_goes_as_it_is",
            "tests/cases/test_answers.py::test_an_answer_that_breaks_off_inside_a_number_is_none",
            "tests/cases/test_answers.py::test_a_connection_that_ends_inside_a_number_brings_no_number",
            "tests/calls/test_clipping.py::test_no_text_ends_inside_a_number",
        ),
    ),
    "RS10": (
        "A number that JSON has not breaks the message, or the session that it is in.",
        (
            "tests/cases/test_answers.py::test_a_number_that_json_has_not_costs_its_answer_and_not_the_session",
            "tests/cases/test_answers.py::test_an_argument_that_json_has_not_is_named_and_never_sent",
            "tests/gateway/test_foreign_marks.py::test_an_argument_that_json_has_not_is_no_json",
            "tests/gateway/test_run_code_typescript.py::test_a_number_that_json_has_not_is_named_and_never_sent",
            "tests/wire/test_jsonwire.py::test_numbers_that_json_has_not_are_never_written",
        ),
    ),
    "TT1": (
        "Headers are made of no schema once its time to live is over.",
        (
            "tests/cases/test_forwarding.py::test_headers_come_from_the_newest_schema_however_old_it_is",
            "tests/cases/test_forwarding.py::test_a_mismatch_of_headers_is_one_listing_and_one_more_try",
            "tests/cases/test_forwarding.py::test_a_mismatch_that_no_listing_explains_is_tried_once_more_and_told",
        ),
    ),
    "TT2": (
        "A wrong hint costs the list, or is believed for ever.",
        (
            "tests/cases/test_definitions.py::test_no_hint_ever_costs_the_listing",
            "tests/cases/test_definitions.py::test_a_hint_that_is_missing_is_odd_and_the_listing_is_used",
            "tests/protocol/test_hints.py::test_a_ttl_counts_as_documented",
            "tests/protocol/test_hints.py::test_hints_of_any_shape_stay_within_bounds",
        ),
    ),
    "CF1": (
        "Only one of the usual shapes of a configuration file is understood.",
        (
            "tests/config/test_mcp_json.py::test_servers_are_found_in_every_form",
            "tests/config/test_mcp_json.py::test_several_forms_in_one_file_are_all_read",
            "tests/config/test_mcp_json.py::test_a_team_file_with_comments_and_questions_is_read_and_the_unanswered_one_is_told",
        ),
    ),
    "CF2": (
        "Comments, trailing commas or a byte order mark make a file unreadable.",
        (
            "tests/config/test_mcp_json.py::test_a_byte_order_mark_comments_and_trailing_commas_are_read",
            "tests/config/test_mcp_json.py::test_a_broken_file_is_told_with_line_column_and_hint",
            "tests/config/test_jsonc.py::test_comments_and_trailing_commas_anywhere_change_nothing",
            "tests/config/test_jsonc.py::test_slashes_inside_strings_are_no_comments",
        ),
    ),
    "CF3": (
        "An unset variable is sent as its own name, or as an empty secret.",
        (
            "tests/config/test_mcp_json.py::test_a_missing_variable_costs_its_entry_and_names_the_field",
            "tests/config/test_mcp_json.py::test_references_are_replaced_in_every_field",
            "tests/config/test_expansion.py::test_no_reference_is_ever_left_in_the_text",
            "tests/config/test_expansion.py::test_where_a_credential_is_sent_a_reference_may_not_become_nothing",
        ),
    ),
    "CF6": (
        "One bad entry stops all servers, or an unusual spelling is not understood.",
        (
            "tests/config/test_mcp_json.py::test_a_bad_entry_is_told_by_its_path_with_a_remedy_and_costs_nobody_else",
            "tests/config/test_mcp_json.py::test_every_spelling_of_a_remote_server_is_understood",
            "tests/config/test_mcp_json.py::test_whatever_an_entry_holds_it_is_ready_or_disabled_or_has_an_error",
            "tests/config/test_loading.py::test_a_broken_file_costs_its_own_servers_only",
        ),
    ),
    "ST1": (
        "A program prints to standard output, and the connection breaks.",
        (
            "tests/adapters/test_stdio_transport.py::test_what_is_no_message_is_skipped_and_counted",
            "tests/adapters/test_stdio_transport.py::test_a_line_of_20_mb_is_skipped_in_bounded_memory_and_fails_only_its_request",
            "tests/adapters/test_jsonrpc_line.py::test_what_is_no_message_is_noise",
            "tests/adapters/test_connector.py::test_noise_is_counted_and_costs_nothing",
        ),
    ),
    "ST2": (
        "Processes outlive the gateway, because only the first of a tree is ended.",
        (
            "tests/adapters/test_stdio_transport.py::test_a_tree_that_ignores_eof_and_sigterm_is_gone_in_five_seconds",
            "tests/adapters/test_stdio_transport.py::test_a_start_cancelled_at_any_moment_leaves_no_process",
            "tests/adapters/test_stdio_transport.py::test_fifty_connections_leave_no_zombie_and_no_open_file",
            "tests/adapters/test_connector.py::test_an_attempt_that_is_given_up_leaves_no_process",
            "tests/e2e/test_ends.py::test_a_gateway_takes_its_servers_with_it",
            "tests/e2e/test_ends.py::test_a_gateway_that_is_ended_while_it_starts_leaves_nobody",
        ),
    ),
    "ST3": (
        "One server that never answers holds up the first list of all others.",
        (
            "tests/cases/test_neighbours.py::test_a_bad_server_costs_its_own_tools_and_the_first_listing_comes_in_time",
            "tests/catalog/test_catalogs.py::test_servers_are_read_side_by_side",
            "tests/catalog/test_crib.py::test_a_new_start_lists_last_good_at_once_before_any_server_is_up",
            "tests/e2e/test_bad_neighbours.py::test_on_stdio_the_first_listing_comes_within_the_start_budget",
            "tests/e2e/test_bad_neighbours.py::test_the_first_listing_has_the_good_ones_and_the_pages_say_who_is_missing",
        ),
    ),
    "ST5": (
        "A server dies in the middle of a call, and the call waits for its time-out.",
        (
            "tests/adapters/test_connector.py::test_a_killed_server_fails_every_call_under_way_at_once",
            "tests/adapters/test_stdio_transport.py::test_a_killed_server_is_noticed_at_once",
            "tests/e2e/test_crashes.py::test_a_killed_server_fails_its_call_at_once_keeps_its_tools_and_comes_back",
        ),
    ),
    "ST7": (
        "One server answers its list with an error, and no server's tools are shown.",
        (
            "tests/cases/test_neighbours.py::test_a_bad_server_costs_its_own_tools_and_the_first_listing_comes_in_time",
            "tests/cases/test_neighbours.py::test_the_reason_is_told_to_the_operator_and_goes_when_the_server_is_well",
            "tests/cases/test_neighbours.py::test_a_garbled_listing_costs_its_own_server",
            "tests/cases/test_neighbours.py::test_calls_to_one_server_do_not_wait_for_anothers",
            "tests/cases/test_neighbours.py::test_a_bad_kind_of_one_server_costs_neither_its_other_kinds_nor_other_servers",
            "tests/gateway/test_listings.py::test_one_server_that_fails_costs_only_its_own_tools",
        ),
    ),
    "GW1": (
        "A gateway adds members of its own to what it forwards, and servers refuse them.",
        (
            "tests/cases/test_forwarding.py::test_arguments_arrive_as_they_were_given_and_alone",
            "tests/gateway/test_calls.py::test_of_the_hosts_meta_only_the_trace_context_goes_on",
            "tests/gateway/test_calls.py::test_arguments_are_passed_as_given_and_absent_ones_stay_absent",
        ),
    ),
    "PC1": (
        "The same tools are sent to the model in other bytes, run after run.",
        (
            "tests/cases/test_provider_copies.py::test_whatever_settles_first_and_however_hashes_fall_models_are_sent_the_same_bytes",
            "tests/gateway/test_prompt_bytes.py::test_a_thousand_refreshes_reconnects_and_restarts_give_one_string",
            "tests/gateway/test_prompt_bytes.py::test_fifty_cold_starts_give_one_string_whatever_settles_first_and_however_hashes_fall",
            "tests/context/test_prompt_bytes.py::test_conversations_begin_with_the_same_bytes_however_servers_settle",
            "tests/context/test_prompt_bytes.py::test_processes_agree_whatever_their_hashes_are_seeded_with",
        ),
    ),
    "PC2": (
        "A reconnect moves a server's tools in the list, and the prompt cache is lost.",
        (
            "tests/cases/test_neighbours.py::test_a_server_that_comes_back_with_the_same_tools_changes_no_byte",
            "tests/cases/test_neighbours.py::test_the_bytes_of_a_listing_do_not_depend_on_who_came_first_or_in_what_order",
            "tests/cases/test_neighbours.py::test_bytes_are_equal_again_when_a_change_is_undone",
            "tests/gateway/test_listing.py::test_what_arrives_shuffled_is_the_same_listing_byte_for_byte",
            "tests/e2e/test_real_servers.py::test_the_same_question_gets_the_same_bytes_in_order_of_server_and_name",
        ),
    ),
    "MG1": (
        "An old server exits when it is asked what it is, and counts as dead.",
        (
            "tests/adapters/test_era.py::test_a_process_that_hangs_or_exits_at_the_probe_is_started_anew",
            "tests/adapters/test_connector.py::test_a_server_that_dies_of_the_probe_is_started_once_more",
            "tests/adapters/test_connector.py::test_a_remembered_handshake_is_one_start_without_a_probe",
            "tests/catalog/test_crib.py::test_the_era_of_a_server_is_known_at_the_next_start",
            "tests/e2e/test_crashes.py::test_a_server_that_exits_at_the_probe_is_started_again_with_a_handshake",
        ),
    ),
    "MG2": (
        "An old server never answers when it is asked what it is, and neither do we.",
        (
            "tests/adapters/test_era.py::test_a_process_that_hangs_or_exits_at_the_probe_is_started_anew",
            "tests/adapters/test_era.py::test_silence_is_an_answer_on_stdio_only_and_comes_sooner_there",
            "tests/adapters/test_era.py::test_a_remembered_handshake_spares_the_probe",
        ),
    ),
    "MG4": (
        "A host of one era cannot use a server of the other one, or hears none of its signals.",
        (
            "tests/cases/test_migration.py::test_each_host_is_met_in_its_own_era_whatever_the_servers_is",
            "tests/cases/test_migration.py::test_a_signal_of_the_server_reaches_the_host_in_its_own_way",
            "tests/cases/test_migration.py::test_a_server_that_changes_its_era_under_a_host_is_no_matter_to_it",
            "tests/cases/test_migration.py::test_hosts_of_both_eras_see_the_same_at_the_same_time",
            "tests/cases/test_migration.py::test_only_hosts_that_know_hints_are_given_them",
            "tests/cases/test_migration.py::test_an_error_of_the_tool_reaches_the_host_as_one",
            "tests/gateway/test_eras.py::test_everything_of_all_servers_is_listed_and_reached",
            "tests/e2e/test_host_signals.py::test_a_host_is_told_once_for_each_change_and_never_without_one",
        ),
    ),
    "MG5": (
        "The state of a round is read, changed or made up on its way back.",
        (
            "tests/cases/test_forwarding.py::test_a_state_comes_back_to_its_server_as_it_was_under_a_new_id",
            "tests/cases/test_forwarding.py::test_no_host_sees_a_servers_state_or_may_bring_another",
            "tests/calls/test_rounds_on_the_wire.py::test_a_retry_is_a_request_of_its_own_with_the_state_as_it_was",
            "tests/calls/test_rounds_between_modern_peers.py::test_any_state_key_and_argument_survives_the_round",
            "tests/calls/test_rounds_between_modern_peers.py::test_a_tampered_state_is_refused_wherever_it_was_touched",
        ),
    ),
    "SR1": (
        "Words of a language without spaces find nothing.",
        (
            "tests/cases/test_discovery.py::test_the_tool_that_is_meant_comes_first",
            "tests/cases/test_discovery.py::test_words_that_a_change_brought_are_found_and_those_it_took_are_not",
            "tests/core/search/test_lexical_search.py::test_tools_described_in_chinese_are_found_by_chinese_words",
            "tests/core/search/test_lexical_search.py::test_latin_words_inside_chinese_are_words_in_any_case",
            "tests/core/search/test_lexical_search.py::test_scripts_without_spaces_are_found_by_parts_of_a_phrase",
        ),
    ),
    "SR2": (
        "The words inside of an identifier find nothing.",
        (
            "tests/cases/test_discovery.py::test_the_tool_that_is_meant_comes_first",
            "tests/core/search/test_lexical_search.py::test_identifiers_without_descriptions_are_found_by_the_words_in_them",
            "tests/core/search/test_lexical_search.py::test_short_names_of_letters_and_digits_stay_whole",
        ),
    ),
    "SR4": (
        "A word in another form, as a plural or a gerund, finds nothing.",
        (
            "tests/cases/test_discovery.py::test_the_tool_that_is_meant_comes_first",
            "tests/core/search/test_lexical_search.py::test_plurals_and_singulars_find_each_other",
            "tests/core/search/test_lexical_search.py::test_gerunds_and_past_forms_find_the_verb",
        ),
    ),
    "CM1": (
        "Tools whose names are no identifiers are dropped, or take the place of one another.",
        (
            "tests/cases/test_programs.py::test_every_tool_has_a_function_of_its_own_whatever_it_is_called",
            "tests/gateway/test_run_code.py::test_names_that_no_identifier_holds_are_called_and_sent_as_they_are",
        ),
    ),
    "CM3": (
        "A parameter whose name is a word of the language breaks the module of its server.",
        (
            "tests/cases/test_programs.py::test_keys_that_no_parameter_can_have_reach_the_server_unchanged",
        ),
    ),
    "CM4": (
        "A tool's error inside a program ends it, although the program catches it.",
        (
            "tests/cases/test_programs.py::test_a_call_that_failed_can_be_caught_and_the_next_one_is_made",
            "tests/gateway/test_run_code.py::test_the_text_of_a_failing_tool_arrives_unaltered_and_the_program_goes_on",
            "tests/gateway/test_run_code_typescript.py::test_every_failure_can_be_caught_and_the_next_call_is_made",
        ),
    ),
    "CM6": (
        "A program that cannot be parsed ends in an answer without a line, or in none at all.",
        (
            "tests/cases/test_programs.py::test_a_program_that_is_no_program_is_told_its_line_and_that_nothing_ran",
        ),
    ),
}
