// Packer: collects records and publishes them.
#include "fatctx/packer.h"

#include "container/write/incoming_records.h"
#include "container/write/publish_records.h"
#include "container/write/settle_sharing.h"

namespace fatctx {

using namespace container;

struct Packer::Impl {
  PackOptions options;
  IncomingRecords records;
};

Packer::Packer(PackOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->records.drop_paths(impl_->options.options, "container");
  if (impl_->options.one_per_soc) impl_->records.allow_one_per_soc();
}
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

Status Packer::add(PackRecord record) { return impl_->records.add(std::move(record)); }

Result<PackReport> Packer::publish(const std::string& path) {
  FATCTX_TRY(check_compatible(impl_->records.records()));
  return publish_records(impl_->records, impl_->options, path);
}

}  // namespace fatctx
