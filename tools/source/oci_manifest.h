// Manifests and indexes of OCI registries: claims of a server, until they are checked here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

inline constexpr std::string_view kManifestMediaType = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kIndexMediaType = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kEmptyMediaType = "application/vnd.oci.empty.v1+json";
// docs/delivery.md describes these.
inline constexpr std::string_view kContainerMediaType =
    "application/vnd.fatctx.container.v1";                                                    // the artifact, its blob
inline constexpr std::string_view kPartMediaType = "application/vnd.fatctx.part.v1";          // one of several blobs
inline constexpr std::string_view kUpdateMediaType = "application/vnd.fatctx.update.v1";      // the artifact, its blob
inline constexpr std::string_view kBlockIndexMediaType = "application/vnd.fatctx.blocks.v1";  // the same
inline constexpr std::string_view kTitleAnnotation = "org.opencontainers.image.title";
inline constexpr std::string_view kUuidAnnotation = "vnd.fatctx.uuid";
inline constexpr std::string_view kGenerationAnnotation = "vnd.fatctx.generation";
inline constexpr std::string_view kTargetsAnnotation = "vnd.fatctx.targets";
inline constexpr std::string_view kTocAnnotation = "vnd.fatctx.toc.sha256";
inline constexpr std::string_view kFromAnnotation = "vnd.fatctx.from";

inline constexpr std::uint64_t kMostManifestBytes = std::uint64_t{4} << 20U;  // as registries limit them
inline constexpr std::size_t kMostLayers = 4096;

using OciAnnotations = std::vector<std::pair<std::string, std::string>>;

// Returns the value of an annotation; empty if it is not there.
[[nodiscard]] std::string_view annotation(const OciAnnotations& annotations, std::string_view key);

struct OciDescriptor {
  std::string media_type;
  std::string sha256;  // 64 hexadecimal digits
  std::uint64_t size = 0;
  std::string artifact_type;
  OciAnnotations annotations;
};

struct OciManifest {
  std::string artifact_type;  // or the media type of its config, as older clients say it
  OciDescriptor config;
  std::vector<OciDescriptor> layers;
  OciAnnotations annotations;
  std::vector<OciDescriptor> subject;  // one or none
};

// Errors: malformed (not JSON, or not a manifest), unsupported (an index, a digest other than sha256), limit_exceeded
// (too large, too many layers).
[[nodiscard]] Result<OciManifest> parse_oci_manifest(std::string_view json);
// Returns the manifests that an index lists. Those whose digest is of another kind are left out. Errors: as above.
[[nodiscard]] Result<std::vector<OciDescriptor>> parse_oci_index(std::string_view json);

// Returns the blobs whose bytes, one after the other, are the container: all layers of an artifact of `push`; of other
// artifacts the one layer that is titled NAME.fatctx, or is the only one. Their sizes have a sum.
// Errors: unsupported (an update), malformed (no such layer; a sum that no file has).
[[nodiscard]] Result<std::vector<OciDescriptor>> container_blobs(const OciManifest& manifest);
// Returns whether the artifact is an update or a block index.
[[nodiscard]] bool is_beside_container(const OciManifest& manifest) noexcept;
// Returns the one blob of such an artifact. Errors: malformed (it is none).
[[nodiscard]] Result<OciDescriptor> blob_beside_container(const OciManifest& manifest);

// Writes them, as one line: equal artifacts have equal digests.
[[nodiscard]] std::string oci_manifest_json(const OciManifest& manifest);
[[nodiscard]] std::string oci_index_json(std::span<const OciDescriptor> manifests);

// Returns what the body of an error of a registry says: "NAME_UNKNOWN: repository name not known to registry"; empty
// if it says nothing.
[[nodiscard]] std::string registry_error_text(std::string_view body);

}  // namespace fatctx::tools
