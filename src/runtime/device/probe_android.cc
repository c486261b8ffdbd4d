// Reads Android's system properties. Other systems have none.
#include "runtime/device/soc_facts.h"

#if defined(__ANDROID__)

#include <sys/system_properties.h>

namespace fatctx::runtime {
namespace {

CapturedText read_property(const char* name) {
  char value[PROP_VALUE_MAX] = {};
  const int size = __system_property_get(name, value);
  if (size <= 0) return {};
  return {ReadState::kRead, std::string(value, static_cast<std::size_t>(size))};
}

}  // namespace

void read_android_properties(SocFacts& facts) {
  facts.manufacturer = read_property("ro.soc.manufacturer");
  facts.model = read_property("ro.soc.model");
}

}  // namespace fatctx::runtime

#else

namespace fatctx::runtime {

void read_android_properties(SocFacts& /*facts*/) {}

}  // namespace fatctx::runtime

#endif
