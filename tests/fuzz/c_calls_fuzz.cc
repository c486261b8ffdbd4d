// A program of calls of the C interface over a table of handles: good ones, closed ones, of another kind, made up,
// none; with pointers and without, with structs of any size. Whatever it is: no crash, a code and a message for every
// error, no handle from a call that failed, no byte written behind a struct or a buffer, and in the end every handle
// closes exactly once.
//
// Input: calls. A call is 1 byte which one, 1 byte which pointers are null, then its arguments as it takes them:
// a handle is 1 byte (see handle()), a number or a size of a struct is 1 byte.
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "fatctx/fatctx.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "support/sample_container.h"

namespace {

using namespace fatctx;
using support::Bytes;

constexpr std::size_t kMostCalls = 64;

// A small model in memory and on disk, made once.
struct Model {
  Model() : path(folder.file("model.fatctx")), out(folder.file("out")) {
    std::vector<PackRecord> records = support::cpu_records();
    records.erase(records.begin(), records.begin() + 2);
    for (PackRecord& record : records) {
      if (record.type == RecordType::kWeightBlob) record.source.bytes.resize(30'000);
    }
    PackRecord cold = support::plain_record(RecordType::kSourceModel, "source", Bytes(3'000, std::byte{'s'}));
    cold.codec = Codec::kLz4;
    records.push_back(std::move(cold));
    bytes = support::packed_bytes(std::move(records), {});
    support::write_file(path, bytes);
  }
  support::TempDir folder;
  std::string path;
  std::string out;
  Bytes bytes;
};
const Model& model() {
  static const Model made;
  return made;
}

// A struct of the caller's in memory of its own, so that the address sanitizer sees a byte too many, with bytes behind
// struct_size that must stay as they are.
template <typename T>
class Sized {
 public:
  explicit Sized(std::uint8_t choice, std::uint32_t multiple = 1) : bytes_(sizeof(T), kUntouched) {
    static constexpr std::uint32_t kOdd[] = {0, 4, 7, 8, 9, 12, 16, sizeof(T) / 2, sizeof(T) - 1, sizeof(T) - 4};
    size_ = choice < std::size(kOdd) ? kOdd[choice] / multiple * multiple : sizeof(T);
    std::memcpy(bytes_.data(), &size_, sizeof size_);
    if (size_ > sizeof size_) std::memset(bytes_.data() + sizeof size_, 0, size_ - sizeof size_);
  }
  ~Sized() {
    const auto from = std::max<std::size_t>(size_, sizeof size_);
    for (std::size_t i = from; i < bytes_.size(); ++i) {
      fuzz::require(bytes_[i] == kUntouched, "nothing is written behind struct_size");
    }
  }
  Sized(const Sized&) = delete;
  Sized& operator=(const Sized&) = delete;

  [[nodiscard]] T* get() { return reinterpret_cast<T*>(bytes_.data()); }

 private:
  static constexpr std::byte kUntouched = std::byte{0xa5};
  std::vector<std::byte> bytes_;
  std::uint32_t size_ = 0;
};

class Program {
 public:
  explicit Program(fuzz::Input input) : input_(input) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void run() {
    for (std::size_t i = 0; i < kMostCalls && !input_.empty(); ++i) call();
    close_everything();
    fuzz::require(released_ == owed_, "memory is released once for every open that took it");
  }

 private:
  enum Kind : std::size_t { kDevice, kContainer, kModel, kSession, kTable, kView, kPacker, kKinds };
  static constexpr std::int32_t (*kClose[kKinds])(std::uint64_t, fatctx_error*) = {
      [](std::uint64_t id, fatctx_error* error) { return fatctx_device_close({id}, error); },
      [](std::uint64_t id, fatctx_error* error) { return fatctx_container_close({id}, error); },
      [](std::uint64_t id, fatctx_error* error) { return fatctx_model_close({id}, error); },
      [](std::uint64_t id, fatctx_error* error) { return fatctx_session_close({id}, error); },
      [](std::uint64_t id, fatctx_error* error) { return fatctx_tensor_table_close({id}, error); },
      [](std::uint64_t id, fatctx_error* error) {
        return fatctx_view_close({id, nullptr, 0}, error);
      },
      [](std::uint64_t id, fatctx_error* error) { return fatctx_packer_close({id}, error); },
  };
  struct Handle {
    std::uint64_t id = 0;
    bool open = false;
  };

  // 0 to 199: the newest handles of the kind first, also closed ones; 200 to 219: none; 220 to 239: of another kind;
  // from 240: made up.
  std::uint64_t handle(Kind kind) {
    const std::uint8_t choice = input_.byte();
    if (choice >= 240) return 0x0101'0000'0000'0001U * (choice - 239U);
    if (choice >= 220) kind = static_cast<Kind>((kind + 1U + choice % (kKinds - 1U)) % kKinds);
    const std::vector<Handle>& mine = handles_[kind];
    if (mine.empty() || (choice >= 200 && choice < 220)) return 0;
    return mine[mine.size() - 1 - choice % mine.size()].id;
  }
  fatctx_view view_handle() { return {handle(kView), nullptr, 0}; }
  bool null() { return (nulls_ >> (null_bit_++ % 8) & 1) != 0; }
  template <typename T>
  T* out(T& value) {
    return null() ? nullptr : &value;
  }
  const char* text(const char* value) { return null() ? nullptr : value; }
  const char* word() {
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
                                             "{\"schema\": \"fatctx.device/1\", \"backend\": \"cpu\"}"};
    return text(kWords[input_.byte() % std::size(kWords)]);
  }
  const char* out_path() { return text(model().out.c_str()); }
  const char* path() { return text(input_.byte() % 4 != 0 ? model().path.c_str() : model().out.c_str()); }

  // Every call that can fail comes through here.
  std::int32_t checked(std::int32_t code) {
    fuzz::require(error_.code == code, "the error has the code that is returned", error_.message);
    if (code == FATCTX_OK) return code;
    fuzz::require(error_.message[0] != '\0', "an error has a message", fatctx_error_code_name(code));
    fuzz::require(std::memchr(error_.message, 0, sizeof error_.message) != nullptr, "a message ends");
    fuzz::require(std::strpbrk(error_.message, "\r\n") == nullptr, "a message is one line", error_.message);
    fuzz::require(code != FATCTX_ERROR_INTERNAL, "no call is an internal error", error_.message);
    fuzz::require(std::strcmp(fatctx_error_code_name(code), "unknown") != 0, "a code is a listed one", error_.message);
    return code;
  }
  template <typename T>
  void made(std::int32_t code, Kind kind, const T& value) {
    if (checked(code) != FATCTX_OK) {
      fuzz::require(value.id == 0 || value.id == kNotWritten, "a call that fails makes no handle", error_.message);
      return;
    }
    fuzz::require(value.id != 0 && value.id != kNotWritten, "a call that succeeds makes a handle");
    handles_[kind].push_back({value.id, true});
  }
  void made_view(std::int32_t code, const fatctx_view& view) {
    made(code, kView, view);
    if (code != FATCTX_OK || view.size == 0) return;
    const auto* bytes = static_cast<const unsigned char*>(view.data);
    fuzz::require(bytes != nullptr, "a view has bytes");
    sum_ = static_cast<unsigned char>(sum_ + bytes[0] + bytes[view.size - 1]);  // they can be read
  }
  void close(Kind kind) {
    const std::uint64_t id = handle(kind);
    const std::int32_t code = checked(kClose[kind](id, &error_));
    for (Handle& mine : handles_[kind]) {
      if (mine.id != id) continue;
      fuzz::require((code == FATCTX_OK) == mine.open, "a handle closes exactly once", error_.message);
      fuzz::require(mine.open || code == FATCTX_ERROR_STALE_HANDLE, "a closed handle is stale", error_.message);
      mine.open = false;
    }
  }
  void close_everything() {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      for (const Handle& mine : handles_[kind]) {
        const std::int32_t code = checked(kClose[kind](mine.id, &error_));
        fuzz::require((code == FATCTX_OK) == mine.open, "a handle closes exactly once", error_.message);
        fuzz::require(kClose[kind](mine.id, nullptr) == FATCTX_ERROR_STALE_HANDLE, "a closed handle is stale");
      }
    }
  }
  void borrowed(const fatctx_text& text) {
    for (std::uint64_t i = 0; i < text.size; ++i) sum_ = static_cast<unsigned char>(sum_ + text.data[i]);
  }

  // A function that writes a text, into a buffer of any size that the address sanitizer watches.
  template <typename Write>
  void texted(const Write& write) {
    const std::size_t capacity = std::size_t{input_.byte()} * 16;
    std::vector<char> buffer(capacity, '#');
    std::size_t size = 0;
    const bool asks = null();
    const std::int32_t code = checked(write(asks ? nullptr : buffer.data(), capacity, out(size)));
    if (code != FATCTX_OK || asks || capacity == 0) return;
    fuzz::require(std::find(buffer.begin(), buffer.end(), '\0') != buffer.end(), "a text ends within its buffer");
  }

  struct Options {
    fatctx_open_options open = {};
    fatctx_model_options model = {};
    std::uint32_t boundaries[2] = {73, 81};
  };
  const fatctx_open_options* open_options() {
    if (null()) return nullptr;
    const std::uint8_t choice = input_.byte();
    fatctx_open_options_init(&options_.open, sizeof options_.open);
    options_.open.verify = choice & 3U;
    options_.open.refuse_symlinks = choice >> 2 & 1U;
    options_.open.file_mapping = choice >> 3 & 3U;
    options_.open.reserved = choice >> 7 & 1U;
    return &options_.open;
  }
  const fatctx_model_options* model_options() {
    if (null()) return nullptr;
    const std::uint8_t choice = input_.byte();
    fatctx_model_options_init(&options_.model, sizeof options_.model);
    options_.model.open = open_options();
    options_.model.device = {handle(kDevice)};
    options_.model.strict = choice & 1U;
    options_.model.force = choice >> 1 & 1U;
    options_.model.allow_lower_arch = choice >> 2 & 1U;
    options_.model.mix_targets = choice >> 3 & 1U;
    if ((choice & 16) != 0) options_.model.group = word();
    if ((choice & 32) != 0) options_.model.record_override = word();
    if ((choice & 64) != 0) options_.model.boundaries = options_.boundaries;
    options_.model.boundary_count = choice >> 6;
    return &options_.model;
  }

  static void release(void* user) { ++*static_cast<std::uint64_t*>(user); }
  static std::int32_t sink(void*, const void*, std::uint64_t size) { return size == 0 ? 1 : 0; }
  static std::int32_t stop(void*, const void*, std::uint64_t) { return 1; }
  static std::int32_t progress(void* user, std::uint64_t, std::uint64_t) { return *static_cast<std::int32_t*>(user); }
  static void finding(void*, const fatctx_error* found) {
    fuzz::require(found->code != 0 && found->message[0] != '\0', "a finding has a code and a message");
  }
  void make_containers(std::uint8_t which);
  void use_containers(std::uint8_t which);
  void use_models(std::uint8_t which);
  void use_views(std::uint8_t which);
  void use_packers(std::uint8_t which);
  void use_words(std::uint8_t which);
  void add_record();

  void call() {
    const std::uint8_t which = input_.byte();
    nulls_ = input_.byte();
    null_bit_ = 0;
    if ((nulls_ & 0x80) == 0) nulls_ = 0;  // most calls have all of their pointers
    fatctx_error_init(&error_, sizeof error_);
    switch (which % 8) {
      case 0:
        return make_containers(which / 8);
      case 1:
        return use_containers(which / 8);
      case 2:
        return use_models(which / 8);
      case 3:
        return use_views(which / 8);
      case 4:
        return use_packers(which / 8);
      case 5:
        return use_words(which / 8);
      case 6:
        return close(static_cast<Kind>(which / 8 % kKinds));
      default:
        return make_containers(0);
    }
  }

  static constexpr std::uint64_t kNotWritten = ~std::uint64_t{0};
  fuzz::Input input_;
  std::array<std::vector<Handle>, kKinds> handles_;
  fatctx_error error_ = {};
  Options options_;
  std::uint8_t nulls_ = 0;
  unsigned null_bit_ = 0;
  std::uint64_t owed_ = 0;
  std::uint64_t released_ = 0;
  std::int32_t stops_ = 0;
  volatile unsigned char sum_ = 0;
};

void Program::make_containers(std::uint8_t which) {
  fatctx_container container = {kNotWritten};
  fatctx_view view = {kNotWritten, nullptr, 0};
  const Bytes& bytes = model().bytes;
  // Most often all of it, so that there is something to use.
  const std::uint8_t cut = which % 6 == 1 ? input_.byte() : 0;
  const std::uint64_t size = bytes.size() - std::uint64_t{cut} * (bytes.size() / 256);
  switch (which % 6) {
    case 0:
    case 1: {
      const fatctx_open_options* const options = open_options();
      const void* const memory = null() ? nullptr : bytes.data();
      const bool releases = !null();
      const std::int32_t code = fatctx_container_open_memory(memory, size, options, releases ? &release : nullptr,
                                                             &released_, out(container), &error_);
      if (code == FATCTX_OK && releases) ++owed_;
      return made(code, kContainer, container);
    }
    case 2: {
      const char* const file = path();
      const fatctx_open_options* const options = open_options();
      return made(fatctx_container_open(file, options, out(container), &error_), kContainer, container);
    }
    case 3: {
      const fatctx_container from = {handle(kContainer)};
      return made(fatctx_container_reopen(from, out(container), &error_), kContainer, container);
    }
    case 4: {
      const char* const file = path();
      const fatctx_model_options* const options = model_options();
      const char* const unit = word();
      return made_view(fatctx_view_open(file, options, unit, out(view), &error_), view);
    }
    default: {
      const fatctx_model_options* const options = model_options();
      const char* const unit = word();
      return made_view(fatctx_view_open_memory(bytes.data(), size, options, unit, nullptr, nullptr, out(view), &error_),
                       view);
    }
  }
}

void Program::use_containers(std::uint8_t which) {
  const fatctx_container container = {handle(kContainer)};
  fatctx_view view = {kNotWritten, nullptr, 0};
  fatctx_tensor_table table = {kNotWritten};
  fatctx_text text = {};
  std::uint64_t number = 0;
  switch (which % 15) {
    case 0: {
      Sized<fatctx_open_report> report(input_.byte());
      (void)checked(fatctx_container_report(container, out(*report.get()), &error_));
      return;
    }
    case 1:
      if (checked(fatctx_container_degraded(container, input_.byte(), out(text), &error_)) == FATCTX_OK) borrowed(text);
      return;
    case 2:
      (void)checked(fatctx_container_record_count(container, out(number), &error_));
      return;
    case 3: {
      Sized<fatctx_record_info> record(input_.byte());
      (void)checked(fatctx_container_record_at(container, input_.byte(), out(*record.get()), &error_));
      return;
    }
    case 4: {
      Sized<fatctx_record_info> record(input_.byte());
      (void)checked(fatctx_container_record(container, input_.byte(), out(*record.get()), &error_));
      return;
    }
    case 5: {
      Sized<fatctx_record_info> record(input_.byte());
      const char* const name = word();
      (void)checked(fatctx_container_find(container, name, out(*record.get()), &error_));
      return;
    }
    case 6: {
      const std::uint32_t choice = input_.byte();
      fatctx_info_parts parts = {sizeof parts, choice & 1, choice & 2, choice / 4 % 9, choice & 1};
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_container_info_json(container, &parts, buffer, capacity, size, &error_);
      });
    }
    case 7:
      return made_view(fatctx_container_acquire(container, input_.byte() % 9, out(view), &error_), view);
    case 8: {
      const char* const name = word();
      return made_view(fatctx_container_acquire_name(container, name, out(view), &error_), view);
    }
    case 9:
      return made(fatctx_container_tensors(container, input_.byte() % 9, out(table), &error_), kTable, table);
    case 10: {
      const std::uint8_t choice = input_.byte();
      (void)checked(fatctx_container_stream(container, choice % 9, choice < 200 ? &sink : &stop, nullptr, &error_));
      return;
    }
    case 11: {
      const std::uint8_t choice = input_.byte();
      stops_ = choice >= 200 ? 1 : 0;
      (void)checked(fatctx_container_extract(container, choice % 9, out_path(), choice / 9 % 2,
                                             null() ? nullptr : &progress, &stops_, &error_));
      return;
    }
    case 12:
    case 13: {
      Sized<fatctx_verify_report> report(input_.byte());
      fatctx_verify_options options = {};
      fatctx_verify_options_init(&options, sizeof options);
      options.finding = null() ? nullptr : &finding;
      const fatctx_verify_options* const given = out(options);
      const std::int32_t code =
          which % 15 == 12
              ? fatctx_container_verify(container, given, out(*report.get()), &error_)
              : fatctx_container_verify_record(container, input_.byte() % 9, given, out(*report.get()), &error_);
      (void)checked(code);
      return;
    }
    default: {
      const fatctx_model_options* const options = model_options();
      const std::uint8_t format = input_.byte() % 3;
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_container_explain(container, options, format, buffer, capacity, size, &error_);
      });
    }
  }
}

