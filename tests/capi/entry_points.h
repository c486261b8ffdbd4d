// Every function of the C headers that can fail, callable with good, null or stale arguments; tests loop over them.
// tests/capi/entry_points_test.cc compares this list with the headers.
#pragma once

#include <gtest/gtest.h>
#include <array>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "capi/c_dlc.h"
#include "capi/c_model.h"
#include "mapping/unique_fd.h"
#include "support/descriptors.h"
#include "support/gguf_file.h"
#include "support/irpa_file.h"
#include "support/safetensors_file.h"

namespace fatctx::capi::testing {

struct Handles {
  fatctx_device device = {};
  fatctx_container container = {};
  fatctx_model model = {};
  fatctx_session session = {};
  fatctx_tensor_table table = {};
  fatctx_view view = {};  // of a tensor
  fatctx_packer packer = {};
  fatctx_mapping_provider provider = {};
  fatctx_view_allocator allocator = {};
  fatctx_range_access access = {};
  fatctx_prefetch prefetch = {};
  fatctx_record_lock lock = {};
  fatctx_report report = {};  // a profile
  fatctx_container with_dlc = {};
  fatctx_view thin = {};  // of a thin DLC
  fatctx_appender appender = {};
  fatctx_soc_table socs = {};
  fatctx_device detected = {};
  fatctx_load_signal load_signal = {};
  fatctx_load_list load_list = {};  // that has finished
  fatctx_fetch_plan fetch_plan = {};
};

// Returns callbacks of an embedder that succeed and do nothing; no test opens anything with them.
inline const fatctx_mapping_callbacks* idle_provider() {
  static const fatctx_mapping_callbacks callbacks = [] {
    auto made = sized<fatctx_mapping_callbacks>();
    made.name = "idle";
    made.map = [](void*, int, std::uint64_t, std::uint64_t, const void**, fatctx_error*) -> std::int32_t {
      return FATCTX_ERROR_UNSUPPORTED;
    };
    made.unmap = [](void*, const void*, std::uint64_t) {};
    return made;
  }();
  return &callbacks;
}
inline const fatctx_allocator_callbacks* idle_allocator() {
  static const fatctx_allocator_callbacks callbacks = [] {
    auto made = sized<fatctx_allocator_callbacks>();
    made.name = "idle";
    made.allocate = [](void*, std::uint64_t, std::uint64_t, fatctx_block*, fatctx_error*) -> std::int32_t {
      return FATCTX_ERROR_NO_RESOURCE;
    };
    made.give_back = [](void*, const fatctx_block*) {};
    return made;
  }();
  return &callbacks;
}

inline const fatctx_info_parts* all_parts() {
  static const fatctx_info_parts parts = {sizeof parts, 1, 1, 5, 1, 1, 1};
  return &parts;
}

// Closes everything that is still open. Handles that a test has closed or never opened are ignored.
inline void close_all(const Handles& handles) {
  (void)fatctx_device_close(handles.device, nullptr);
  (void)fatctx_container_close(handles.container, nullptr);
  (void)fatctx_model_close(handles.model, nullptr);
  (void)fatctx_session_close(handles.session, nullptr);
  (void)fatctx_tensor_table_close(handles.table, nullptr);
  (void)fatctx_view_close(handles.view, nullptr);
  (void)fatctx_packer_close(handles.packer, nullptr);
  (void)fatctx_mapping_provider_close(handles.provider, nullptr);
  (void)fatctx_view_allocator_close(handles.allocator, nullptr);
  (void)fatctx_range_access_close(handles.access, nullptr);
  (void)fatctx_prefetch_close(handles.prefetch, nullptr);
  (void)fatctx_record_lock_close(handles.lock, nullptr);
  (void)fatctx_report_close(handles.report, nullptr);
  (void)fatctx_container_close(handles.with_dlc, nullptr);
  (void)fatctx_view_close(handles.thin, nullptr);
  (void)fatctx_appender_close(handles.appender, nullptr);
  (void)fatctx_soc_table_close(handles.socs, nullptr);
  (void)fatctx_device_close(handles.detected, nullptr);
  (void)fatctx_load_signal_close(handles.load_signal, nullptr);
  (void)fatctx_load_list_close(handles.load_list, nullptr);
  (void)fatctx_fetch_plan_close(handles.fetch_plan, nullptr);
}

// Returns a container to append to, as it was packed: an earlier test may have extended it. Only one handle at a time
// is possible, because the file is locked.
inline const std::string& appended_file() {
  static const support::TempDir folder;
  static const std::string path = folder.file("appended.fatctx");
  static const Bytes packed = support::unsealed_sample();
  std::error_code missing;
  if (std::filesystem::file_size(path, missing) != packed.size() || missing) support::write_file(path, packed);
  return path;
}

// Returns the path of a fetch. Only one handle at a time is possible, because its unfinished file is locked.
inline const std::string& fetched_file() {
  static const support::TempDir folder;
  static const std::string path = folder.file("fetched.fatctx");
  std::error_code missing;
  std::filesystem::remove(path + ".fetching", missing);
  return path;
}

// A set of weight files for the importers, written once, before allocations fail.
struct WeightFiles {
  WeightFiles() {
    support::write_file(safetensors,
                        support::safetensors_file(R"({"a":{"dtype":"F8_E5M2","shape":[4],"data_offsets":[0,4]}})", 4));
    support::GgufWriter blocks;
    blocks.tensor("q", {512}, support::GgufWriter::kQ4K, 0, 288);
    support::write_file(gguf, blocks.write());
    support::IrpaWriter archive;
    archive.data("first", 0, 64);
    support::write_file(irpa, archive.write(64));
  }
  TempDir folder;
  std::string safetensors = folder.file("w.safetensors");
  std::string gguf = folder.file("w.gguf");
  std::string irpa = folder.file("w.irpa");
};
inline const WeightFiles& weight_files() {
  static const WeightFiles files;
  return files;
}

// A set of small containers to rewrite, written once, before allocations fail.
struct RewrittenFiles {
  RewrittenFiles() {
    PackRecord code = support::binary_record("code", "x86-64-v2", support::pattern(300, 1));
    code.weights = {"kept"};
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, "kept", support::pattern(500, 2));
    support::write_file(source, support::packed_bytes({std::move(code), std::move(weights)}));
    support::write_file(
        other, support::packed_bytes({support::plain_record(RecordType::kOpaque, "other", support::pattern(70, 3))}));
    options = sized<fatctx_rewrite_options>();
    fatctx_rewrite_options_init(&options, sizeof options);
    options.overwrite = 1;
    options.threads = 1;
    without_code = options;
    without_code.keep = &kept;
    without_code.keep_count = 1;
  }
  TempDir folder{support::parent_in_memory()};
  std::string source = folder.file("source.fatctx");
  std::string other = folder.file("other.fatctx");
  std::string target = folder.file("target.fatctx");
  const char* const both[2] = {source.c_str(), other.c_str()};
  const std::uint32_t kept = 2;
  fatctx_rewrite_options options = {};
  fatctx_rewrite_options without_code = {};
};
inline const RewrittenFiles& rewritten_files() {
  static const RewrittenFiles files;
  return files;
}

