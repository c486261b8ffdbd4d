#include "fuzz/c_calls_program.h"

#include <chrono>
#include <cstdio>
#include <thread>

namespace fatctx::fuzz {

std::int32_t Callee::say(fatctx_error* error) const {
  switch (answer % 8) {
    case 4:
      return FATCTX_ERROR_NO_RESOURCE;
    case 5:
      error->has_os_error = 1;
      error->os_error = 5;
      std::snprintf(error->message, sizeof error->message, "the cable\nis out");
      return FATCTX_ERROR_IO;
    case 6:
      std::memset(error->message, 'x', sizeof error->message);
      return FATCTX_ERROR_OUT_OF_MEMORY;
    case 7:
      return FATCTX_ERROR_UNSUPPORTED;
    default:
      return FATCTX_OK;
  }
}

void Callee::gave(const void* bytes) {
  const std::lock_guard lock(mutex_);
  out_.insert(bytes);
}

void Callee::got_back(const void* bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = out_.find(bytes);
  require(found != out_.end(), "a callback gets back what it gave, once");
  out_.erase(found);
}

bool Callee::gone() {
  const std::lock_guard lock(mutex_);
  return out_.empty() && releases == (owed ? 1 : 0);
}

void Callee::require_gone() {
  const std::lock_guard lock(mutex_);
  require(out_.empty(), "callbacks get back all that they gave");
  require(releases == (owed ? 1 : 0), "what a caller gave is released once, and only if the call took it");
}

std::uint64_t Program::handle(Kind kind) {
  const std::uint8_t choice = input_.byte();
  if (choice >= 240) return 0x0101'0000'0000'0001U * (choice - 239U);
  if (choice >= 220) kind = static_cast<Kind>((kind + 1U + choice % (kKinds - 1U)) % kKinds);
  const std::vector<Handle>& mine = handles_[kind];
  if (mine.empty() || (choice >= 200 && choice < 220)) return 0;
  return mine[mine.size() - 1 - choice % mine.size()].id;
}

const char* Program::word() {
  static constexpr const char* kWords[] = {"weights",
                                           "cpu-aarch64",
                                           "layer/0/w",
                                           "main",
                                           "",
                                           "no such thing",
                                           "x86-64-v4",
                                           "aarch64",
                                           "v75",
                                           "{}",
                                           "model",
                                           "\xff\xfe",
                                           "{\"schema\": \"fatctx.device/1\", \"backend\": \"cpu\"}",
                                           "chip1",
                                           "chip2",
                                           "x86-64-v3",
                                           "lz4",
                                           "float32",
                                           "2.48.0.1",
                                           "two\nlines"};
  return text(kWords[input_.byte() % std::size(kWords)]);
}

const char* Program::path() {
  static constexpr std::string Files::*kPaths[] = {&Files::out,         &Files::model, &Files::chips, &Files::pages,
                                                   &Files::with_dlc,    &Files::model, &Files::dlc,   &Files::asset,
                                                   &Files::safetensors, &Files::gguf,  &Files::irpa,  &Files::cache};
  return text((files().*kPaths[input_.byte() % std::size(kPaths)]).c_str());
}

std::int32_t Program::checked(std::int32_t code) {
  require(error_.code == code, "the error has the code that is returned", error_.message);
  if (code == FATCTX_OK) return code;
  require(error_.message[0] != '\0', "an error has a message", fatctx_error_code_name(code));
  require(std::memchr(error_.message, 0, sizeof error_.message) != nullptr, "a message ends");
  require(std::strpbrk(error_.message, "\r\n") == nullptr, "a message is one line", error_.message);
  require(code != FATCTX_ERROR_INTERNAL, "no call is an internal error", error_.message);
  require(std::strcmp(fatctx_error_code_name(code), "unknown") != 0, "a code is a listed one", error_.message);
  return code;
}

void Program::made_view(std::int32_t code, const fatctx_view& view) {
  made(code, kView, view);
  if (code != FATCTX_OK || view.size == 0) return;
  const auto* bytes = static_cast<const unsigned char*>(view.data);
  require(bytes != nullptr, "a view has bytes");
  sum_ = static_cast<unsigned char>(sum_ + bytes[0] + bytes[view.size - 1]);  // they can be read
}

std::int32_t Program::close_id(Kind kind, std::uint64_t id, fatctx_error* error) {
  switch (kind) {
    case kDevice:
      return fatctx_device_close({id}, error);
    case kContainer:
      return fatctx_container_close({id}, error);
    case kModel:
      return fatctx_model_close({id}, error);
    case kSession:
      return fatctx_session_close({id}, error);
    case kTable:
      return fatctx_tensor_table_close({id}, error);
    case kView:
      return fatctx_view_close({id, nullptr, 0}, error);
    case kPacker:
      return fatctx_packer_close({id}, error);
    case kProvider:
      return fatctx_mapping_provider_close({id}, error);
    case kAllocator:
      return fatctx_view_allocator_close({id}, error);
    case kAccess:
      return fatctx_range_access_close({id}, error);
    case kPrefetch:
      return fatctx_prefetch_close({id}, error);
    case kLock:
      return fatctx_record_lock_close({id}, error);
    case kAppender:
      return fatctx_appender_close({id}, error);
    case kLoadSignal:
      return fatctx_load_signal_close({id}, error);
    case kLoadList:
      return fatctx_load_list_close({id}, error);
    case kFetchPlan:
      return fatctx_fetch_plan_close({id}, error);
    default:
      return fatctx_report_close({id}, error);
  }
}

void Program::closed(Kind kind, std::uint64_t id, bool gone) {
  for (Handle& mine : handles_[kind]) {
    if (mine.id != id) continue;
    require(gone == mine.open, "a handle closes exactly once", error_.message);
    mine.open = false;
  }
}

void Program::close(Kind kind) {
  const std::uint64_t id = handle(kind);
  const std::int32_t code = checked(close_id(kind, id, &error_));
  require(code == FATCTX_OK || code == FATCTX_ERROR_STALE_HANDLE, "a closed handle is stale", error_.message);
  closed(kind, id, code == FATCTX_OK);
}

void Program::close_everything() {
  for (std::size_t number = 0; number < kKinds; ++number) {
    const auto kind = static_cast<Kind>(number);
    for (const Handle& mine : handles_[kind]) {
      const std::int32_t code = checked(close_id(kind, mine.id, &error_));
      require((code == FATCTX_OK) == mine.open, "a handle closes exactly once", error_.message);
      require(close_id(kind, mine.id, nullptr) == FATCTX_ERROR_STALE_HANDLE, "a closed handle is stale");
    }
  }
}

bool Program::guard_is_installed() {
  fatctx_file_mapping_info info = {};
  info.struct_size = sizeof info;
  return fatctx_file_mapping_describe(&info, nullptr) == FATCTX_OK && info.guard_installed != 0;
}

// There is one recorder of each kind in the process.
void Program::stop_recorders() {
  fatctx_profile_options off = {};
  fatctx_profile_options_init(&off, sizeof off);
  off.level = FATCTX_PROFILE_OFF;
  require(ok(fatctx_profile_start(&off, &error_)), "a profile can be stopped");
  require(ok(fatctx_trace_stop(&error_)), "a trace can be stopped");
}

void Program::leave_nothing() {
  std::string metrics;
  const auto look = [&] {
    fatctx_report report = {};
    require(ok(fatctx_metrics_of_runtime(&report, &error_)), "there are metrics", error_.message);
    std::size_t size = 0;
    require(ok(fatctx_report_text(report, FATCTX_FORMAT_JSON, nullptr, 0, &size, &error_)), "metrics have a text");
    metrics.resize(size + 1);
    require(ok(fatctx_report_text(report, FATCTX_FORMAT_JSON, metrics.data(), size + 1, nullptr, &error_)),
            "metrics can be read", error_.message);
    require(ok(fatctx_report_close(report, &error_)), "metrics close");
  };
  // Sums come before the containers.
  const auto is_zero = [&](const char* name) {
    const std::size_t at = metrics.find(std::string("\"") + name + "\": ");
    require(at != std::string::npos, "metrics have the number", name);
    return metrics.compare(at + std::strlen(name) + 4, 2, "0,") == 0;
  };
  look();
  // A stopped load may have left a thread behind, which ends by itself.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto waits = [&] {
    return !is_zero("live_mappings") ||
           !std::all_of(callees_.begin(), callees_.end(), [](Callee& c) { return c.gone(); });
  };
  while (waits() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    look();
  }
  require(is_zero("live_mappings") && is_zero("mapped_bytes") && is_zero("sessions") && is_zero("saved_bytes"),
          "nothing is mapped when everything is closed");
  for (Callee& one : callees_) one.require_gone();

