#include "tools/source/oci_manifest.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/json.h"
#include "fatctx/content_hash.h"

namespace fatctx::tools {
namespace {

constexpr std::size_t kMostDepth = 16;
constexpr std::string_view kSha256Prefix = "sha256:";

Error no_manifest(std::string why) {
  return Error{ErrorCode::kMalformed, fmt::format("the manifest of the registry is malformed: {}", why)};
}

Result<Json> document_of(std::string_view json) {
  if (json.size() > kMostManifestBytes) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("the manifest has {} bytes; at most {} are allowed", json.size(), kMostManifestBytes)};
  }
  JsonFault fault;
  std::optional<Json> document = read_json(json, kMostDepth, fault);
  if (!document) return no_manifest(fmt::format("it is not JSON, byte {}", fault.position));
  if (document->members() == nullptr) return no_manifest("it is not an object");
  const Json* const version = document->find("schemaVersion");
  if (version == nullptr || version->number() == nullptr || *version->number() != 2) {
    return no_manifest("schemaVersion is not 2");
  }
  return std::move(*document);
}

Result<std::string> text_member(const Json& object, std::string_view key) {
  const Json* const value = object.find(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (value->text() == nullptr) return no_manifest(fmt::format("{} is not a text", key));
  return *value->text();
}

Result<OciAnnotations> annotations_of(const Json& object) {
  OciAnnotations annotations;
  const Json* const value = object.find("annotations");
  if (value == nullptr || value->is_null()) return annotations;
  if (value->members() == nullptr) return no_manifest("annotations are not an object");
  for (const Json::Member& member : *value->members()) {
    if (member.value.text() == nullptr) return no_manifest("an annotation is not a text");
    annotations.emplace_back(member.key, *member.value.text());
  }
  return annotations;
}

Result<OciDescriptor> descriptor_of(const Json& object) {
  if (object.members() == nullptr) return no_manifest("a descriptor is not an object");
  OciDescriptor descriptor;
  FATCTX_ASSIGN(descriptor.media_type, text_member(object, "mediaType"));
  FATCTX_ASSIGN(descriptor.artifact_type, text_member(object, "artifactType"));
  FATCTX_ASSIGN(descriptor.annotations, annotations_of(object));
  FATCTX_ASSIGN(const std::string digest, text_member(object, "digest"));
  if (!digest.starts_with(kSha256Prefix) || !is_sha256_text(std::string_view(digest).substr(kSha256Prefix.size()))) {
    return Error{ErrorCode::kUnsupported, fmt::format("the digest \"{}\" is not one of sha256", digest)};
  }
  descriptor.sha256 = digest.substr(kSha256Prefix.size());
  const Json* const size = object.find("size");
  if (size == nullptr || size->number() == nullptr) return no_manifest("a descriptor has no size");
  descriptor.size = *size->number();
  return descriptor;
}

Result<std::vector<OciDescriptor>> descriptors_of(const Json& document, std::string_view key, bool skip_others) {
  const Json* const list = document.find(key);
  if (list == nullptr || list->items() == nullptr) return no_manifest(fmt::format("it has no list of {}", key));
  if (list->items()->size() > kMostLayers) {
    return Error{ErrorCode::kLimitExceeded, fmt::format("the manifest lists {} {}; at most {} are allowed",
                                                        list->items()->size(), key, kMostLayers)};
  }
  std::vector<OciDescriptor> descriptors;
  for (const Json& item : *list->items()) {
    auto descriptor = descriptor_of(item);
    if (!descriptor.ok() && skip_others && descriptor.error().code == ErrorCode::kUnsupported) continue;
    if (!descriptor.ok()) return std::move(descriptor).error();
    descriptors.push_back(std::move(descriptor).value());
  }
  return descriptors;
}

std::string title_of(const OciDescriptor& layer) {
  return std::string(annotation(layer.annotations, kTitleAnnotation));
}

Json json_of(const OciAnnotations& annotations) {
  Json json = Json::object();
  for (const auto& [key, value] : annotations) json.add(key, value);
  return json;
}

Json json_of(const OciDescriptor& descriptor) {
  Json json{{"mediaType", descriptor.media_type},
            {"digest", fmt::format("{}{}", kSha256Prefix, descriptor.sha256)},
            {"size", descriptor.size}};
  if (!descriptor.artifact_type.empty()) json.add("artifactType", descriptor.artifact_type);
  if (!descriptor.annotations.empty()) json.add("annotations", json_of(descriptor.annotations));
  return json;
}

// The sizes come from a server: their sum may be no number.
Status check_sum(const std::vector<OciDescriptor>& blobs) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
  std::uint64_t sum = 0;
  for (const OciDescriptor& blob : blobs) {
    if (blob.size > kMost - sum) return no_manifest("its blobs have more bytes than a file can have");
    sum += blob.size;
  }
  return Done{};
}

}  // namespace

std::string_view annotation(const OciAnnotations& annotations, std::string_view key) {
  const auto found =
      std::find_if(annotations.begin(), annotations.end(), [&](const auto& one) { return one.first == key; });
  return found == annotations.end() ? std::string_view() : std::string_view(found->second);
}

