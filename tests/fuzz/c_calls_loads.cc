// Loads: one call for any file, signals, and lists in the background, whose callbacks run on threads of the library.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {
namespace {

// These also run on threads of a list, so they do not touch the program.

void heard(void* user, const fatctx_load_event* event) {
  if (user != nullptr) (void)static_cast<const Callee*>(user)->answer;
  require(event->struct_size == sizeof *event, "an event has its size");
  require(event->kind <= FATCTX_LOAD_CONTEXT_INITIALISED, "an event is of a kind that is known");
  require(event->error == nullptr || event->error->code != FATCTX_OK, "an event of an error has one");
  require((event->error == nullptr) == (event->record.size != 0), "a load that failed names no record");
}

std::int32_t watched(void* user, std::uint64_t done, std::uint64_t total) {
  require(done <= total, "no more is done than there is to do");
  return user != nullptr && static_cast<const Callee*>(user)->answer % 4 == 3 ? 1 : 0;
}

void finished(void* user, std::uint64_t, fatctx_session session, const fatctx_error* error) {
  if (user != nullptr) (void)static_cast<const Callee*>(user)->answer;
  require((session.id == 0) == (error != nullptr), "an item is loaded, or has an error");
  if (error != nullptr) return require(error->code != FATCTX_OK && error->message[0] != '\0', "an error has a message");
  require(fatctx_session_close(session, nullptr) == FATCTX_OK, "a callback may close what it gets");
}

}  // namespace

fatctx_source Program::load_source() {
  const std::uint8_t choice = input_.byte();
  fatctx_source source = {};
  fatctx_source_init(&source, sizeof source);
  if (choice < 100) {
    source.path = path();
  } else if (choice < 200) {
    const support::Bytes& bytes = files().memory[choice % 4];
    source.bytes = null() ? nullptr : bytes.data();
    source.bytes_size = choice < 180 ? bytes.size() : bytes.size() * input_.byte() / 256;
  } else {
    source.descriptor = files().descriptors[choice % std::size(files().descriptors)];
    source.offset = choice < 220 ? 0 : std::uint64_t{input_.byte()} * 4096;
    source.size = choice < 240 ? 0 : std::uint64_t{input_.byte()} * 4096;
  }
  if (choice % 16 == 15) source.path = path();  // in addition to the source already set
  return source;
}

fatctx_load_options Program::load_options(bool in_list) {
  const std::uint8_t choice = input_.byte();
  fatctx_load_options options = {};
  fatctx_load_options_init(&options, sizeof options);
  options.prefetch = choice >> 2 & 1U;
  options.user = &callee(choice);
  if ((choice & 8) != 0) options.notify = &heard;
  if ((choice & 16) != 0) options.progress = &watched;
  if ((choice & 64) == 0) return options;
  options.model = model_options();
  // A stopped load leaves a thread behind, which must not call the caller's function any more.
  if (in_list || options_.model.signal.id != 0 || options.progress != nullptr) options_.model.prepare = nullptr;
  return options;
}

void Program::load() {
  if (!affordable()) return;
  fatctx_session session = {kNotWritten};
  const fatctx_source from = load_source();
  Sized<fatctx_source> source(input_.byte(), from);
  const fatctx_load_options how = load_options(false);
  Sized<fatctx_load_options> options(input_.byte(), how);
  const fatctx_source* const given = out(*source.get());
  const fatctx_load_options* const said = out(*options.get());
  made(fatctx_load(given, said, out(session), &error_), kSession, session);
}

void Program::start_list() {
  if (!affordable()) return;
  constexpr std::size_t kMostItems = 3;
  fatctx_load_list list = {kNotWritten};
  const std::uint8_t choice = input_.byte();
  std::array<fatctx_source, kMostItems> sources = {};
  std::array<fatctx_load_options, kMostItems> options = {};
  std::array<fatctx_load_item, kMostItems> items = {};
  const std::size_t count = choice % (kMostItems + 1);
  for (std::size_t i = 0; i < count; ++i) {
    sources[i] = load_source();
    options[i] = load_options(true);
    items[i].source = out(sources[i]);
    items[i].options = out(options[i]);
    items[i].finished = (choice & 64) != 0 ? nullptr : &finished;
    items[i].user = &callee(choice);
  }
  const fatctx_load_item* const given = null() ? nullptr : items.data();
  made(fatctx_load_list_start(given, count, choice >> 2 & 3U, out(list), &error_), kLoadList, list);
}

void Program::use_loads(std::uint8_t which) {
  if (which % 16 < 9) return load();
  return which % 16 < 12 ? use_load_signals(which % 16) : use_load_lists(which % 16);
}

void Program::use_load_signals(std::uint8_t which) {
  // No timeout is short: a program that left a thread behind does not end until that thread has ended.
  static constexpr std::uint64_t kTimeouts[] = {0, 3'600'000, ~std::uint64_t{0}};
  if (which == 9) {
    fatctx_load_signal signal = {kNotWritten};
    const std::uint64_t timeout = kTimeouts[input_.byte() % std::size(kTimeouts)];
    return made(fatctx_load_signal_create(timeout, out(signal), &error_), kLoadSignal, signal);
  }
  const fatctx_load_signal of = {handle(kLoadSignal)};
  const std::uint8_t choice = input_.byte();
  if (which == 10) {
    if (choice % 2 == 0) return (void)checked(fatctx_load_signal_cancel(of, &error_));
    return (void)checked(fatctx_load_signal_reset(of, &error_));
  }
  if (choice % 2 == 0) {
    const std::uint64_t timeout = kTimeouts[choice / 2 % std::size(kTimeouts)];
    return (void)checked(fatctx_load_signal_set_timeout(of, timeout, &error_));
  }
  std::uint32_t cancelled = 2;
  std::uint32_t in_use = 2;
  std::uint32_t* const first = out(cancelled);
  if (!ok(fatctx_load_signal_state(of, first, out(in_use), &error_))) return;
  require(cancelled < 2 && in_use < 2, "a signal is cancelled or not, in use or not");
}

void Program::use_load_lists(std::uint8_t which) {
  if (which == 12) return start_list();
  const fatctx_load_list of = {handle(kLoadList)};
  if (which == 13) return (void)checked(fatctx_load_list_cancel(of, &error_));
  if (which == 14) {
    const std::uint8_t choice = input_.byte();
    const bool waited = choice % 2 == 0 && ok(fatctx_load_list_wait(of, &error_));
    std::uint64_t size = 0;
    std::uint64_t finished_count = 0;
    std::uint64_t* const first = out(size);
    if (!ok(fatctx_load_list_state(of, first, out(finished_count), &error_))) return;
    require(finished_count <= size && (!waited || finished_count == size), "a list that was waited for has finished");
    return;
  }
  fatctx_session session = {kNotWritten};
  made(fatctx_load_list_result(of, input_.byte() % 4, out(session), &error_), kSession, session);
}

}  // namespace fatctx::fuzz