void Program::use_models(std::uint8_t which) {
  fatctx_model chosen = {kNotWritten};
  fatctx_container container = {kNotWritten};
  fatctx_device device = {kNotWritten};
  fatctx_session session = {kNotWritten};
  fatctx_view view = {kNotWritten, nullptr, 0};
  fatctx_text text = {};
  std::uint64_t number = 0;
  if (which % 13 == 0) {
    const fatctx_container from = {handle(kContainer)};
    const fatctx_model_options* const options = model_options();
    return made(fatctx_model_choose(from, options, out(chosen), &error_), kModel, chosen);
  }
  if (which % 13 == 1) {
    const char* const file = path();
    const fatctx_model_options* const options = model_options();
    return made(fatctx_model_open(file, options, out(chosen), &error_), kModel, chosen);
  }
  if (which % 13 >= 9) {
    const fatctx_session of = {handle(kSession)};
    switch (which % 13) {
      case 9: {
        const char* const unit = word();
        return made_view(fatctx_session_binary(of, unit, out(view), &error_), view);
      }
      case 10:
        (void)checked(fatctx_session_weights_count(of, out(number), &error_));
        return;
      case 11:
        return made_view(fatctx_session_weights(of, input_.byte() % 4, out(view), &error_), view);
      default: {
        const char* const name = word();
        return made_view(fatctx_session_tensor(of, name, out(view), &error_), view);
      }
    }
  }
  const fatctx_model of = {handle(kModel)};
  switch (which % 13) {
    case 2:
      return made(fatctx_model_container(of, out(container), &error_), kContainer, container);
    case 3:
      return made(fatctx_model_device(of, out(device), &error_), kDevice, device);
    case 4: {
      Sized<fatctx_selection> selection(input_.byte());
      (void)checked(fatctx_model_selection(of, out(*selection.get()), &error_));
      return;
    }
    case 5: {
      Sized<fatctx_verdict> verdict(input_.byte());
      (void)checked(fatctx_model_verdict(of, input_.byte() % 9, out(*verdict.get()), &error_));
      return;
    }
    case 6:
      if (checked(fatctx_model_warning(of, input_.byte(), out(text), &error_)) == FATCTX_OK) borrowed(text);
      return;
    case 7: {
      const std::uint8_t format = input_.byte() % 3;
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_model_explain(of, format, buffer, capacity, size, &error_);
      });
    }
    default:
      return made(fatctx_model_begin_session(of, out(session), &error_), kSession, session);
  }
}