// The arguments of a load. Lifetime: borrows from both parameters.
struct LoadOfFile {
  LoadOfFile(const std::string& path, const fatctx_model_options& model) {
    fatctx_source_init(&source, sizeof source);
    source.path = path.c_str();
    fatctx_load_options_init(&options, sizeof options);
    options.model = &model;
  }
  LoadOfFile(const LoadOfFile&) = delete;
  LoadOfFile& operator=(const LoadOfFile&) = delete;
  fatctx_source source = {};
  fatctx_load_options options = {};
  fatctx_load_item item = {&source, &options, nullptr, nullptr};
};

inline Handles open_all(const std::string& path) {
  Handles handles;
  auto error = fresh_error();
  const auto ok = [&](std::int32_t code) { ASSERT_EQ(code, FATCTX_OK) << text_of(error); };
  ok(fatctx_device_parse("x86-64-v3", &handles.device, &error));
  ok(fatctx_soc_table_read(nullptr, &handles.socs, &error));
  auto phone = sized<fatctx_detect_options>();
  phone.soc = "SM8650";
  ok(fatctx_device_detect(&phone, &handles.detected, &error));
  ok(fatctx_container_open(path.c_str(), nullptr, &handles.container, &error));
  auto options = sized<fatctx_model_options>();
  options.device = handles.device;
  ok(fatctx_model_choose(handles.container, &options, &handles.model, &error));
  ok(fatctx_model_begin_session(handles.model, &handles.session, &error));
  ok(fatctx_container_tensors(handles.container, 5, &handles.table, &error));
  ok(fatctx_session_tensor(handles.session, "layer/0/w", &handles.view, &error));
  auto pack = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&pack, sizeof pack);
  pack.overwrite = 1;
  ok(fatctx_packer_create(&pack, &handles.packer, &error));
  auto record = sized<fatctx_pack_record>();
  fatctx_pack_record_init(&record, sizeof record);
  record.name = "first";
  record.bytes = "bytes";
  record.size = 5;
  ok(fatctx_packer_add(handles.packer, &record, &error));
  ok(fatctx_mapping_provider_create(idle_provider(), &handles.provider, &error));
  ok(fatctx_view_allocator_create(idle_allocator(), &handles.allocator, &error));
  fatctx_view weights = {};
  ok(fatctx_container_acquire(handles.container, 5, &weights, &error));
  ok(fatctx_range_access_create(weights, nullptr, &handles.access, &error));
  ok(fatctx_view_close(weights, &error));
  ok(fatctx_container_prefetch_in_background(handles.container, 5, nullptr, &handles.prefetch, &error));
  ok(fatctx_container_lock(handles.container, 1, &handles.lock, &error));
  // One event, so that the snapshot has an entry; the recorder is off again afterwards.
  auto profile = sized<fatctx_profile_options>();
  fatctx_profile_options_init(&profile, sizeof profile);
  profile.level = FATCTX_PROFILE_DETAILED;
  ok(fatctx_profile_start(&profile, &error));
  fatctx_view seen = {};
  ok(fatctx_container_acquire(handles.container, 2, &seen, &error));
  ok(fatctx_view_close(seen, &error));
  ok(fatctx_profile_stop(&handles.report, &error));
  ok(fatctx_container_open(CDlc::get().container().c_str(), nullptr, &handles.with_dlc, &error));
  ok(fatctx_container_thin_dlc_view(handles.with_dlc, nullptr, choice_of_57(), &handles.thin, nullptr, &error));
  ok(fatctx_appender_open(appended_file().c_str(), nullptr, &handles.appender, &error));
  ok(fatctx_appender_add(handles.appender, &record, &error));
  const LoadOfFile load(path, options);
  ok(fatctx_load_signal_create(0, &handles.load_signal, &error));
  ok(fatctx_load_list_start(&load.item, 1, 1, &handles.load_list, &error));
  ok(fatctx_load_list_wait(handles.load_list, &error));
  ok(fatctx_fetch_plan_begin(fetched_file().c_str(), std::filesystem::file_size(path), nullptr, &handles.fetch_plan,
                             &error));
  return handles;
}

// A call with the objects that it may need. If `given` is false, every pointer is null.
class Call {
 public:
  Call(Handles with, bool pointers_given, std::string file, const Bytes* memory_of_file, std::string out_file)
      : h(with),
        given(pointers_given),
        path_(std::move(file)),
        out_path_(std::move(out_file)),
        memory_(memory_of_file) {
    open_options_.device = h.device;
  }
  ~Call() {
    close_all(made_);
    (void)fatctx_container_close(reopened_, nullptr);
    (void)fatctx_trace_stop(nullptr);
    auto off = sized<fatctx_profile_options>();  // level OFF
    (void)fatctx_profile_start(&off, nullptr);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] const char* text(const char* value) const { return given ? value : nullptr; }
  [[nodiscard]] const char* path() const { return text(path_.c_str()); }
  [[nodiscard]] const char* out_path() const { return text(out_path_.c_str()); }
  [[nodiscard]] int descriptor() {
    if (!descriptor_.valid()) descriptor_ = support::open_descriptor(path_);
    return given ? descriptor_.get() : -1;
  }
  [[nodiscard]] const void* memory() const { return given ? memory_->data() : nullptr; }
  [[nodiscard]] std::uint64_t memory_size() const { return memory_->size(); }
  [[nodiscard]] const fatctx_model_options* options() const { return given ? &open_options_ : nullptr; }
  template <typename T>
  [[nodiscard]] T* out(T& value) const {
    return given ? &value : nullptr;
  }
  template <typename T>
  [[nodiscard]] T* plain() {
    static thread_local T value;
    value = {};
    return given ? &value : nullptr;
  }
  template <typename T>
  [[nodiscard]] T* structure() {
    static thread_local T value;
    value = sized<T>();
    return given ? &value : nullptr;
  }
  [[nodiscard]] std::uint8_t* hash() { return given ? hash_ : nullptr; }
  [[nodiscard]] char* buffer() const { return given ? buffer_ : nullptr; }

