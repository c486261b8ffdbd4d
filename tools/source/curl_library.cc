#include "tools/source/curl_library.h"

#include <array>

#include <fmt/format.h>

#include "tools/system/shared_library.h"

namespace fatctx::tools {
namespace {

constexpr unsigned kOldest = 0x075500;  // 7.85.0: it takes protocols as words

// Sets a function from the library. Returns false if the library does not have it.
template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(function_of(library, name));
  return function != nullptr;
}

Result<CurlLibrary> load_once() {
#if defined(_WIN32)
  // The names that curl.se, MSYS2 and a build by CMake give it.
  constexpr std::array kNames = {"libcurl-x64.dll", "libcurl-4.dll", "libcurl.dll"};
  constexpr const char* kWhere = "put libcurl-x64.dll of curl.se beside fatctx.exe";
#elif defined(__APPLE__)
  constexpr std::array kNames = {"libcurl.4.dylib"};
  constexpr const char* kWhere = "install it";
#else
  constexpr std::array kNames = {"libcurl.so.4", "libcurl-gnutls.so.4"};
  constexpr const char* kWhere = "install it (Debian: libcurl4)";
#endif
  void* const library = load_library(kNames);
  if (library == nullptr && !loads_libraries()) {
    return Error{ErrorCode::kBackendLibraryMissing,
                 "HTTP needs libcurl, and this program is static: it loads no libraries; take another build of fatctx"};
  }
  if (library == nullptr) {
    return Error{ErrorCode::kBackendLibraryMissing,
                 fmt::format("HTTP needs libcurl, which is not on this machine; {}", kWhere)};
  }
  CurlLibrary curl;
  decltype(&curl_version_info) version_info = nullptr;
  const bool complete =
      find(library, "curl_global_init", curl.global_init) && find(library, "curl_easy_init", curl.easy_init) &&
      find(library, "curl_easy_setopt", curl.easy_setopt) && find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
      find(library, "curl_easy_perform", curl.easy_perform) &&
      find(library, "curl_easy_strerror", curl.easy_strerror) &&
      find(library, "curl_easy_cleanup", curl.easy_cleanup) && find(library, "curl_multi_init", curl.multi_init) &&
      find(library, "curl_multi_add_handle", curl.multi_add_handle) &&
      find(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
      find(library, "curl_multi_perform", curl.multi_perform) && find(library, "curl_multi_poll", curl.multi_poll) &&
      find(library, "curl_multi_info_read", curl.multi_info_read) &&
      find(library, "curl_multi_cleanup", curl.multi_cleanup) &&
      find(library, "curl_slist_append", curl.slist_append) &&
      find(library, "curl_slist_free_all", curl.slist_free_all) && find(library, "curl_version_info", version_info);
  const curl_version_info_data* const version = complete ? version_info(CURLVERSION_NOW) : nullptr;
  if (version == nullptr || version->version_num < kOldest) {
    return Error{ErrorCode::kBackendLibraryMissing,
                 fmt::format("HTTP needs libcurl 7.85 or newer; this machine has {}",
                             version == nullptr ? "an older one" : version->version)};
  }
  curl.global_init(CURL_GLOBAL_DEFAULT);
  return curl;
}

}  // namespace

Result<const CurlLibrary*> CurlLibrary::load() {
  static const Result<CurlLibrary> loaded = load_once();
  if (!loaded.ok()) return loaded.error();
  return &loaded.value();
}

}  // namespace fatctx::tools
