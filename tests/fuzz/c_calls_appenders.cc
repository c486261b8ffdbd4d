// Appenders on a file that belongs to the program.
#include <filesystem>

#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

// The program's own file is a copy of a container, unless the program has written it itself. It grows, and is removed
// with the program. Files that other programs use are not opened for appending.
void Program::open_appender() {
  const std::uint8_t choice = input_.byte();
  std::error_code missing;
  if (!std::filesystem::exists(files().out, missing)) {
    support::write_file(files().out, files().memory[choice / 16 % files().memory.size()]);
  }
  fatctx_append_options options = {};
  options.struct_size = sizeof options;
  options.replace = choice & 1U;
  options.threads = 1;
  options.sharing = choice == 255 ? 3 : choice % 3U;
  options.progress = null() ? nullptr : &progress;
  options.progress_user = work(choice);
  Sized<fatctx_append_options> sized((choice & 2) != 0 ? input_.byte() : 255, options);
  const char* const file = (choice & 4) != 0 && choice % 3 == 0 ? files().safetensors.c_str() : out_path();
  fatctx_appender appender = {kNotWritten};
  made(fatctx_appender_open(file, out(*sized.get()), out(appender), &error_), kAppender, appender);
}

void Program::use_appenders(std::uint8_t which) {
  switch (which % 8) {
    case 0:
      return open_appender();
    case 1: {
      if (!affordable()) return;
      const fatctx_appender appender = {handle(kAppender)};
      Sized<fatctx_append_report> report(input_.byte());
      (void)checked(fatctx_appender_commit(appender, out(*report.get()), &error_));
      return;
    }
    case 2:
    case 3: {
      const fatctx_appender appender = {handle(kAppender)};
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_appender_report_json(appender, buffer, capacity, size, &error_);
      });
    }
    case 5: {
      const fatctx_appender appender = {handle(kAppender)};
      const fatctx_evidence_note said = {.struct_size = sizeof(fatctx_evidence_note),
                                         .reserved = 0,
                                         .device = null() ? nullptr : word(),
                                         .tool = null() ? nullptr : word(),
                                         .metric = word(),
                                         .value = word(),
                                         .date = (input_.byte() & 1) != 0 ? "2026-11-22" : word()};
      Sized<fatctx_evidence_note> note(input_.byte(), said);
      (void)checked(fatctx_appender_note(appender, null() ? nullptr : word(), out(*note.get()), &error_));
      return;
    }
    case 4: {
      const fatctx_appender appender = {handle(kAppender)};
      const char* const file = path();
      (void)checked(fatctx_appender_add_dlc(appender, file, nullptr, &error_));
      return;
    }
    case 7:
      return use_fetch_plans(input_.byte());
    default: {
      const std::uint8_t size = input_.byte();
      const fatctx_pack_record whole = record_of_words();
      Sized<fatctx_pack_record> record(size, whole);
      const fatctx_appender appender = {handle(kAppender)};
      (void)checked(fatctx_appender_add(appender, out(*record.get()), &error_));
      return;
    }
  }
}

}  // namespace fatctx::fuzz
