// Checks through C.
#include "capi/objects.h"

namespace fatctx::capi {
namespace {

// `check` takes VerifyOptions and the options of the caller, and returns a Result<VerifyReport>.
template <typename Check>
Status run_check(const fatctx_verify_options* options, fatctx_verify_report* out, const Check& check) {
  FATCTX_TRY(not_null(out, "report"));
  FATCTX_TRY(check_struct_size(out->struct_size));  // before the whole file is read, not after
  fatctx_verify_options given = {};
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  VerifyOptions how{
      .strict = given.strict != 0, .threads = given.threads, .progress = progress_in(given.progress, given.user)};
  if (given.range_size != 0) {
    how.range = ByteRange{given.range_offset, given.range_size};
  } else if (given.range_offset != 0) {
    return Error{ErrorCode::kInvalidArgument, "range_offset is set, but range_size is 0; 0 for both checks everything"};
  }
  FATCTX_ASSIGN(const VerifyReport report, check(how, given));
  tell_findings(report.findings, given.finding, given.user);
  fatctx_verify_report filled = {};
  filled.checked_bytes = report.checked_bytes;
  filled.finding_count = report.findings.size();
  filled.signed_file = flag(!report.key_id.empty());
  filled.signature_verified = flag(report.signature_verified);
  filled.absent_bytes = report.absent_bytes;
  return write_sized(filled, out, "report");
}

}  // namespace

void tell_findings(const std::vector<VerifyFinding>& findings, fatctx_finding callback, void* user) {
  if (callback == nullptr) return;
  for (const VerifyFinding& finding : findings) {
    fatctx_error told = {};
    told.struct_size = sizeof told;
    write_error(&told, finding.error);
    callback(user, &told);
  }
}

}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_container_verify(fatctx_container container, const fatctx_verify_options* options,
                                fatctx_verify_report* report, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) {
    return run_check(options, report, [&](const fatctx::VerifyOptions& how, const fatctx_verify_options& given) {
      return given.record_id == 0 ? object.container.verify(how) : object.container.verify_record(given.record_id, how);
    });
  });
}

int32_t fatctx_verify_file(const char* path, const fatctx_verify_options* options, fatctx_verify_report* report,
                           fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    return run_check(options, report,
                     [&](const fatctx::VerifyOptions& how,
                         const fatctx_verify_options& given) -> fatctx::Result<fatctx::VerifyReport> {
                       if (given.record_id != 0) {
                         return fatctx::Error{fatctx::ErrorCode::kInvalidArgument,
                                              "record_id is set, which is for a container that is open"};
                       }
                       FATCTX_ASSIGN(const fatctx::OpenOptions open, open_options_in(given.open));
                       return fatctx::verify_file(path, how, open);
                     });
  });
}

}  // extern "C"
