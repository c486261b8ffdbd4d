// Reads the descriptions of a container, and checks everything in it. The small loader can do neither.
#include <fmt/format.h>

#include "container/check/verify.h"
#include "container/read/read_description.h"
#include "fatctx/container.h"
#include "mapping/mapped_file.h"
#include "runtime/observe/observe.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/registry.h"

namespace fatctx {
namespace {

Result<VerifyReport> ended(observe::Span& span, const std::string& path, Result<VerifyReport> report) {
  if (report.ok()) span.succeeded(report.value().checked_bytes);
  if (!report.ok() && (report.error().code == ErrorCode::kInvalidArgument ||
                       report.error().code == ErrorCode::kNotFound)) {  // the error is about the request
    return in_context(std::move(report).error(), path);
  }
  return report;
}

}  // namespace

Result<ContainerDescription> Container::describe() const {
  FATCTX_TRY(impl_->mapped->check_not_lost());
  FATCTX_TRY(impl_->mapped->need_all());
  auto description = container::read_description(impl_->mapped->file(), impl_->mapped->toc());
  return description.ok() ? std::move(description) : in_context(std::move(description).error(), path());
}

Result<VerifyReport> Container::verify(const VerifyOptions& options) const {
  FATCTX_TRY(impl_->mapped->check_not_lost());
  observe::Span span(ProfileEventKind::kVerify, path());
  return ended(
      span, path(),
      container::verify_container(mapping::MappedFile(impl_->mapped->file(), impl_->mapped->region()), options,
                                  impl_->options.generation, trust_of(impl_->options), impl_->options.max_made_bytes));
}

Result<VerifyReport> Container::verify_record(std::uint32_t record_id, const VerifyOptions& options) const {
  FATCTX_TRY(impl_->mapped->check_not_lost());
  FATCTX_TRY(impl_->mapped->need_all());
  const RecordInfo* record = impl_->mapped->toc().find(record_id);
  if (record == nullptr) return this->record(record_id).error();
  observe::Span span(ProfileEventKind::kVerify, path());
  span.about(*record);
  return ended(span, path(),
               container::verify_record(mapping::MappedFile(impl_->mapped->file(), impl_->mapped->region()),
                                        impl_->mapped->header(), impl_->mapped->toc(), *record, options,
                                        impl_->options.max_made_bytes));
}

Result<VerifyReport> verify_file(const std::string& path, const VerifyOptions& options, const OpenOptions& open) {
  observe::Span span(ProfileEventKind::kVerify, path);
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file.value()->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  return ended(
      span, path,
      container::verify_container(*file.value(), options, open.generation, trust_of(open), open.max_made_bytes));
}

}  // namespace fatctx
