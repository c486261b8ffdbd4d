#include "runtime/ort/graph/api.h"

#include <atomic>
#include <charconv>
#include <string>

namespace fatctx::ort {
namespace {

std::atomic<const OrtApiBase*> g_base = nullptr;

}  // namespace

bool use_runtime(const OrtApiBase* base) noexcept {
  // A program may register the library under several names while sessions of the first registration run.
  if (g_base.load() == base) return true;
  const OrtApi* const api = base->GetApi(ORT_API_VERSION);
  if (api == nullptr) return false;
  Ort::InitApi(api);
  g_base.store(base);
  return true;
}

RuntimeVersion runtime_version() {
  RuntimeVersion version;
  const std::string_view text = g_base.load()->GetVersionString();
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec == std::errc() && major.ptr != end) std::from_chars(major.ptr + 1, end, version.minor);
  return version;
}

}  // namespace fatctx::ort
