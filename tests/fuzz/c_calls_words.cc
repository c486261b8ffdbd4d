// Devices, words for numbers, and calls that need no handle at all.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

void Program::use_devices(std::uint8_t which) {
  fatctx_device device = {kNotWritten};
  switch (which) {
    case 0:
    case 1: {
      const char* const name = word();
      return made(fatctx_device_parse(name, out(device), &error_), kDevice, device);
    }
    case 2:
      return made(fatctx_device_detect(nullptr, out(device), &error_), kDevice, device);
    case 3: {
      const fatctx_device of = {handle(kDevice)};
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_device_json(of, buffer, capacity, size, &error_);
      });
    }
    case 13:
      return made(fatctx_device_npu({handle(kDevice)}, out(device), &error_), kDevice, device);
    default: {
      const fatctx_device of = {handle(kDevice)};
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_device_detection_json(of, buffer, capacity, size, &error_);
      });
    }
    case 15:
    case 16:
      return use_soc_tables();
  }
}

// Opens a table, reads its content, and detects a device with it.
void Program::use_soc_tables() {
  fatctx_soc_table table = {kNotWritten};
  const char* const file = input_.byte() < 200 ? nullptr : path();
  if (!ok(fatctx_soc_table_read(file, out(table), &error_))) return;
  const char* const search = word();
  texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_soc_table_json(table, search, buffer, capacity, size, &error_);
  });
  fatctx_detect_options options = {};
  options.struct_size = sizeof options;
  options.soc = input_.byte() < 128 ? "kernel:639" : word();
  options.root = word();
  options.table = table;
  options.vtcm_mb = input_.byte();
  options.backend_soc = input_.byte();
  fatctx_device device = {kNotWritten};
  made(fatctx_device_detect(null() ? nullptr : &options, out(device), &error_), kDevice, device);
  require(fatctx_soc_table_close(table, &error_) == FATCTX_OK, "what was made can be closed");
}

void Program::name_everything() {
  (void)fatctx_record_type_name(input_.byte());
  (void)fatctx_dtype_name(input_.byte());
  (void)fatctx_level_name(input_.byte());
  (void)fatctx_axis_id(input_.byte());
  (void)fatctx_access_path_name(input_.byte());
  (void)fatctx_record_type_from_name(word());
  (void)fatctx_dtype_from_name(word());
  (void)fatctx_dtype_bits(input_.byte());
  (void)fatctx_model_format_name(input_.byte());
  (void)fatctx_raw_binaries_name(input_.byte());
  (void)fatctx_raw_binaries_from_name(word());
  require(fatctx_abi_version() == FATCTX_ABI_VERSION, "header and library belong together");
  require(*fatctx_library_version() != '\0' && *fatctx_format_version() != '\0', "there are versions");
}

void Program::text_of_error() {
  fatctx_error whole = error_;
  whole.code = input_.byte();
  const std::uint8_t choice = input_.byte();
  whole.has_file_offset = choice & 1U;
  whole.has_record_id = choice >> 1 & 1U;
  whole.has_os_error = choice >> 2 & 1U;
  whole.os_error = choice;
  const int letter = choice & 0x7f;  // not UTF-8 otherwise, and texts are cut at characters
  std::memset(whole.rule, letter, (choice & 16) != 0 ? sizeof whole.rule : 3);
  std::memset(whole.message, letter, (choice & 8) != 0 ? sizeof whole.message : 3);
  Sized<fatctx_error> given(input_.byte(), whole);
  const fatctx_error* const error = out(*given.get());
  texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
    error_.code = fatctx_error_text(error, buffer, capacity, size);
    std::snprintf(error_.message, sizeof error_.message, "which has no error of its own");
    return error_.code;
  });
}

void Program::use_words(std::uint8_t which) {
  std::uint64_t number = 0;
  std::uint8_t hash[16] = {};
  fatctx_version version = {};
  switch (which % 17) {
    case 6: {
      const std::uint8_t size = input_.byte();
      const support::Bytes bytes(size, std::byte{7});
      (void)checked(fatctx_content_hash(null() ? nullptr : bytes.data(), size, null() ? nullptr : hash, &error_));
      return;
    }
    case 7: {
      if (!affordable()) return;
      const char* const file = path();
      Sized<fatctx_verify_report> report(input_.byte());
      (void)checked(fatctx_verify_file(file, nullptr, out(*report.get()), &error_));
      // None of the fuzzer's paths names a key, so nothing is written.
      std::uint8_t key[32] = {};
      fatctx_sign_options options = {};
      options.struct_size = sizeof options;
      (void)checked(fatctx_read_public_key(file, null() ? nullptr : key, &error_));
      (void)checked(fatctx_sign_container(file, file, file, &options, nullptr, &error_));
      (void)checked(fatctx_make_keys(nullptr, key, &error_));
      Sized<fatctx_repair_report> repaired(input_.byte());
      fatctx_repair_options repair = {};
      repair.struct_size = sizeof repair;
      repair.dry_run = 1;  // the files are for all programs
      repair.from = &file;
      repair.from_count = input_.byte() & 1U;
      (void)checked(fatctx_repair(file, &repair, out(*repaired.get()), &error_));
      return;
    }
    case 8:
      return name_everything();
    case 9: {
      const char* const name = word();
      (void)checked(fatctx_version_parse(name, out(version), &error_));
      return;
    }
    case 10:
      version = {input_.byte(), input_.byte(), input_.byte(), input_.byte()};
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_version_text(&version, buffer, capacity, size, &error_);
      });
    case 11: {
      const std::uint64_t shape[] = {input_.byte(), std::uint64_t{input_.byte()} << 56, 3};
      const std::uint8_t choice = input_.byte();
      (void)checked(fatctx_tensor_size_bytes(choice / 4, null() ? nullptr : shape, choice % 4, out(number), &error_));
      return;
    }
    case 12: {
      const char* const file = path();
      (void)checked(fatctx_content_hash_of_file(file, null() ? nullptr : hash, &error_));
      return;
    }
    case 13:
      if (!affordable()) return;
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_layout_json(buffer, capacity, size, &error_);
      });
    case 14:
      return text_of_error();
    case 15: {
      Sized<fatctx_file_mapping_info> info(input_.byte());
      if (ok(fatctx_file_mapping_describe(out(*info.get()), &error_)) && info.whole()) borrowed(info.get()->how);
      return;
    }
    case 16: {
      const std::int32_t code = checked(fatctx_mapping_guard_install(&error_));
      require((code == FATCTX_OK) == guard_is_installed(), "an installed guard is installed");
      return;
    }
    default:
      return use_devices(which % 17);
  }
}

}  // namespace fatctx::fuzz