void Program::use_views(std::uint8_t which) {
  fatctx_view view = {kNotWritten, nullptr, 0};
  std::uint64_t number = 0;
  std::uint32_t id = 0;
  if (which % 8 < 3) {
    const fatctx_view of = view_handle();
    if (which % 8 == 0) return made_view(fatctx_view_copy(of, out(view), &error_), view);
    if (which % 8 == 1) {
      Sized<fatctx_view_info> info(input_.byte());
      (void)checked(fatctx_view_describe(of, out(*info.get()), &error_));
      return;
    }
    Sized<fatctx_tensor_info> info(input_.byte());
    (void)checked(fatctx_view_tensor(of, out(*info.get()), &error_));
    return;
  }
  const fatctx_tensor_table of = {handle(kTable)};
  switch (which % 8) {
    case 3:
      (void)checked(fatctx_tensor_table_size(of, out(number), &error_));
      return;
    case 4:
      (void)checked(fatctx_tensor_table_weights_id(of, out(id), &error_));
      return;
    case 5: {
      Sized<fatctx_tensor_info> info(input_.byte());
      (void)checked(fatctx_tensor_table_at(of, input_.byte() % 4, out(*info.get()), &error_));
      return;
    }
    case 6: {
      const char* const name = word();
      return made_view(fatctx_tensor_table_view(of, name, out(view), &error_), view);
    }
    default:
      return made_view(fatctx_tensor_table_view_at(of, input_.byte() % 4, out(view), &error_), view);
  }
}

