// Repair through C.
#include "fatctx/repair.h"

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
    FATCTX_ASSIGN(const fatctx::RepairReport done,
                  fatctx::repair(path, {.dry_run = given.dry_run != 0,
                                        .threads = given.threads,
                                        .progress = progress_in(given.progress, given.user)}));
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
    return write_sized(filled, report, "report");
  });
}

}  // extern "C"