  [[nodiscard]] fatctx_device* device() { return out(made_.device); }
  [[nodiscard]] fatctx_soc_table* socs() { return out(made_.socs); }
  [[nodiscard]] fatctx_container* container() { return out(made_.container); }
  [[nodiscard]] fatctx_container* reopened() { return out(reopened_); }
  [[nodiscard]] fatctx_model* model() { return out(made_.model); }
  [[nodiscard]] fatctx_session* session() { return out(made_.session); }
  [[nodiscard]] fatctx_tensor_table* table() { return out(made_.table); }
  [[nodiscard]] fatctx_view* view() { return out(made_.view); }
  [[nodiscard]] fatctx_packer* packer() { return out(made_.packer); }
  [[nodiscard]] fatctx_mapping_provider* provider() { return out(made_.provider); }
  [[nodiscard]] fatctx_view_allocator* allocator() { return out(made_.allocator); }
  [[nodiscard]] fatctx_range_access* access() { return out(made_.access); }
  [[nodiscard]] fatctx_prefetch* prefetch() { return out(made_.prefetch); }
  [[nodiscard]] fatctx_record_lock* lock() { return out(made_.lock); }
  [[nodiscard]] fatctx_report* report() { return out(made_.report); }
  [[nodiscard]] const char* dlc_path() const { return text(CDlc::get().dlc().c_str()); }
  [[nodiscard]] const fatctx_dlc_choice* choice() const { return given ? choice_of_57() : nullptr; }
  [[nodiscard]] fatctx_appender* appender() { return out(made_.appender); }
  [[nodiscard]] fatctx_load_signal* load_signal() { return out(made_.load_signal); }
  [[nodiscard]] fatctx_load_list* load_list() { return out(made_.load_list); }
  [[nodiscard]] fatctx_fetch_plan* fetch_plan() { return out(made_.fetch_plan); }
  [[nodiscard]] const LoadOfFile& load() const { return load_; }

  const Handles h;
  const bool given;
  static constexpr std::size_t kCapacity = 1 << 16;
  fatctx_error error = fresh_error();

 private:
  Handles made_ = {};
  fatctx_container reopened_ = {};
  std::string path_;
  std::string out_path_;
  const Bytes* memory_;
  mapping::UniqueFd descriptor_;
  std::uint8_t hash_[16] = {};
  fatctx_model_options open_options_ = sized<fatctx_model_options>();
  LoadOfFile load_{path_, open_options_};
  static inline thread_local char buffer_[kCapacity];
};

struct EntryPoint {
  const char* name;
  std::function<std::int32_t(Call&)> call;
  bool takes_handle = true;
  std::int32_t with_nulls = FATCTX_ERROR_INVALID_ARGUMENT;  // result for null handles and null pointers
  std::int32_t with_good = FATCTX_OK;
  std::int32_t with_null_pointers = with_nulls;  // result for valid handles and null pointers
};

// Windows needs no guard of mapped files, and says so.
#ifdef _WIN32
inline constexpr std::int32_t kGuarded = FATCTX_ERROR_UNSUPPORTED;
#else
inline constexpr std::int32_t kGuarded = FATCTX_OK;
#endif

inline const fatctx_fetch_options* fetch_options() {
  static const fatctx_fetch_options options = [] {
    auto made = sized<fatctx_fetch_options>();
    made.overwrite = 1;
    return made;
  }();
  return &options;
}

inline const fatctx_evidence_note* evidence_note() {
  static const fatctx_evidence_note note = {sizeof note, 0, "desk", "tool 1", "latency_ms", "3.1", "2026-11-22"};
  return &note;
}

inline const fatctx_pack_record* second_record() {
  static const fatctx_pack_record record = [] {
    auto made = sized<fatctx_pack_record>();
    fatctx_pack_record_init(&made, sizeof made);
    static const std::uint64_t shape[] = {2, 3};
    static const std::int64_t port_shape[] = {1, -1};
    static const fatctx_pack_tensor tensors[] = {{"t", shape, 2, 0, 6, FATCTX_DTYPE_I8, 0}};
    static const fatctx_graph_tensor ports[] = {{"in", "float32", port_shape, 2}};
    static const fatctx_graph graphs[] = {{"main", ports, 1, nullptr, 0}};
    static const fatctx_option options[] = {{"level", "3", nullptr}};
    made.type = FATCTX_RECORD_WEIGHT_BLOB;
    made.name = "second";
    made.bytes = "weight";
    made.size = 6;
    made.tensors = tensors;
    made.tensor_count = 1;
    made.graphs = graphs;
    made.graph_count = 1;
    made.options = options;
    made.option_count = 1;
    return made;
  }();
  return &record;
}

// Returns the first line of a trace; the library itself writes it, once.
inline const std::string& first_line_of_a_trace() {
  static const std::string line = [] {
    std::string seen;
    const fatctx_trace_sink sink = [](void* user, const char* text, std::uint64_t size) {
      static_cast<std::string*>(user)->assign(text, static_cast<std::size_t>(size));
    };
    EXPECT_EQ(fatctx_trace_start(sink, nullptr, &seen, nullptr), FATCTX_OK);
    EXPECT_EQ(fatctx_trace_stop(nullptr), FATCTX_OK);
    return seen;
  }();
  return line;
}

// Returns a folder that views may be cached in; it stays until the process ends.
inline const char* cache_folder() {
  static const support::TempDir folder;  // made with mode 0700
  return folder.path().c_str();
}

// A folder with keys and a file to sign. Allocates no memory once it is constructed.
class KeyFolder {
 public:
  static KeyFolder& get() {
    static KeyFolder folder;
    return folder;
  }
  KeyFolder() {
    std::uint8_t key[32];
    EXPECT_EQ(fatctx_make_keys(folder_.file("k").c_str(), key, nullptr), FATCTX_OK);
  }
  [[nodiscard]] const char* secret_key() const { return secret_key_.c_str(); }
  [[nodiscard]] const char* public_key() const { return public_key_.c_str(); }
  [[nodiscard]] const char* signed_file() const { return signed_file_.c_str(); }
  // Returns a name for keys that do not exist yet.
  [[nodiscard]] const char* fresh_name() {
    ++made_;
    std::snprintf(fresh_name_.data() + fresh_name_.size() - kDigits, kDigits + 1, "%0*u", kDigits, made_);
    return fresh_name_.c_str();
  }
  // Returns true if no half of a key pair exists without the other.
  [[nodiscard]] bool has_whole_pairs() const {
    const std::vector<std::string> names = folder_.names();
    return std::ranges::all_of(names, [&](const std::string& name) {
      const std::string other = name.ends_with(".key") ? ".pub" : ".key";
      return name == "signed" || std::ranges::count(names, name.substr(0, name.size() - 4) + other) == 1;
    });
  }

