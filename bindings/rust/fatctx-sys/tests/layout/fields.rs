// Made by scripts/rust_declarations.py: every struct with its fields, and every constant.

layout! {
    fatctx_appender { id }
    fatctx_append_options { struct_size, replace, threads, sharing, progress, progress_user, one_per_soc, strict_sharing }
    fatctx_append_report { struct_size, record_count, generation, file_size_before, file_size, input_bytes, stored_bytes, shared_bytes, dead_bytes, superseded_count, restored_count, warning_count, uuid }
    fatctx_evidence_note { struct_size, reserved, device, tool, metric, value, date }
    fatctx_text { data, size }
    fatctx_version { major, minor, patch, build }
    fatctx_verify_options { struct_size, record_id, finding, progress, user, strict, threads, range_offset, range_size, open }
    fatctx_verify_report { struct_size, reserved, checked_bytes, finding_count, signed_file, signature_verified, absent_bytes }
    fatctx_sign_options { struct_size, seal, overwrite, reserved, progress, user, max_made_bytes }
    fatctx_sign_report { struct_size, sealed, generation, file_size, key_id }
    fatctx_repair_options { struct_size, reserved, dry_run, threads, restored, finding, progress, user, from, from_count, open }
    fatctx_repair_report { struct_size, reserved, generation, restored_count, finding_count, checked_bytes, lacking_bytes }
    fatctx_soc_table { id }
    fatctx_device { id }
    fatctx_detect_options { struct_size, environment, soc, arch, root, table, vtcm_mb, backend_soc, backend_arch, backend_vtcm_mb, reserved }
    fatctx_dlc_import { struct_size, without_layout, group, unit, prefix }
    fatctx_dlc_choice { struct_size, reserved, qnn_socs, soc_count, entries, entry_count }
    fatctx_thin_dlc { struct_size, entry_count, size_bytes, new_bytes, copied_bytes, mapped_pieces, built_pieces }
    fatctx_error { struct_size, code, has_file_offset, has_record_id, file_offset, record_id, has_os_error, os_error, rule, message }
    fatctx_fetch_plan { id }
    fatctx_fetch_options { struct_size, all, records, record_count, devices, device_count, group, metadata, more, overwrite, reserved, seeds, seed_count, gap_bytes, open }
    fatctx_fetch_report { struct_size, stage, generation, record_count, source_bytes, needed_bytes, present_bytes, reused_bytes, fetched_bytes, missing_bytes, degraded_count }
    fatctx_load_list { id }
    fatctx_source { struct_size, descriptor, path, offset, size, bytes, bytes_size }
    fatctx_load_event { struct_size, kind, record, unit, graph, error }
    fatctx_load_options { struct_size, prefetch, model, notify, progress, user }
    fatctx_load_item { source, options, finished, user }
    fatctx_prefetch { id }
    fatctx_record_lock { id }
    fatctx_prefetch_options { struct_size, reserved, max_bytes, progress, user }
    fatctx_prefetch_report { struct_size, method, asked_bytes, done_bytes, cancelled, reserved }
    fatctx_release_options { struct_size, keep_cached }
    fatctx_release_report { struct_size, reserved, asked_bytes, released_bytes }
    fatctx_model { id }
    fatctx_session { id }
    fatctx_prepare_request { struct_size, record_id, name, unit, device, source, source_size }
    fatctx_load_signal { id }
    fatctx_model_options { struct_size, strict, open, device, group, record_override, force, allow_lower_arch, refuse_generic, mix_targets, boundaries, boundary_count, consumer, consumer_user, on_damage, prepare_hook, soc_table, prepare, prepare_user, max_sdk, raw_binaries, reserved, signal }
    fatctx_selection { struct_size, level, tier, chosen_count, chosen, verdict_count, warning_count, group, damaged_count }
    fatctx_verdict { struct_size, record_id, level, tier, axis, chosen }
    fatctx_session_info { struct_size, format, binary_count, weights_count, path, selected, level }
    fatctx_session_record { struct_size, r#type, record_id, access_path, name, unit, size }
    fatctx_view_cache_collection { struct_size, reserved, removed_files, removed_bytes, removed_temporaries, left_files, left_bytes }
    fatctx_profile_event { struct_size, kind, start_ns, duration_ns, bytes, thread, ok, record_id, reserved, path, record }
    fatctx_profile_options { struct_size, level, max_events, hook, release, user }
    fatctx_replay_difference { struct_size, reserved, line, call, gave, gives }
    fatctx_replay_report { struct_size, reserved, calls, skipped, difference_count }
    fatctx_container { id }
    fatctx_open_options { struct_size, verify, refuse_symlinks, require_local, file_mapping, strict, mapping_provider, allocator, max_copied_bytes, cache_folder, cache_limit_bytes, trusted_keys, trusted_key_count, minimum_generation, generation, max_made_bytes }
    fatctx_generation { number, committed_end }
    fatctx_open_report { struct_size, degraded_count, path, filesystem, uuid, generation, file_size, committed_end, tail_bytes, slot, sealed, signed_file, remote_filesystem, already_live, verify, mapped, copied_records, copy_reason, toc_hash, copied_records_reason, newest_generation, dead_bytes, earlier_generations, signature_verified, key_id, format_version, degraded, earlier, newer_features }
    fatctx_packer { id }
    fatctx_option { key, value, owner }
    fatctx_pack_tensor { name, shape, rank, offset_in_blob, size_bytes, dtype, alias }
    fatctx_pack_range { name, offset, size_bytes }
    fatctx_graph_tensor { name, dtype, shape, rank }
    fatctx_graph { name, inputs, input_count, outputs, output_count }
    fatctx_pack_options { struct_size, seal, overwrite, sharing, extent_log2, granule_log2, model_name, options, option_count, progress, progress_user, max_pieces, threads, one_per_soc, strict_sharing, sha256 }
    fatctx_pack_record { struct_size, r#type, name, source_path, bytes, size, group, unit, backend, part, arch, features, variant, qnn_soc, vtcm_mb, generic, tensors_from_irpa, sdk, api, blob, codec, weights, weight_count, tensors, tensor_count, producer, format, graphs, graph_count, options, option_count, tensors_from_safetensors, tensors_from_gguf, own_extent, source_is_part, ranges, range_count, source_offset, source_size, loaded, copy, allow_unreachable, soc_table }
    fatctx_pack_report { struct_size, sealed, file_size, input_bytes, stored_bytes, record_count, shared_records, warning_count, uuid, shared_bytes }
    fatctx_record_info { struct_size, id, r#type, supported, ignorable, must_map, slice_count, weight_count, weights, name, size_bytes, stored_bytes, file_offset, hash, group, unit, backend, part, arch, features, variant, qnn_soc, vtcm_mb, generic, sdk, api, blob, codec, recipe }
    fatctx_info_parts { struct_size, graphs, options, tensors_of, sharing, extents, present }
    fatctx_file_range { offset, size }
    fatctx_read_options { struct_size, method, keep_cached, threads }
    fatctx_read_report { struct_size, method, size_bytes, direct_bytes, cached_bytes, threads, reserved, reason }
    fatctx_report { id }
    fatctx_rewrite_options { struct_size, seal, overwrite, sharing, keep, keep_count, generation, model_name, max_pieces, threads, progress, progress_user, max_made_bytes }
    fatctx_target_filter { group, unit, backend, part, arch, features, variant, qnn_soc, vtcm_mb, sdk, generic, reserved }
    fatctx_file_mapping_info { struct_size, available, how, page_bytes, fallbacks, provider, granule_bytes, stitched, sealed_memory, lost_mappings, guard_installed, reserved }
    fatctx_mapping_provider { id }
    fatctx_view_allocator { id }
    fatctx_mapping_callbacks { struct_size, reserved, name, map, unmap, release, user }
    fatctx_block { data, size, descriptor, reserved }
    fatctx_allocator_callbacks { struct_size, reserved, name, allocate, filled, give_back, release, user }
    fatctx_view { id, data, size }
    fatctx_tensor_table { id }
    fatctx_view_info { struct_size, record_id, is_tensor, access_path, data, size, copied_bytes, cached_bytes }
    fatctx_tensor_info { struct_size, dtype, name, shape, strides_bytes, rank, offset_in_blob, size_bytes, alias, reserved }
    fatctx_range_access { id }
    fatctx_range_hooks { struct_size, reserved, provided, released, release, user }
    fatctx_range { struct_size, reserved, id, data, size, aligned, aligned_size, data_start }
}

constants! {
    FATCTX_ABI_VERSION,
    FATCTX_FORMAT_TEXT,
    FATCTX_FORMAT_JSON,
    FATCTX_FORMAT_CSV,
    FATCTX_UNKNOWN,
    FATCTX_OK,
    FATCTX_ERROR_IO,
    FATCTX_ERROR_NOT_FOUND,
    FATCTX_ERROR_INVALID_ARGUMENT,
    FATCTX_ERROR_TRUNCATED,
    FATCTX_ERROR_TRAILING_DATA,
    FATCTX_ERROR_BAD_MAGIC,
    FATCTX_ERROR_UNSUPPORTED,
    FATCTX_ERROR_MALFORMED,
    FATCTX_ERROR_CHECKSUM_MISMATCH,
    FATCTX_ERROR_LIMIT_EXCEEDED,
    FATCTX_ERROR_BAD_REFERENCE,
    FATCTX_ERROR_NO_MATCH,
    FATCTX_ERROR_CODEC,
    FATCTX_ERROR_SIGNATURE_MISSING,
    FATCTX_ERROR_SIGNATURE_BAD,
    FATCTX_ERROR_ROLLBACK,
    FATCTX_ERROR_NOT_REGULAR_FILE,
    FATCTX_ERROR_CHANGED,
    FATCTX_ERROR_MAPPING_LOST,
    FATCTX_ERROR_REMOTE_FILESYSTEM,
    FATCTX_ERROR_LOCKED,
    FATCTX_ERROR_EXISTS,
    FATCTX_ERROR_COMMIT_UNKNOWN,
    FATCTX_ERROR_NO_SPACE,
    FATCTX_ERROR_NO_RESOURCE,
    FATCTX_ERROR_STALE_HANDLE,
    FATCTX_ERROR_CANCELLED,
    FATCTX_ERROR_OUT_OF_MEMORY,
    FATCTX_ERROR_INTERNAL,
    FATCTX_ERROR_OPERATION_NOT_PERMITTED,
    FATCTX_ERROR_SERIALISE_FAILED,
    FATCTX_ERROR_BACKEND_LIBRARY_MISSING,
    FATCTX_ERROR_BACKEND_RESTARTED,
    FATCTX_ERROR_TIMED_OUT,
    FATCTX_ERROR_INVALID_CONFIG,
    FATCTX_ERROR_COPY_NOT_ALLOWED,
    FATCTX_ERROR_NOT_PRESENT,
    FATCTX_FETCH_HEADER,
    FATCTX_FETCH_TABLE,
    FATCTX_FETCH_HASHES,
    FATCTX_FETCH_PAYLOAD,
    FATCTX_FETCH_DONE,
    FATCTX_LOAD_GRAPH_INITIALISED,
    FATCTX_LOAD_CONTEXT_INITIALISED,
    FATCTX_PREFETCH_NONE,
    FATCTX_PREFETCH_POPULATE,
    FATCTX_PREFETCH_READ_AHEAD,
    FATCTX_LEVEL_OPTIMAL,
    FATCTX_LEVEL_PREFER_RECOMPILATION,
    FATCTX_LEVEL_FALLBACK,
    FATCTX_LEVEL_UNSUPPORTED,
    FATCTX_ON_DAMAGE_FAIL,
    FATCTX_ON_DAMAGE_NEXT,
    FATCTX_MODEL_CONTAINER,
    FATCTX_MODEL_DLC,
    FATCTX_MODEL_RAW_BINARY,
    FATCTX_RAW_BINARIES_KNOWN,
    FATCTX_RAW_BINARIES_ANY,
    FATCTX_RAW_BINARIES_REFUSE,
    FATCTX_SESSION_BINARIES,
    FATCTX_SESSION_WEIGHTS,
    FATCTX_PROFILE_OFF,
    FATCTX_PROFILE_BASIC,
    FATCTX_PROFILE_DETAILED,
    FATCTX_EVENT_OPEN,
    FATCTX_EVENT_MAP,
    FATCTX_EVENT_VERIFY,
    FATCTX_EVENT_SELECT,
    FATCTX_EVENT_ACQUIRE,
    FATCTX_EVENT_PREFETCH,
    FATCTX_EVENT_RELEASE,
    FATCTX_EVENT_UNMAP,
    FATCTX_VERIFY_RECORD_ON_ACQUIRE,
    FATCTX_VERIFY_NONE,
    FATCTX_VERIFY_PRIVATE_COPY,
    FATCTX_VERIFY_BESIDE_LOAD,
    FATCTX_FILE_MAPPING_AUTO,
    FATCTX_FILE_MAPPING_REQUIRE,
    FATCTX_FILE_MAPPING_DISABLED,
    FATCTX_SHARING_OFF,
    FATCTX_SHARING_PAGES,
    FATCTX_SHARING_BYTES,
    FATCTX_WEIGHTS_SAFETENSORS,
    FATCTX_WEIGHTS_GGUF,
    FATCTX_WEIGHTS_IRPA,
    FATCTX_RECORD_CONTEXT_BINARY,
    FATCTX_RECORD_WEIGHT_BLOB,
    FATCTX_RECORD_TENSOR_TABLE,
    FATCTX_RECORD_SOURCE_MODEL,
    FATCTX_RECORD_WRAPPER_MODEL,
    FATCTX_RECORD_DESCRIPTION,
    FATCTX_RECORD_OPAQUE,
    FATCTX_DTYPE_F32,
    FATCTX_DTYPE_F64,
    FATCTX_DTYPE_F16,
    FATCTX_DTYPE_BF16,
    FATCTX_DTYPE_I8,
    FATCTX_DTYPE_I16,
    FATCTX_DTYPE_I32,
    FATCTX_DTYPE_I64,
    FATCTX_DTYPE_U8,
    FATCTX_DTYPE_U16,
    FATCTX_DTYPE_U32,
    FATCTX_DTYPE_U64,
    FATCTX_DTYPE_BOOL,
    FATCTX_DTYPE_I4,
    FATCTX_DTYPE_U4,
    FATCTX_CODEC_NONE,
    FATCTX_CODEC_LZ4,
    FATCTX_READ_AUTO,
    FATCTX_READ_DIRECT,
    FATCTX_READ_CACHED,
    FATCTX_READ_STREAMED,
    FATCTX_SEAL_AS_SOURCE,
    FATCTX_SEAL_NO,
    FATCTX_SEAL_YES,
    FATCTX_SHARING_AS_SOURCE,
}