  fatctx_view_cache_collection collection = {};
  collection.struct_size = sizeof collection;
  require(ok(fatctx_view_cache_collect(files().cache.c_str(), 0, &collection, &error_)),
          "a cache folder can be emptied", error_.message);
  require(collection.left_files == 0 && collection.left_bytes == 0, "an emptied cache folder is empty");
  (void)std::remove(files().out.c_str());
}

void Program::run() {
  constexpr std::size_t kMostCalls = 64;
  for (std::size_t i = 0; i < kMostCalls && !input_.empty(); ++i) call();
  stop_recorders();
  close_everything();
  leave_nothing();
}

fatctx_open_options Program::more_open_options(fatctx_open_options options) {
  const std::uint8_t choice = input_.byte();
  options.require_local = choice & 1U;
  if ((choice & 2) != 0) options.mapping_provider = {handle(kProvider)};
  if ((choice & 4) != 0) options.allocator = {handle(kAllocator)};
  options.max_copied_bytes = (choice & 8) != 0 ? ~std::uint64_t{0} : std::uint64_t{choice} * 4096;
  if ((choice & 16) != 0) options.cache_folder = files().cache.c_str();
  if ((choice & 32) != 0) options.cache_folder = word();
  if ((choice & 128) != 0) options.generation = input_.byte() & 3U;
  options.cache_limit_bytes = (choice & 64) != 0 ? std::uint64_t{input_.byte()} * 4096 : 0;
  return options;
}

