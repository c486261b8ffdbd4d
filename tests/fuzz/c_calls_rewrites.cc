// Rewritten and merged containers; the output is always the program's own file.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

fatctx_rewrite_options Program::rewrite_options() {
  static const std::uint32_t kIds[] = {1, 2, 3, 4, 99};
  fatctx_rewrite_options options = {};
  fatctx_rewrite_options_init(&options, sizeof options);
  const std::uint8_t choice = input_.byte();
  options.overwrite = choice / 16 == 1 ? 0 : 1;
  options.threads = 1;
  options.progress = null() ? nullptr : &progress;
  options.progress_user = work(choice);
  if ((choice & 1) == 0) return options;
  const std::uint8_t more = input_.byte();
  options.seal = more & 3U;
  options.sharing = more >> 2 & 7U;
  options.keep = (more & 32) != 0 ? kIds : nullptr;
  options.keep_count = more >> 6;
  if ((more & 32) != 0 && more >> 6 == 3) options.keep_count = std::size(kIds);
  if ((choice & 2) != 0) options.generation = input_.byte();
  if ((choice & 4) != 0) options.model_name = word();
  if ((choice & 8) != 0) options.max_pieces = input_.byte();
  return options;
}

void Program::rewrite_containers(std::uint8_t which) {
  if (!affordable()) return;
  fatctx_report report = {kNotWritten};
  const char* sources[3] = {};
  const std::uint64_t count = which == 0 ? 1 : input_.byte() % 4;
  for (std::uint64_t i = 0; i < count; ++i) sources[i] = path();
  const std::uint8_t size = input_.byte();
  const fatctx_rewrite_options whole = rewrite_options();
  Sized<fatctx_rewrite_options> options(size, whole);
  const fatctx_rewrite_options* const given = out(*options.get());
  const char* const target = out_path();
  const bool wanted = !null();
  fatctx_report* const into = wanted ? &report : nullptr;
  const std::int32_t code = which == 0 ? fatctx_rewrite_container(sources[0], target, given, into, &error_)
                                       : fatctx_merge_containers(sources, count, target, given, into, &error_);
  if (wanted) return made(code, kReport, report);
  (void)checked(code);
}

void Program::use_rewrites(std::uint8_t which) {
  std::uint64_t number = 0;
  switch (which % 9) {
    case 0:
    case 1:
      return rewrite_containers(which % 9);
    case 2:
    case 3:
    case 4:
    case 5:
      return read_report();
    case 6: {
      const fatctx_container container = {handle(kContainer)};
      const std::uint8_t choice = input_.byte();
      fatctx_target_filter filters[2] = {};
      filters[0].arch = word();
      if ((choice & 1) != 0) filters[0].backend = "cpu";
      if ((choice & 2) != 0) filters[1].group = word();
      if ((choice & 4) != 0) filters[1].features = "i8mm,,dotprod";
      filters[1].reserved = choice >> 7;
      std::vector<std::uint32_t> ids(choice >> 3 & 3U);
      const fatctx_target_filter* const given = null() ? nullptr : filters;
      return ids_came(fatctx_container_records_left(container, given, choice >> 5 & 3U ? 1 : 2, ids.data(), ids.size(),
                                                    out(number), &error_),
                      ids, number);
    }
    default: {
      const fatctx_container container = {handle(kContainer)};
      const std::uint32_t gone[] = {input_.byte() % 9U, 2};
      std::vector<std::uint32_t> ids(input_.byte() % 9);
      const std::uint32_t* const given = null() ? nullptr : gone;
      return ids_came(fatctx_container_records_without(container, given, which / 9 % 3, ids.data(), ids.size(),
                                                       out(number), &error_),
                      ids, number);
    }
  }
}

void Program::ids_came(std::int32_t code, const std::vector<std::uint32_t>& ids, std::uint64_t count) {
  if (!ok(code)) return;
  const auto given = static_cast<std::size_t>(std::min<std::uint64_t>(count, ids.size()));
  for (std::size_t i = 0; i < given; ++i) {
    require(ids[i] != 0 && (i == 0 || ids[i - 1] < ids[i]), "ids of records come in order");
  }
}

}  // namespace fatctx::fuzz
