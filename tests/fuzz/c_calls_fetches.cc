// Plans of fetches whose source is a container in memory, whole or with a wrong byte.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

void Program::begin_fetch() {
  const std::uint8_t choice = input_.byte();
  const char* const names[] = {word(), word()};
  const fatctx_device devices[] = {{handle(kDevice)}};
  const char* const seeds[] = {path()};
  fatctx_fetch_options options = {};
  options.struct_size = sizeof options;
  options.all = choice & 1U;
  options.metadata = (choice >> 1U) & 1U;
  options.more = (choice >> 2U) & 1U;
  options.overwrite = 1;
  options.records = null() ? nullptr : names;
  options.record_count = (choice >> 3U) & 1U;
  options.devices = null() ? nullptr : devices;
  options.device_count = (choice >> 4U) & 1U;
  options.seeds = null() ? nullptr : seeds;
  options.seed_count = (choice >> 5U) & 1U;
  options.gap_bytes = choice;
  options.open = (choice & 64U) != 0 ? open_options() : nullptr;
  Sized<fatctx_fetch_options> sized((choice & 128U) != 0 ? input_.byte() : 255, options);
  const auto& source = files().memory[input_.byte() % files().memory.size()];
  fatctx_fetch_plan plan = {kNotWritten};
  made(fatctx_fetch_plan_begin(out_path(), source.size(), out(*sized.get()), out(plan), &error_), kFetchPlan, plan);
}

void Program::use_fetch_plans(std::uint8_t which) {
  if (which % 8 == 0 && which < 240) return begin_fetch();
  const fatctx_fetch_plan plan = {handle(kFetchPlan)};
  if (which >= 240) {
    (void)checked(fatctx_fetch_plan_use(plan, null() ? nullptr : path(), &error_));
    return;
  }
  switch (which % 8) {
    case 1: {
      std::uint64_t count = 0;
      fatctx_file_range ranges[3] = {};
      (void)checked(fatctx_fetch_plan_wanted(plan, null() ? nullptr : ranges, 3, out(count), &error_));
      return;
    }
    case 2: {
      Sized<fatctx_fetch_report> report(input_.byte());
      (void)checked(fatctx_fetch_plan_report(plan, out(*report.get()), &error_));
      (void)fatctx_fetch_stage_name(input_.byte());
      return;
    }
    case 3:
      (void)checked(fatctx_fetch_plan_publish(plan, &error_));
      return;
    case 4:
      (void)checked(fatctx_fetch_plan_discard(plan, &error_));
      return;
    default: {  // gives the first range that is wanted, of the source that a byte names
      if (!affordable()) return;
      auto source = files().memory[input_.byte() % files().memory.size()];
      const std::uint8_t choice = input_.byte();
      std::uint64_t count = 0;
      fatctx_file_range range = {};
      if (fatctx_fetch_plan_wanted(plan, &range, 1, &count, nullptr) != FATCTX_OK || count == 0) return;
      if (range.offset >= source.size()) return;
      const std::uint64_t size = std::min<std::uint64_t>(range.size, source.size() - range.offset);
      if (choice % 4 == 0) source[range.offset + size / 2] ^= std::byte{1};
      const void* const bytes = null() ? nullptr : source.data() + range.offset;
      (void)checked(fatctx_fetch_plan_take(plan, range.offset, bytes, choice % 8 == 1 ? size / 2 : size, &error_));
      return;
    }
  }
}

}  // namespace fatctx::fuzz