const fatctx_open_options* Program::open_options() {
  if (null()) return nullptr;
  constexpr std::uint8_t kWhole = 255;
  const std::uint8_t choice = input_.byte();
  fatctx_open_options open = {};
  fatctx_open_options_init(&open, sizeof open);
  open.verify = choice & 3U;
  open.refuse_symlinks = choice >> 2 & 1U;
  open.file_mapping = choice >> 3 & 3U;
  open.strict = choice >> 7 & 1U;
  if ((choice & 32) != 0) open = more_open_options(open);
  const std::uint8_t size = (choice & 64) != 0 ? input_.byte() : kWhole;
  return options_.open.emplace(size, open).get();
}

const fatctx_model_options* Program::model_options() {
  if (null()) return nullptr;
  const std::uint8_t choice = input_.byte();
  fatctx_model_options& model = options_.model;
  fatctx_model_options_init(&model, sizeof model);
  model.open = open_options();
  model.device = {handle(kDevice)};
  model.strict = choice & 1U;
  model.force = choice >> 1 & 1U;
  model.allow_lower_arch = choice >> 2 & 1U;
  model.mix_targets = choice >> 3 & 1U;
  if ((choice & 16) != 0) model.group = word();
  if ((choice & 32) != 0) model.record_override = word();
  if ((choice & 64) != 0) model.boundaries = options_.boundaries;
  if ((choice & 64) != 0) model.boundary_count = std::size(options_.boundaries);
  if ((choice & 128) == 0) return &model;
  const std::uint8_t more = input_.byte();
  model.refuse_generic = more & 1U;
  if ((more & 2) != 0) model.consumer = &consumer;
  model.consumer_user = &callee(more >> 2);
  if ((more & 128) != 0) model.boundary_count = 2;  // also without an array
  model.on_damage = more >> 5 & 3U;
  model.raw_binaries = more >> 3 & 3U;
  if ((more & 7) == 3) model.signal = {handle(kLoadSignal)};
  if ((more & 4) != 0) model.prepare = &prepare;
  model.prepare_user = model.consumer_user;
  model.prepare_hook = more >> 3 & 1U;

  return &model;
}

Program::Work* Program::work(std::uint8_t choice) {
  return &works_.emplace_back(Work{this, choice >= 200 && choice < 240, choice >= 240});
}

std::int32_t Program::progress(void* user, std::uint64_t done, std::uint64_t total) {
  if (user == nullptr) return 0;  // the struct was too short for `user`
  auto& work = *static_cast<Work*>(user);
  require(done <= total, "no more is done than there is to do", std::to_string(done) + " of " + std::to_string(total));
  if (work.closes) {
    work.closes = false;
    work.program->close(static_cast<Kind>(work.program->input_.byte() % kKinds));
  }
  return work.stops ? 1 : 0;
}

std::int32_t Program::sink(void* user, const void* bytes, std::uint64_t size) {
  if (size == 0) return 1;
  const auto* last = static_cast<const unsigned char*>(bytes) + (size - 1);
  auto& work = *static_cast<Work*>(user);
  work.program->sum_ = static_cast<unsigned char>(work.program->sum_ + *last);
  return progress(user, 0, 0);
}

void Program::finding(void* user, const fatctx_error* found) {
  require(found->code != 0 && found->message[0] != '\0', "a finding has a code and a message");
  (void)progress(user, 0, 0);
}

std::uint32_t Program::prepare(void* user, const fatctx_prepare_request* request, const void** binary,
                               std::uint64_t* binary_size, char* reason, std::size_t capacity) {
  require(request->source_size != 0 && request->source != nullptr, "a source model has bytes");
  require(capacity != 0 && reason[0] == '\0', "a reason has room, and comes empty");
  const auto& callee = *static_cast<const Callee*>(user);
  *binary = callee.answer % 4 == 2 ? nullptr : request->source;
  *binary_size = callee.answer % 4 == 3 ? 0 : request->source_size;
  return callee.answer % 4 == 0 ? 0 : 1;
}

std::uint32_t Program::consumer(void* user, char* reason, std::size_t capacity) {
  require(capacity != 0 && reason[0] == '\0', "a reason has room, and comes empty");
  const auto& callee = *static_cast<const Callee*>(user);
  if (callee.answer % 4 == 1) std::snprintf(reason, capacity, "librpcmem\nis missing");
  if (callee.answer % 4 == 2) std::memset(reason, 'y', capacity);
  return callee.answer % 4 == 0 ? 1 : 0;
}

}  // namespace fatctx::fuzz