 private:
  static constexpr int kDigits = 6;
  const support::TempDir folder_;
  const std::string secret_key_ = folder_.file("k.key");
  const std::string public_key_ = folder_.file("k.pub");
  const std::string signed_file_ = folder_.file("signed");
  std::string fresh_name_ = folder_.file(std::string(kDigits, '0'));
  unsigned made_ = 0;
};

inline const std::vector<EntryPoint>& entry_points() {
  static constexpr auto kTraceSink = [](void*, const char*, std::uint64_t) {};
  static constexpr auto kSink = [](void*, const void*, std::uint64_t) -> std::int32_t { return 0; };
  static const std::vector<EntryPoint> all = {
      {"fatctx_error_text",
       [](Call& c) { return fatctx_error_text(c.given ? &c.error : nullptr, c.buffer(), Call::kCapacity, nullptr); },
       false},
      {"fatctx_tensor_size_bytes",
       [](Call& c) {
         static const std::uint64_t shape[] = {2, 3};
         return fatctx_tensor_size_bytes(FATCTX_DTYPE_F32, c.given ? shape : nullptr, 2, c.plain<std::uint64_t>(),
                                         &c.error);
       },
       false},
      {"fatctx_version_parse",
       [](Call& c) { return fatctx_version_parse(c.text("2.48"), c.plain<fatctx_version>(), &c.error); }, false},
      {"fatctx_version_text",
       [](Call& c) {
         return fatctx_version_text(c.plain<fatctx_version>(), c.buffer(), Call::kCapacity, nullptr, &c.error);
       },
       false},
      {"fatctx_content_hash", [](Call& c) { return fatctx_content_hash(c.text("abc"), 3, c.hash(), &c.error); }, false},
      {"fatctx_content_hash_of_file", [](Call& c) { return fatctx_content_hash_of_file(c.path(), c.hash(), &c.error); },
       false},
      {"fatctx_layout_json",
       [](Call& c) { return fatctx_layout_json(c.buffer(), c.given ? Call::kCapacity : 0, nullptr, &c.error); }, false,
       FATCTX_OK},
      {"fatctx_view_cache_json",
       [](Call& c) {
         return fatctx_view_cache_json(c.text(cache_folder()), c.buffer(), Call::kCapacity, nullptr, &c.error);
       },
       false},
      {"fatctx_view_cache_collect",
       [](Call& c) {
         auto collection = sized<fatctx_view_cache_collection>();
         return fatctx_view_cache_collect(c.text(cache_folder()), 0, c.given ? &collection : nullptr, &c.error);
       },
       false},
      {"fatctx_device_detect", [](Call& c) { return fatctx_device_detect(nullptr, c.device(), &c.error); }, false},
      {"fatctx_device_npu", [](Call& c) { return fatctx_device_npu(c.h.detected, c.device(), &c.error); }},
      {"fatctx_device_detection_json",
       [](Call& c) {
         return fatctx_device_detection_json(c.h.detected, c.buffer(), Call::kCapacity, nullptr, &c.error);
       }},
      {"fatctx_soc_table_read", [](Call& c) { return fatctx_soc_table_read(nullptr, c.socs(), &c.error); }, false},
      {"fatctx_soc_table_json",
       [](Call& c) {
         return fatctx_soc_table_json(c.h.socs, c.text("SM8750"), c.buffer(), Call::kCapacity, nullptr, &c.error);
       }},
      {"fatctx_soc_table_close", [](Call& c) { return fatctx_soc_table_close(c.h.socs, &c.error); }, true, FATCTX_OK},
      {"fatctx_device_parse",
       [](Call& c) {
         const char* const json = R"({"schema": "fatctx.device/1", "backend": "cpu", "features": ["dotprod", "i8mm"]})";
         return fatctx_device_parse(c.text(json), c.device(), &c.error);
       },
       false},
      {"fatctx_device_json",
       [](Call& c) { return fatctx_device_json(c.h.device, c.buffer(), Call::kCapacity, nullptr, &c.error); }},
      {"fatctx_device_close", [](Call& c) { return fatctx_device_close(c.h.device, &c.error); }, true, FATCTX_OK},
      {"fatctx_container_open",
       [](Call& c) { return fatctx_container_open(c.path(), nullptr, c.container(), &c.error); }, false},
      {"fatctx_container_open_descriptor",
       [](Call& c) { return fatctx_container_open_descriptor(c.descriptor(), 0, 0, nullptr, c.container(), &c.error); },
       false},
      {"fatctx_container_open_memory",
       [](Call& c) {
         return fatctx_container_open_memory(c.memory(), c.memory_size(), nullptr, nullptr, nullptr, c.container(),
                                             &c.error);
       },
       false},
      {"fatctx_container_reopen",
       [](Call& c) { return fatctx_container_reopen(c.h.container, c.reopened(), &c.error); }},
      {"fatctx_container_close", [](Call& c) { return fatctx_container_close(c.h.container, &c.error); }, true,
       FATCTX_OK},
      {.name = "fatctx_container_check",
       .call = [](Call& c) { return fatctx_container_check(c.h.container, &c.error); },
       .with_null_pointers = FATCTX_OK},
      {"fatctx_container_report",
       [](Call& c) { return fatctx_container_report(c.h.container, c.structure<fatctx_open_report>(), &c.error); }},
      {"fatctx_container_record_count",
       [](Call& c) { return fatctx_container_record_count(c.h.container, c.plain<std::uint64_t>(), &c.error); }},
      {"fatctx_container_record_at",
       [](Call& c) {
         return fatctx_container_record_at(c.h.container, 0, c.structure<fatctx_record_info>(), &c.error);
       }},
      {"fatctx_container_record",
       [](Call& c) { return fatctx_container_record(c.h.container, 1, c.structure<fatctx_record_info>(), &c.error); }},
      {"fatctx_container_find",
       [](Call& c) {
         return fatctx_container_find(c.h.container, c.text("weights"), c.structure<fatctx_record_info>(), &c.error);
       }},
      {"fatctx_container_record_target",
       [](Call& c) {
         return fatctx_container_record_target(c.h.container, 1, c.buffer(), Call::kCapacity, nullptr, &c.error);
       }},
      {"fatctx_container_access_path",
       [](Call& c) { return fatctx_container_access_path(c.h.container, 1, c.plain<std::uint32_t>(), &c.error); }},
      {"fatctx_container_sharing",
       [](Call& c) { return fatctx_container_sharing(c.h.container, nullptr, nullptr, c.report(), &c.error); }},
      {"fatctx_report_text",
       [](Call& c) {
         return fatctx_report_text(c.h.report, FATCTX_FORMAT_CSV, c.buffer(), Call::kCapacity, nullptr, &c.error);
       }},
      {"fatctx_report_close", [](Call& c) { return fatctx_report_close(c.h.report, &c.error); }, true, FATCTX_OK},
      {"fatctx_container_info_json",
       [](Call& c) {
         return fatctx_container_info_json(c.h.container, c.given ? all_parts() : nullptr, c.buffer(), Call::kCapacity,
                                           nullptr, &c.error);
       }},
      {"fatctx_container_acquire",
       [](Call& c) { return fatctx_container_acquire(c.h.container, 1, c.view(), &c.error); }},
      {"fatctx_container_acquire_name",
       [](Call& c) { return fatctx_container_acquire_name(c.h.container, c.text("weights"), c.view(), &c.error); }},
      {"fatctx_container_tensors",
       [](Call& c) { return fatctx_container_tensors(c.h.container, 5, c.table(), &c.error); }},
      {"fatctx_container_stream",
       [](Call& c) {
         return fatctx_container_stream(c.h.container, 1, c.given ? static_cast<fatctx_sink>(kSink) : nullptr, nullptr,
                                        &c.error);
       }},
      {"fatctx_container_read",
       [](Call& c) {
         static std::array<std::byte, support::kSampleWeightsSize> memory;  // takes no allocation
         return fatctx_container_read(c.h.container, 5, c.given ? memory.data() : nullptr, memory.size(), nullptr,
                                      c.structure<fatctx_read_report>(), nullptr, nullptr, &c.error);
       }},
      {"fatctx_container_await_checks",
       [](Call& c) { return fatctx_container_await_checks(c.h.container, nullptr, 0, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_OK},
      {"fatctx_container_extract",
       [](Call& c) { return fatctx_container_extract(c.h.container, 1, c.out_path(), 1, nullptr, nullptr, &c.error); }},
      {"fatctx_container_verify",
       [](Call& c) {
         return fatctx_container_verify(c.h.container, nullptr, c.structure<fatctx_verify_report>(), &c.error);
       }},
      {"fatctx_verify_file",
       [](Call& c) { return fatctx_verify_file(c.path(), nullptr, c.structure<fatctx_verify_report>(), &c.error); },
       false},
      {"fatctx_make_keys",
       [](Call& c) {
         std::uint8_t key[32];
         return fatctx_make_keys(c.text(KeyFolder::get().fresh_name()), c.given ? key : nullptr, &c.error);
       },
       false},
      {"fatctx_read_public_key",
       [](Call& c) {
         std::uint8_t key[32];
         return fatctx_read_public_key(c.text(KeyFolder::get().public_key()), c.given ? key : nullptr, &c.error);
       },
       false},
      {"fatctx_sign_container",
       [](Call& c) {
         auto options = sized<fatctx_sign_options>();
         options.overwrite = 1;
         return fatctx_sign_container(c.path(), c.text(KeyFolder::get().secret_key()),
                                      c.text(KeyFolder::get().signed_file()), &options,
                                      c.structure<fatctx_sign_report>(), &c.error);
       },
       false},
      {"fatctx_repair",
       [](Call& c) { return fatctx_repair(c.path(), nullptr, c.structure<fatctx_repair_report>(), &c.error); }, false},
      {"fatctx_container_diff",
       [](Call& c) {
         return fatctx_container_diff(c.h.container, c.h.container, nullptr, nullptr, c.plain<std::uint32_t>(),
                                      c.report(), &c.error);
       }},
      {"fatctx_model_open", [](Call& c) { return fatctx_model_open(c.path(), c.options(), c.model(), &c.error); },
       false},
      {"fatctx_model_choose",
       [](Call& c) { return fatctx_model_choose(c.h.container, c.options(), c.model(), &c.error); }},
      {"fatctx_model_close", [](Call& c) { return fatctx_model_close(c.h.model, &c.error); }, true, FATCTX_OK},
      {"fatctx_model_container", [](Call& c) { return fatctx_model_container(c.h.model, c.container(), &c.error); }},
      {"fatctx_model_device", [](Call& c) { return fatctx_model_device(c.h.model, c.device(), &c.error); }},
      {"fatctx_model_selection",
       [](Call& c) { return fatctx_model_selection(c.h.model, c.structure<fatctx_selection>(), &c.error); }},
      {"fatctx_model_verdict",
       [](Call& c) { return fatctx_model_verdict(c.h.model, 0, c.structure<fatctx_verdict>(), &c.error); }},
      {"fatctx_model_warning",
       [](Call& c) { return fatctx_model_warning(c.h.model, 0, c.plain<fatctx_text>(), &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_ERROR_NOT_FOUND},
      {"fatctx_model_damaged",
       [](Call& c) { return fatctx_model_damaged(c.h.model, 0, c.structure<fatctx_error>(), &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_ERROR_NOT_FOUND},
      {"fatctx_model_explain",
       [](Call& c) {
         return fatctx_model_explain(c.h.model, FATCTX_FORMAT_TEXT, c.buffer(), Call::kCapacity, nullptr, &c.error);
       }},
      {"fatctx_container_explain",
       [](Call& c) {
         return fatctx_container_explain(c.h.container, c.options(), FATCTX_FORMAT_TEXT, c.buffer(), Call::kCapacity,
                                         nullptr, &c.error);
       }},
      {"fatctx_model_begin_session",
       [](Call& c) { return fatctx_model_begin_session(c.h.model, c.session(), &c.error); }},
      {"fatctx_session_close", [](Call& c) { return fatctx_session_close(c.h.session, &c.error); }, true, FATCTX_OK},
      {"fatctx_session_end", [](Call& c) { return fatctx_session_end(c.h.session, &c.error); }, true, FATCTX_OK},
      {"fatctx_session_await_checks",
       [](Call& c) { return fatctx_session_await_checks(c.h.session, &c.error); }, true, FATCTX_ERROR_INVALID_ARGUMENT,
       FATCTX_OK, FATCTX_OK},
      {"fatctx_session_binary",
       [](Call& c) { return fatctx_session_binary(c.h.session, c.text("main"), c.view(), &c.error); }},
      {"fatctx_session_describe",
       [](Call& c) { return fatctx_session_describe(c.h.session, c.structure<fatctx_session_info>(), &c.error); }},
      {"fatctx_session_record_at",
       [](Call& c) {
         return fatctx_session_record_at(c.h.session, FATCTX_SESSION_WEIGHTS, 0, c.structure<fatctx_session_record>(),
                                         &c.error);
       }},
      {"fatctx_session_model", [](Call& c) { return fatctx_session_model(c.h.session, c.model(), &c.error); }},
      {"fatctx_session_json",
       [](Call& c) {
         return fatctx_session_json(c.h.session, c.buffer(), Call::kCapacity, nullptr, &c.error);
       }},
      {"fatctx_session_weights", [](Call& c) { return fatctx_session_weights(c.h.session, 0, c.view(), &c.error); }},
      {"fatctx_session_tensor",
       [](Call& c) { return fatctx_session_tensor(c.h.session, c.text("layer/0/b"), c.view(), &c.error); }},
      {"fatctx_view_open", [](Call& c) { return fatctx_view_open(c.path(), c.options(), nullptr, c.view(), &c.error); },
       false},
      {"fatctx_view_open_memory",
       [](Call& c) {
         return fatctx_view_open_memory(c.memory(), c.memory_size(), c.options(), nullptr, nullptr, nullptr, c.view(),
                                        &c.error);
       },
       false},
      {"fatctx_view_close", [](Call& c) { return fatctx_view_close(c.h.view, &c.error); }, true, FATCTX_OK},
      {"fatctx_view_copy", [](Call& c) { return fatctx_view_copy(c.h.view, c.view(), &c.error); }},
      {"fatctx_view_describe",
       [](Call& c) { return fatctx_view_describe(c.h.view, c.structure<fatctx_view_info>(), &c.error); }},
      {"fatctx_view_tensor",
       [](Call& c) { return fatctx_view_tensor(c.h.view, c.structure<fatctx_tensor_info>(), &c.error); }},
      {"fatctx_container_tensor",
       [](Call& c) { return fatctx_container_tensor(c.h.container, 5, c.text("layer/0/b"), c.view(), &c.error); }},
      {"fatctx_tensor_table_size",
       [](Call& c) { return fatctx_tensor_table_size(c.h.table, c.plain<std::uint64_t>(), c.plain<std::uint32_t>(), &c.error); }},
      {"fatctx_tensor_table_at",
       [](Call& c) { return fatctx_tensor_table_at(c.h.table, 0, c.structure<fatctx_tensor_info>(), &c.error); }},
      {"fatctx_tensor_table_view",
       [](Call& c) { return fatctx_tensor_table_view(c.h.table, c.text("layer/0/b"), c.view(), &c.error); }},
      {"fatctx_tensor_table_view_at",
       [](Call& c) { return fatctx_tensor_table_view_at(c.h.table, 1, c.view(), &c.error); }},
      {"fatctx_tensor_table_close", [](Call& c) { return fatctx_tensor_table_close(c.h.table, &c.error); }, true,
       FATCTX_OK},
      {"fatctx_container_absent",
       [](Call& c) {
         return fatctx_container_absent(c.h.container, 1, 0, nullptr, 0, c.plain<std::uint64_t>(), &c.error);
       }},
      {"fatctx_container_same_bytes",
       [](Call& c) {
         return fatctx_container_same_bytes(c.h.container, 1, nullptr, 0, c.plain<std::uint64_t>(), &c.error);
       }},
      {"fatctx_mapping_guard_install", [](Call& c) { return fatctx_mapping_guard_install(&c.error); }, false, kGuarded,
       kGuarded},
      {"fatctx_file_mapping_describe",
       [](Call& c) { return fatctx_file_mapping_describe(c.structure<fatctx_file_mapping_info>(), &c.error); }, false},
      {"fatctx_mapping_provider_create",
       [](Call& c) {
         return fatctx_mapping_provider_create(c.given ? idle_provider() : nullptr, c.provider(), &c.error);
       },
       false},
      {"fatctx_mapping_provider_close", [](Call& c) { return fatctx_mapping_provider_close(c.h.provider, &c.error); },
       true, FATCTX_OK},
      {"fatctx_view_allocator_create",
       [](Call& c) {
         return fatctx_view_allocator_create(c.given ? idle_allocator() : nullptr, c.allocator(), &c.error);
       },
       false},
      {"fatctx_view_allocator_close", [](Call& c) { return fatctx_view_allocator_close(c.h.allocator, &c.error); },
       true, FATCTX_OK},
      {"fatctx_range_access_create",
       [](Call& c) { return fatctx_range_access_create(c.h.view, nullptr, c.access(), &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_ERROR_INVALID_ARGUMENT},  // the view is of a tensor
      {"fatctx_range_access_provide",
       [](Call& c) { return fatctx_range_access_provide(c.h.access, 64, 100, c.structure<fatctx_range>(), &c.error); }},
      {"fatctx_range_access_release",
       [](Call& c) {
         auto range = sized<fatctx_range>();
         const std::int32_t provided =
             c.given ? fatctx_range_access_provide(c.h.access, 0, 1, &range, &c.error) : FATCTX_OK;
         if (provided != FATCTX_OK) return provided;
         return fatctx_range_access_release(c.h.access, range.id, &c.error);
       },
       true, FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_ERROR_STALE_HANDLE},
      {"fatctx_range_access_outstanding",
       [](Call& c) { return fatctx_range_access_outstanding(c.h.access, c.plain<std::uint64_t>(), &c.error); }},
      {"fatctx_range_access_close", [](Call& c) { return fatctx_range_access_close(c.h.access, &c.error); }, true,
       FATCTX_OK},
      {"fatctx_container_prefetch",
       [](Call& c) {
         return fatctx_container_prefetch(c.h.container, 1, nullptr, c.structure<fatctx_prefetch_report>(), &c.error);
       }},
      {"fatctx_session_prefetch",
       [](Call& c) {
         return fatctx_session_prefetch(c.h.session, nullptr, c.structure<fatctx_prefetch_report>(), &c.error);
       }},
      {"fatctx_container_prefetch_in_background",
       [](Call& c) {
         return fatctx_container_prefetch_in_background(c.h.container, 1, nullptr, c.prefetch(), &c.error);
       }},
      {"fatctx_session_prefetch_in_background",
       [](Call& c) { return fatctx_session_prefetch_in_background(c.h.session, nullptr, c.prefetch(), &c.error); }},
      {"fatctx_prefetch_cancel", [](Call& c) { return fatctx_prefetch_cancel(c.h.prefetch, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_OK},
      {"fatctx_prefetch_state",
       [](Call& c) {
         return fatctx_prefetch_state(c.h.prefetch, c.plain<std::uint32_t>(), c.plain<std::uint64_t>(), &c.error);
       }},
      {"fatctx_prefetch_wait",
       [](Call& c) { return fatctx_prefetch_wait(c.h.prefetch, c.structure<fatctx_prefetch_report>(), &c.error); }},
      {"fatctx_prefetch_close", [](Call& c) { return fatctx_prefetch_close(c.h.prefetch, &c.error); }, true, FATCTX_OK},
      {"fatctx_container_release",
       [](Call& c) {
         return fatctx_container_release(c.h.container, 5, nullptr, c.structure<fatctx_release_report>(), &c.error);
       }},
      {"fatctx_session_release",
       [](Call& c) {
         return fatctx_session_release(c.h.session, nullptr, c.structure<fatctx_release_report>(), &c.error);
       }},
      {"fatctx_container_lock", [](Call& c) { return fatctx_container_lock(c.h.container, 2, c.lock(), &c.error); }},
      {"fatctx_record_lock_close", [](Call& c) { return fatctx_record_lock_close(c.h.lock, &c.error); }, true,
       FATCTX_OK},
      {"fatctx_metrics_of_container",
       [](Call& c) { return fatctx_metrics_of_container(c.h.container, c.report(), &c.error); }},
      {"fatctx_metrics_of_runtime", [](Call& c) { return fatctx_metrics_of_runtime(c.report(), &c.error); }, false},
      {"fatctx_profile_start", [](Call& c) { return fatctx_profile_start(nullptr, &c.error); }, false, FATCTX_OK},
      {"fatctx_profile_current", [](Call& c) { return fatctx_profile_current(c.report(), &c.error); }, false},
      {"fatctx_profile_stop", [](Call& c) { return fatctx_profile_stop(c.report(), &c.error); }, false},
      {"fatctx_trace_start",
       [](Call& c) {
         return fatctx_trace_start(c.given ? static_cast<fatctx_trace_sink>(kTraceSink) : nullptr, nullptr, nullptr,
                                   &c.error);
       },
       false},
      {"fatctx_trace_stop", [](Call& c) { return fatctx_trace_stop(&c.error); }, false, FATCTX_OK},
      {"fatctx_trace_replay",
       [](Call& c) {
         const std::string& line = first_line_of_a_trace();
         return fatctx_trace_replay(c.text(line.c_str()), line.size(), nullptr, nullptr,
                                    c.structure<fatctx_replay_report>(), &c.error);
       },
       false},
      {"fatctx_tensors_json",
       [](Call& c) {
         return fatctx_tensors_json(c.text(weight_files().gguf.c_str()), FATCTX_WEIGHTS_GGUF, c.buffer(),
                                    Call::kCapacity, nullptr, &c.error);
       },
       false},
      {"fatctx_packer_create", [](Call& c) { return fatctx_packer_create(nullptr, c.packer(), &c.error); }, false},
      {"fatctx_packer_add",
       [](Call& c) { return fatctx_packer_add(c.h.packer, c.given ? second_record() : nullptr, &c.error); }},
      {"fatctx_packer_publish",
       [](Call& c) {
         return fatctx_packer_publish(c.h.packer, c.out_path(), c.structure<fatctx_pack_report>(), &c.error);
       }},
      {"fatctx_packer_report_json",
       [](Call& c) {
         return fatctx_packer_report_json(c.h.packer, c.buffer(), Call::kCapacity, nullptr, &c.error);
       },
       true, FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_ERROR_NOT_FOUND, FATCTX_ERROR_NOT_FOUND},
      {"fatctx_appender_open",
       [](Call& c) { return fatctx_appender_open(c.path(), nullptr, c.appender(), &c.error); }, false},
      {"fatctx_appender_add",
       [](Call& c) { return fatctx_appender_add(c.h.appender, c.given ? second_record() : nullptr, &c.error); }},
      {"fatctx_appender_add_dlc",
       [](Call& c) {
         return fatctx_appender_add_dlc(c.h.appender, c.dlc_path(), c.given ? dlc_import() : nullptr, &c.error);
       }},
      {"fatctx_appender_note",
       [](Call& c) {
         return fatctx_appender_note(c.h.appender, c.text("weights"), c.given ? evidence_note() : nullptr, &c.error);
       }},
      {.name = "fatctx_appender_commit",
       .call =
           [](Call& c) {
             return fatctx_appender_commit(c.h.appender, c.structure<fatctx_append_report>(), &c.error);
           },
       .with_null_pointers = FATCTX_OK},
      {"fatctx_appender_report_json",
       [](Call& c) {
         return fatctx_appender_report_json(c.h.appender, c.buffer(), Call::kCapacity, nullptr, &c.error);
       },
       true, FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_ERROR_NOT_FOUND, FATCTX_ERROR_NOT_FOUND},
      {"fatctx_appender_close", [](Call& c) { return fatctx_appender_close(c.h.appender, &c.error); }, true, FATCTX_OK},
      {"fatctx_fetch_plan_begin",
       [](Call& c) { return fatctx_fetch_plan_begin(c.out_path(), 100, fetch_options(), c.fetch_plan(), &c.error); }, false},
      {"fatctx_fetch_plan_wanted",
       [](Call& c) {
         static fatctx_file_range ranges[4];
         return fatctx_fetch_plan_wanted(c.h.fetch_plan, c.out(ranges[0]), 4, c.plain<std::uint64_t>(), &c.error);
       }},
      {"fatctx_fetch_plan_take",
       [](Call& c) { return fatctx_fetch_plan_take(c.h.fetch_plan, 0, c.memory(), 64, &c.error); }},
      {"fatctx_fetch_plan_use",
       [](Call& c) { return fatctx_fetch_plan_use(c.h.fetch_plan, c.text(rewritten_files().source.c_str()), &c.error); },
       true, FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_ERROR_OPERATION_NOT_PERMITTED},
      {"fatctx_fetch_plan_report",
       [](Call& c) {
         return fatctx_fetch_plan_report(c.h.fetch_plan, c.structure<fatctx_fetch_report>(), &c.error);
       }},
      {"fatctx_fetch_plan_publish", [](Call& c) { return fatctx_fetch_plan_publish(c.h.fetch_plan, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_ERROR_OPERATION_NOT_PERMITTED, FATCTX_ERROR_OPERATION_NOT_PERMITTED},
      {"fatctx_fetch_plan_discard", [](Call& c) { return fatctx_fetch_plan_discard(c.h.fetch_plan, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_OK},
      {"fatctx_fetch_plan_close", [](Call& c) { return fatctx_fetch_plan_close(c.h.fetch_plan, &c.error); }, true,
       FATCTX_OK},
      {"fatctx_rewrite_container",
       [](Call& c) {
         return fatctx_rewrite_container(c.text(rewritten_files().source.c_str()), c.out_path(),
                                         &rewritten_files().without_code, c.report(), &c.error);
       },
       false},
      {"fatctx_merge_containers",
       [](Call& c) {
         return fatctx_merge_containers(c.given ? rewritten_files().both : nullptr, 2, c.out_path(),
                                        &rewritten_files().options, c.report(), &c.error);
       },
       false},
      {"fatctx_load",
       [](Call& c) { return fatctx_load(c.given ? &c.load().source : nullptr, nullptr, c.session(), &c.error); }, false},
      {"fatctx_load_signal_create",
       [](Call& c) { return fatctx_load_signal_create(5, c.load_signal(), &c.error); }, false},
      {"fatctx_load_signal_cancel", [](Call& c) { return fatctx_load_signal_cancel(c.h.load_signal, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_OK},
      {"fatctx_load_signal_set_timeout",
       [](Call& c) { return fatctx_load_signal_set_timeout(c.h.load_signal, 7, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_OK},
      {"fatctx_load_signal_reset", [](Call& c) { return fatctx_load_signal_reset(c.h.load_signal, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_OK},
      {"fatctx_load_signal_state",
       [](Call& c) {
         static std::uint32_t in_use;
         return fatctx_load_signal_state(c.h.load_signal, c.plain<std::uint32_t>(), c.out(in_use), &c.error);
       }},
      {"fatctx_load_signal_close", [](Call& c) { return fatctx_load_signal_close(c.h.load_signal, &c.error); }, true,
       FATCTX_OK},
      {"fatctx_load_list_start",
       [](Call& c) {
         return fatctx_load_list_start(c.given ? &c.load().item : nullptr, 1, 1, c.load_list(), &c.error);
       },
       false},
      {"fatctx_load_list_cancel", [](Call& c) { return fatctx_load_list_cancel(c.h.load_list, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_OK},
      {"fatctx_load_list_wait", [](Call& c) { return fatctx_load_list_wait(c.h.load_list, &c.error); }, true,
       FATCTX_ERROR_INVALID_ARGUMENT, FATCTX_OK, FATCTX_OK},
      {"fatctx_load_list_state",
       [](Call& c) {
         static std::uint64_t finished;
         return fatctx_load_list_state(c.h.load_list, c.plain<std::uint64_t>(), c.out(finished), &c.error);
       }},
      {"fatctx_load_list_result",
       [](Call& c) { return fatctx_load_list_result(c.h.load_list, 0, c.session(), &c.error); }},
      {"fatctx_load_list_close", [](Call& c) { return fatctx_load_list_close(c.h.load_list, &c.error); }, true,
       FATCTX_OK},
      {"fatctx_container_records_left",
       [](Call& c) {
         fatctx_target_filter filter = {};
         filter.arch = "aarch64";
         return fatctx_container_records_left(c.h.container, c.given ? &filter : nullptr, 1, nullptr, 0,
                                              c.plain<std::uint64_t>(), &c.error);
       }},
      {"fatctx_container_records_without",
       [](Call& c) {
         static constexpr std::uint32_t kGone = 2;
         return fatctx_container_records_without(c.h.container, c.given ? &kGone : nullptr, 1, nullptr, 0,
                                                 c.plain<std::uint64_t>(), &c.error);
       }},
      {"fatctx_is_dlc", [](Call& c) { return fatctx_is_dlc(c.dlc_path(), c.plain<std::uint32_t>(), &c.error); }, false},
      {"fatctx_dlc_json",
       [](Call& c) { return fatctx_dlc_json(c.dlc_path(), c.buffer(), Call::kCapacity, nullptr, &c.error); }, false},
      {"fatctx_container_dlc_json",
       [](Call& c) {
         return fatctx_container_dlc_json(c.h.with_dlc, nullptr, c.buffer(), Call::kCapacity, nullptr, &c.error);
       }},
      {"fatctx_packer_add_dlc",
       [](Call& c) {
         return fatctx_packer_add_dlc(c.h.packer, c.dlc_path(), c.given ? dlc_import() : nullptr, &c.error);
       }},
      {"fatctx_dlc_thin",
       [](Call& c) {
         return fatctx_dlc_thin(c.dlc_path(), c.choice(), c.out_path(), 1, c.structure<fatctx_thin_dlc>(), &c.error);
       },
       false},
      {"fatctx_container_dlcs_json",
       [](Call& c) {
         return fatctx_container_dlcs_json(c.h.with_dlc, c.buffer(), Call::kCapacity, nullptr, &c.error);
       }},
      {"fatctx_container_export_dlc",
       [](Call& c) {
         return fatctx_container_export_dlc(c.h.with_dlc, nullptr, c.out_path(), 1, nullptr, nullptr, &c.error);
       }},
      {"fatctx_container_thin_dlc",
       [](Call& c) {
         return fatctx_container_thin_dlc(c.h.with_dlc, c.text("dlc.layout"), c.choice(), c.out_path(), 1,
                                                  c.structure<fatctx_thin_dlc>(), &c.error);
       }},
      {"fatctx_container_thin_dlc_view",
       [](Call& c) {
         return fatctx_container_thin_dlc_view(c.h.with_dlc, nullptr, c.choice(), c.view(),
                                               c.structure<fatctx_thin_dlc>(), &c.error);
       }},
      {"fatctx_thin_dlc_prefetch",
       [](Call& c) {
         return fatctx_thin_dlc_prefetch(c.h.thin, nullptr, c.structure<fatctx_prefetch_report>(), &c.error);
       }},
      {"fatctx_packer_close", [](Call& c) { return fatctx_packer_close(c.h.packer, &c.error); }, true, FATCTX_OK},
  };
  return all;
}

}  // namespace fatctx::capi::testing
