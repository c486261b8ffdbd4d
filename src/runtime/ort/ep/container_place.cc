#include "runtime/ort/ep/container_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "mapping/file_below.h"
#include "mapping/same_file.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/ort/ep/embedded.h"

namespace fatctx::ort {
namespace {

struct Folder {
  std::string path;
  std::string_view whose;
};

std::vector<Folder> folders_to_look_in(const PlaceOfModel& place, const Options& options) {
  std::vector<Folder> folders;
  const auto add = [&](std::string path, std::string_view whose) {
    if (std::none_of(folders.begin(), folders.end(), [&](const Folder& f) { return f.path == path; })) {
      folders.push_back({std::move(path), whose});
    }
  };
  // Comes before the model's own path. That path is not the model's if an application has set a folder for external
  // data (session.model_external_initializers_file_folder_path).
  if (const std::string& context = options.session.context_file_path; !context.empty()) {
    add(mapping::folders_of(context).written, "of ep.context_file_path");
  }
  if (!place.model_path.empty()) {
    auto folders_of_model = mapping::folders_of(place.model_path);
    add(std::move(folders_of_model.written), "of the model");
    add(std::move(folders_of_model.real), "of the file that the model is a link to");
  }
  return folders;
}

Result<mapping::OpenedBelow> find_file(const ContextNode& node, const PlaceOfModel& place, const Options& options) {
  if (node.cache.empty()) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("EPContext node \"{}\": ep_cache_context is empty, so it names no container", node.name)};
  }
  const std::vector<Folder> folders = folders_to_look_in(place, options);
  std::string looked_at;
  for (const Folder& folder : folders) {
    auto found = mapping::open_file_below(folder.path, node.cache);
    if (found.ok()) return found;
    looked_at += fmt::format("{}in the folder {} ({}): {}", looked_at.empty() ? "" : "; ", folder.whose,
                             folder.path.empty() ? "." : folder.path, found.error().message);
    if (found.error().code == ErrorCode::kMalformed) {
      return Error{ErrorCode::kMalformed, fmt::format("EPContext node \"{}\": {}", node.name, looked_at)};
    }
  }
  if (folders.empty()) looked_at = "the model comes from memory, so it has no folder";
  return Error{ErrorCode::kNotFound,
               fmt::format("EPContext node \"{}\": container \"{}\" was not found: {}. Put it beside the model, name "
                           "the model's file in ep.context_file_path, or the container in the provider option "
                           "\"container\"",
                           node.name, node.cache, looked_at)};
}

// Opens the file that was found. Refuses any other file that has its path by now: a link may have replaced a folder on
// the way. If a rename has replaced the container meanwhile, searches again.
Result<Container> open_found(const ContextNode& node, const PlaceOfModel& place, const Options& options) {
  constexpr int kMostTries = 3;
  for (int tries = 1;; ++tries) {
    FATCTX_ASSIGN(const mapping::OpenedBelow found, find_file(node, place, options));
    auto opened = Container::open(found.path, options.provider.open);
    if (!opened.ok()) return opened;
    FATCTX_ASSIGN(const mapping::FileIdentity identity, mapped_of(opened.value())->file().identity());
    if (mapping::is_same_file(identity, found.identity)) return opened;
    if (tries == kMostTries) {
      return Error{ErrorCode::kChanged,
                   fmt::format("EPContext node \"{}\": {}: another file has this name each time that it is opened; "
                               "create the session again when nobody replaces it",
                               node.name, found.path)};
    }
  }
}

}  // namespace

Result<Container> open_container(const ContextNode& node, const PlaceOfModel& place, const Options& options) {
  if (node.embedded) return open_embedded(node, options.provider.open);
  if (!options.provider.container.empty()) return Container::open(options.provider.container, options.provider.open);
  return open_found(node, place, options);
}

}  // namespace fatctx::ort
