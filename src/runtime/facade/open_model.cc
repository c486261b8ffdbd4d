#include "runtime/facade/open_model.h"

#include <utility>

#include "runtime/facade/held_source.h"
#include "runtime/facade/plain_model.h"
#include "runtime/open/watched_call.h"

namespace fatctx {
Result<Model> open_model(const Source& source, const ModelOptions& options) {
  // Tries a container first: an intact copy of its header identifies it even if the first bytes are damaged. A second
  // open of the same container then reads nothing.
  auto container = Container::open(source, options.open);
  if (container.ok()) return Model::choose(container.value(), options);
  if (container.error().code != ErrorCode::kBadMagic) return std::move(container).error();
  FATCTX_ASSIGN(PlainFile plain, PlainFile::open(source, options.open));
  return PlainModel::open(std::move(plain), options);
}

ModelOptions for_thread(const ModelOptions& options) {
  ModelOptions own = options;
  own.signal.reset();
  if (own.consumer) own.consumer = [support = own.consumer()] { return support; };
  return own;
}

Result<Model> Model::open(const Source& source, const ModelOptions& options) {
  if (!options.signal) return open_model(source, options);
  FATCTX_ASSIGN(const HeldSource held, HeldSource::hold(source));
  const ModelOptions own = for_thread(options);
  const WatchedCall call{.name = source.name(),
                         .signal = options.signal->state().get(),
                         .may_outlive_the_call = held.may_outlive_the_call()};
  return watched<Model>(call, [held, own](std::atomic<std::uint64_t>&) { return open_model(held.source(), own); });
}

}  // namespace fatctx
