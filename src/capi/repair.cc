// Repair through C.
#include "fatctx/repair.h"

#include <utility>

#include "capi/objects.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_repair(const char* path, const fatctx_repair_options* options, fatctx_repair_report* report,
                      fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(not_null(report, "report"));
    FATCTX_TRY(check_struct_size(report->struct_size));  // before anything is written, not after
    fatctx_repair_options given = {};
    if (options != nullptr) FATCTX_TRY(read_sized(options, given));
    fatctx::RepairOptions wanted;
    wanted.dry_run = given.dry_run != 0;
    wanted.threads = given.threads;
    wanted.progress = progress_in(given.progress, given.user);
    if (given.from_count != 0) FATCTX_TRY(not_null(given.from, "from"));
    for (std::uint64_t i = 0; i < given.from_count; ++i) {
      FATCTX_TRY(not_null(given.from[i], "a path of from"));
      wanted.from.emplace_back(given.from[i]);
    }
    FATCTX_ASSIGN(fatctx::OpenOptions open, open_options_in(given.open));
    wanted.trusted_keys = std::move(open.trusted_keys);
    wanted.minimum_generation = open.minimum_generation;
    FATCTX_ASSIGN(const fatctx::RepairReport done, fatctx::repair(path, wanted));
    if (given.restored != nullptr) {
      for (const fatctx::RestoredRange& restored : done.restored) {
        given.restored(given.user, text_out(restored.what), restored.range.offset, restored.range.size);
      }
    }
    tell_findings(done.remaining, given.finding, given.user);
    fatctx_repair_report filled = {};
    filled.generation = done.generation;
    filled.restored_count = done.restored.size();
    filled.finding_count = done.remaining.size();
    filled.checked_bytes = done.checked_bytes;
    filled.lacking_bytes = done.lacking_bytes;
    return write_sized(filled, report, "report");
  });
}

}  // extern "C"