Result<OciManifest> parse_oci_manifest(std::string_view json) {
  FATCTX_ASSIGN(const Json document, document_of(json));
  FATCTX_ASSIGN(const std::string media_type, text_member(document, "mediaType"));
  if (media_type == kIndexMediaType || document.find("manifests") != nullptr) {
    return Error{ErrorCode::kUnsupported,
                 "the reference names an index of several manifests; name one of them by its digest"};
  }
  if (!media_type.empty() && media_type != kManifestMediaType) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the manifest is of the kind {}, which is not known", media_type)};
  }
  OciManifest manifest;
  FATCTX_ASSIGN(manifest.artifact_type, text_member(document, "artifactType"));
  FATCTX_ASSIGN(manifest.annotations, annotations_of(document));
  FATCTX_ASSIGN(manifest.layers, descriptors_of(document, "layers", false));
  const Json* const config = document.find("config");
  if (config == nullptr) return no_manifest("it has no config");
  FATCTX_ASSIGN(manifest.config, descriptor_of(*config));
  if (manifest.artifact_type.empty()) manifest.artifact_type = manifest.config.media_type;
  const Json* const subject = document.find("subject");
  if (subject != nullptr && !subject->is_null()) {
    FATCTX_ASSIGN(OciDescriptor descriptor, descriptor_of(*subject));
    manifest.subject.push_back(std::move(descriptor));
  }
  return manifest;
}

Result<std::vector<OciDescriptor>> parse_oci_index(std::string_view json) {
  FATCTX_ASSIGN(const Json document, document_of(json));
  return descriptors_of(document, "manifests", true);
}

Result<std::vector<OciDescriptor>> container_blobs(const OciManifest& manifest) {
  if (is_beside_container(manifest)) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the artifact is {}, not a container; name the container, and the old file with --from",
                             manifest.artifact_type == kUpdateMediaType ? "an update" : "a block index")};
  }
  std::vector<OciDescriptor> blobs;
  if (manifest.artifact_type == kContainerMediaType) {
    for (const OciDescriptor& layer : manifest.layers) {
      if (layer.media_type != kPartMediaType && layer.media_type != kContainerMediaType) {
        return no_manifest(fmt::format("a layer of a container is of the kind {}", layer.media_type));
      }
      blobs.push_back(layer);
    }
  } else {
    std::copy_if(manifest.layers.begin(), manifest.layers.end(), std::back_inserter(blobs),
                 [](const OciDescriptor& layer) { return title_of(layer).ends_with(".fatctx"); });
    if (blobs.empty()) blobs = manifest.layers;
    if (blobs.size() > 1) {
      return no_manifest(fmt::format("{} layers may be the container; one must be titled NAME.fatctx", blobs.size()));
    }
  }
  if (blobs.empty()) return no_manifest("it has no layer");
  FATCTX_TRY(check_sum(blobs));
  return blobs;
}

bool is_beside_container(const OciManifest& manifest) noexcept {
  return manifest.artifact_type == kUpdateMediaType || manifest.artifact_type == kBlockIndexMediaType;
}

Result<OciDescriptor> blob_beside_container(const OciManifest& manifest) {
  if (!is_beside_container(manifest) || manifest.layers.size() != 1) {
    return no_manifest("it is neither an update nor a block index");
  }
  return manifest.layers.front();
}

std::string oci_manifest_json(const OciManifest& manifest) {
  Json layers = Json::array();
  for (const OciDescriptor& layer : manifest.layers) layers.push_back(json_of(layer));
  Json json{{"schemaVersion", 2},
            {"mediaType", kManifestMediaType},
            {"artifactType", manifest.artifact_type},
            {"config", json_of(manifest.config)},
            {"layers", std::move(layers)}};
  if (!manifest.subject.empty()) json.add("subject", json_of(manifest.subject.front()));
  if (!manifest.annotations.empty()) json.add("annotations", json_of(manifest.annotations));
  return json_line(json);
}

std::string oci_index_json(std::span<const OciDescriptor> manifests) {
  Json list = Json::array();
  for (const OciDescriptor& one : manifests) list.push_back(json_of(one));
  return json_line({{"schemaVersion", 2}, {"mediaType", kIndexMediaType}, {"manifests", std::move(list)}});
}

std::string registry_error_text(std::string_view body) {
  constexpr std::size_t kMostText = 400;
  JsonFault fault;
  const std::optional<Json> document = read_json(body, kMostDepth, fault);
  const Json* const errors = document ? document->find("errors") : nullptr;
  if (errors == nullptr || errors->items() == nullptr || errors->items()->empty()) return {};
  const Json& first = errors->items()->front();
  const auto text = [&](std::string_view key) {
    const Json* const value = first.find(key);
    return value != nullptr && value->text() != nullptr ? *value->text() : std::string();
  };
  std::string words = text("code");
  if (!text("message").empty()) words += (words.empty() ? "" : ": ") + text("message");
  if (words.size() > kMostText) words.resize(kMostText);
  return words;
}

}  // namespace fatctx::tools
