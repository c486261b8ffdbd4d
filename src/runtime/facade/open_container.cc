#include "runtime/facade/open_container.h"

#include <utility>

#include "runtime/facade/trace_lines.h"
#include "runtime/observe/observe.h"
#include "runtime/open/container_impl.h"

namespace fatctx {

Result<Container> open_container(Registry& registry, const Source& source, const OpenOptions& options) {
  auto opened = observe::observed(
      ProfileEventKind::kOpen, source.name(), nullptr,
      [&]() -> Result<Container> {
        FATCTX_ASSIGN(Registry::Opened found, registry.open(source, options));
        if (options.strict) FATCTX_TRY(found.container->need_all());
        return Container(
            std::make_shared<const Container::Impl>(Container::Impl{.mapped = std::move(found.container),
                                                                    .registry = &registry,
                                                                    .source = source,
                                                                    .options = options,
                                                                    .already_live = found.already_live,
                                                                    .copy_reason = std::move(found.copy_reason)}));
      },
      [](const Container& container) { return mapped_of(container)->header().committed_end; });
  if (observe::tracing()) trace::record_open(source, options, opened);
  return opened;
}

Result<Container> Container::open(const Source& source, const OpenOptions& options) {
  return open_container(Registry::process(), source, options);
}

Result<Container> Container::reopen() const {
  const Source& source = impl_->source;
  if (source.kind() != Source::Kind::kDescriptor) return open_container(*impl_->registry, source, impl_->options);
  // The caller's descriptor may be closed by now, so this uses the descriptor of the mapping.
  const Source own = Source::of_descriptor(impl_->mapped->file().descriptor(), source.window()).named(source.name());
  FATCTX_ASSIGN(const Container opened, open_container(*impl_->registry, own, impl_->options));
  return opened;
}

}  // namespace fatctx