void Program::add_record() {
  // Whole pointers only: half of one is no pointer, in whatever version.
  Sized<fatctx_pack_record> record(input_.byte(), sizeof(void*));
  fatctx_pack_record whole = {};
  fatctx_pack_record_init(&whole, sizeof whole);
  static const std::uint64_t shape[256] = {2, 3, 1, 1, 0, 7, 1, 1};  // as long as any rank that is given
  static const std::int64_t port_shape[] = {1, -1};
  static const fatctx_graph_tensor ports[] = {{"in", "float32", port_shape, 2}, {nullptr, nullptr, nullptr, 1}};
  static const fatctx_option options[] = {{"level", "3", nullptr}, {nullptr, "x", nullptr}};
  const std::uint8_t choice = input_.byte();
  const fatctx_pack_tensor tensors[] = {{"t", shape, 2, 0, 6, FATCTX_DTYPE_I8, 0},
                                        {"u", shape, input_.byte(), input_.byte(), 6, input_.byte(), 1}};
  const fatctx_graph graphs[] = {{"main", ports, 1U + (choice >> 4 & 1U), nullptr, choice >> 5 & 1U}};
  const char* const weights[] = {"w", nullptr};
  whole.type = input_.byte() % 9;
  whole.name = word();
  whole.bytes = null() ? nullptr : "weight";
  whole.size = 6;
  whole.arch = word();
  whole.group = word();
  whole.features = word();
  if ((choice & 1) != 0) whole.backend = "cpu";
  if ((choice & 2) != 0) {
    whole.tensors = null() ? nullptr : tensors;
    whole.tensor_count = 1U + (choice >> 6 & 1U);
    whole.tensors_from_irpa = choice >> 7;
    whole.tensors_from_safetensors = choice >> 3 & 1U;
    whole.tensors_from_gguf = choice >> 4 & 1U;
  }
  if ((choice & 4) != 0) {
    whole.graphs = null() ? nullptr : graphs;
    whole.graph_count = 1;
    whole.options = options;
    whole.option_count = 1U + (choice >> 4 & 1U);
  }
  if ((choice & 8) != 0) {
    whole.weights = weights;
    whole.weight_count = 1U + (choice >> 4 & 1U);
  }
  if ((choice & 32) != 0) whole.source_path = path();
  // As much of it as struct_size allows.
  const std::uint32_t size = record.get()->struct_size;
  whole.struct_size = size;
  std::memcpy(static_cast<void*>(record.get()), &whole, std::max<std::size_t>(size, sizeof size));
  const fatctx_packer packer = {handle(kPacker)};
  (void)checked(fatctx_packer_add(packer, out(*record.get()), &error_));
}

