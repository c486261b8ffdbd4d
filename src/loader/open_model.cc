// Models are containers here: DLCs and raw binaries need the whole library (src/runtime/facade/open_model.cc).
#include "fatctx/model.h"
#include "loader/refused_options.h"
#include "runtime/facade/compile_source.h"

namespace fatctx {

Result<Model> Model::open(const Source& source, const ModelOptions& options) {
  FATCTX_ASSIGN(const Container container, Container::open(source, options.open));
  return choose(container, options);
}

Result<RecordView> compile_source(const Container& /*container*/, const RecordInfo& /*source*/,
                                  const Device& /*device*/, const PrepareHook& /*prepare*/) {
  return not_in_loader("prepare hooks");
}

}  // namespace fatctx