void Program::use_packers(std::uint8_t which) {
  fatctx_packer packer = {kNotWritten};
  fatctx_text text = {};
  switch (which % 5) {
    case 0: {
      const std::uint8_t choice = input_.byte();
      fatctx_pack_options options = {};
      fatctx_pack_options_init(&options, sizeof options);
      options.overwrite = 1;
      options.seal = choice & 1U;
      options.sharing = choice >= 250 ? choice - 249U : 0U;
      options.granule_log2 = 12U + (choice >> 1 & 3U);
      options.model_name = word();
      stops_ = choice >= 240 ? 1 : 0;
      options.progress = null() ? nullptr : &progress;
      options.progress_user = &stops_;
      return made(fatctx_packer_create(out(options), out(packer), &error_), kPacker, packer);
    }
    case 1: {
      Sized<fatctx_pack_report> report(input_.byte());
      const fatctx_packer of = {handle(kPacker)};
      (void)checked(fatctx_packer_publish(of, out_path(), out(*report.get()), &error_));
      return;
    }
    case 2: {
      const fatctx_packer of = {handle(kPacker)};
      if (checked(fatctx_packer_warning(of, input_.byte(), out(text), &error_)) == FATCTX_OK) borrowed(text);
      return;
    }
    default:
      return add_record();
  }
}

void Program::use_words(std::uint8_t which) {
  fatctx_device device = {kNotWritten};
  std::uint64_t number = 0;
  std::uint8_t hash[16] = {};
  switch (which % 9) {
    case 0:
    case 1: {
      const char* const name = word();
      return made(fatctx_device_parse(name, out(device), &error_), kDevice, device);
    }
    case 2:
      return made(fatctx_device_detect(out(device), &error_), kDevice, device);
    case 3: {
      const fatctx_device of = {handle(kDevice)};
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_device_json(of, buffer, capacity, size, &error_);
      });
    }
    case 4:
      (void)checked(fatctx_device_source_count({handle(kDevice)}, out(number), &error_));
      return;
    case 5: {
      Sized<fatctx_device_source> source(input_.byte());
      const fatctx_device of = {handle(kDevice)};
      (void)checked(fatctx_device_source_at(of, input_.byte(), out(*source.get()), &error_));
      return;
    }
    case 6: {
      const std::uint8_t size = input_.byte();
      const Bytes bytes(size, std::byte{7});
      (void)checked(fatctx_content_hash(null() ? nullptr : bytes.data(), size, null() ? nullptr : hash, &error_));
      return;
    }
    case 7: {
      const char* const file = path();
      Sized<fatctx_verify_report> report(input_.byte());
      (void)checked(fatctx_verify_file(file, nullptr, out(*report.get()), &error_));
      return;
    }
    default:
      (void)fatctx_record_type_name(input_.byte());
      (void)fatctx_dtype_name(input_.byte());
      (void)fatctx_level_name(input_.byte());
      (void)fatctx_axis_id(input_.byte());
      (void)fatctx_access_path_name(input_.byte());
      (void)fatctx_codec_name(input_.byte());
      (void)fatctx_verify_policy_name(input_.byte());
      (void)fatctx_file_mapping_name(input_.byte());
      (void)fatctx_profile_level_name(input_.byte());
      (void)fatctx_codec_from_name(word());
      (void)fatctx_verify_policy_from_name(word());
      (void)fatctx_file_mapping_from_name(word());
      (void)fatctx_profile_level_from_name(word());
      (void)fatctx_record_type_from_name(word());
      (void)fatctx_dtype_from_name(word());
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Program(fatctx::fuzz::Input(data, size)).run();
  return 0;
}
