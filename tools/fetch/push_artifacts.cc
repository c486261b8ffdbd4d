#include "tools/fetch/push_artifacts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>

#include <fmt/format.h>

#include "fatctx/container.h"
#include "fatctx/content_hash.h"
#include "fatctx/info.h"
#include "fatctx/update.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/fetch/push_parts.h"

namespace fatctx::tools {
namespace {

// Adds the bytes of a range of a file. Errors: changed (the file became shorter).
Status add_range(Sha256Sum& sum, std::ifstream& file, const std::string& path, ByteRange range,
                 const std::function<void(std::uint64_t)>& progressed, const std::atomic<bool>* cancel) {
  std::vector<char> bytes(std::size_t{1} << 20U);
  file.clear();
  file.seekg(static_cast<std::streamoff>(range.offset));
  for (std::uint64_t done = 0; done < range.size;) {
    if (cancel != nullptr && cancel->load()) return Error{ErrorCode::kCancelled, "the command was cancelled"};
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), range.size - done));
    file.read(bytes.data(), static_cast<std::streamsize>(size));
    if (static_cast<std::size_t>(file.gcount()) != size) {
      return Error{ErrorCode::kChanged, fmt::format("{}: it became shorter while it was read", path)};
    }
    sum.add(std::as_bytes(std::span(bytes).first(size)));
    done += size;
    progressed(range.offset + done);
  }
  return Done{};
}

// Returns the blobs of a file, with their digests.
Result<std::vector<PushedBlob>> blobs_of(const std::string& path, const std::vector<ByteRange>& parts,
                                         std::string_view media_type, const HttpOptions& http) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kIo, fmt::format("{}: it cannot be read", path)};
  const std::uint64_t total = parts.back().offset + parts.back().size;
  ProgressLine line("hash");
  std::vector<PushedBlob> blobs;
  for (const ByteRange& part : parts) {
    Sha256Sum sum;
    FATCTX_TRY(add_range(
        sum, file, path, part, [&](std::uint64_t done) { line.bytes(done, total); }, http.cancel));
    PushedBlob blob;
    blob.descriptor.media_type = std::string(media_type);
    blob.descriptor.sha256 = sum.hex();
    blob.descriptor.size = part.size;
    blob.body = {.text = {}, .file = path, .offset = part.offset, .size = part.size};
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

// Returns the targets of the context binaries, each one once, in the order of the records.
std::string targets_text(std::span<const RecordInfo> records) {
  std::set<std::string> seen;
  std::string text;
  for (const RecordInfo& record : records) {
    if (record.type != RecordType::kContextBinary) continue;
    std::string target = target_text(record.key);
    if (!seen.insert(target).second) continue;
    text += (text.empty() ? "" : ",") + target;
  }
  return text;
}

// Tells a file from one that was written or renamed over it. This is for the reads that make the digests: the registry
// compares every upload with them.
struct FileState {
  std::uint64_t size = 0;
  std::filesystem::file_time_type modified;
  bool operator==(const FileState&) const = default;
};
FileState state_of(const std::string& path) {
  std::error_code ignored;  // a file that is not there has an error of its own
  return {std::filesystem::file_size(path, ignored), std::filesystem::last_write_time(path, ignored)};
}
Status still(const FileState& state, const std::string& path) {
  if (state_of(path) == state) return Done{};
  return Error{ErrorCode::kChanged, fmt::format("{}: it changed while it was read; push it again", path)};
}

std::string from_text(const UpdateContainer& old) { return fmt::format("{}-{}", old.uuid, old.generation); }

OciDescriptor descriptor_of(const ManifestText& manifest) {
  OciDescriptor descriptor;
  descriptor.media_type = std::string(kManifestMediaType);
  descriptor.sha256 = manifest.sha256;
  descriptor.size = manifest.json.size();
  return descriptor;
}

}  // namespace

std::string title_of_path(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Result<Artifact> container_artifact(const std::string& path, bool parts, const HttpOptions& http) {
  const FileState state = state_of(path);
  FATCTX_ASSIGN(const Container container, Container::open(path, {.verify = VerifyPolicy::kNone}));
  FATCTX_ASSIGN(const OpenReport report, container.report());
  {
    ProgressLine line("verify");
    FATCTX_ASSIGN(const VerifyReport verified, container.verify({.progress = line.callback()}));
    if (!verified.findings.empty()) return in_context(verified.findings.front().error, path);
  }
  FATCTX_ASSIGN(const std::span<const RecordInfo> records, container.records());
  FATCTX_ASSIGN(const std::vector<FileExtent> extents, file_extents(container));
  const auto table =
      std::find_if(extents.begin(), extents.end(), [](const FileExtent& one) { return one.kind == "toc copy 0"; });
  if (table == extents.end()) return Error{ErrorCode::kInternal, "the file has no table of contents"};
  std::vector<ByteRange> ranges = {{0, report.file_size}};
  if (parts) ranges = push_parts(extents, report.file_size);
  Artifact artifact;
  FATCTX_ASSIGN(artifact.blobs, blobs_of(path, ranges, ranges.size() > 1 ? kPartMediaType : kContainerMediaType, http));
  std::ifstream file(path, std::ios::binary);
  Sha256Sum toc;
  FATCTX_TRY(add_range(
      toc, file, path, table->range, [](std::uint64_t) {}, http.cancel));
  FATCTX_TRY(still(state, path));

  const std::string title = title_of_path(path);
  for (std::size_t i = 0; i < artifact.blobs.size(); ++i) {
    const std::string name = artifact.blobs.size() == 1 ? title : fmt::format("{}.{:03}", title, i);
    artifact.blobs[i].descriptor.annotations = {{std::string(kTitleAnnotation), name}};
  }
  artifact.manifest.artifact_type = std::string(kContainerMediaType);
  artifact.manifest.annotations = {{std::string(kTitleAnnotation), title},
                                   {std::string(kGenerationAnnotation), std::to_string(report.generation)},
                                   {std::string(kTargetsAnnotation), targets_text(records)},
                                   {std::string(kTocAnnotation), toc.hex()},
                                   {std::string(kUuidAnnotation), report.uuid}};
  return artifact;
}

Result<Artifact> update_artifact(const std::string& path, const std::string& reference, const ManifestText& subject,
                                 const HttpOptions& http) {
  const FileState state = state_of(path);
  FATCTX_ASSIGN(const UpdateReport report, read_update(path));
  FATCTX_ASSIGN(const OciManifest container, parse_oci_manifest(subject.json));
  const std::string_view uuid = annotation(container.annotations, kUuidAnnotation);
  const std::string_view generation = annotation(container.annotations, kGenerationAnnotation);
  const std::string made = std::to_string(report.made.generation);
  if (!uuid.empty() && (uuid != report.made.uuid || generation != made)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: it makes generation {} of {}, and {} is generation {} of {}", path, made,
                             report.made.uuid, reference, generation, uuid)};
  }
  if (report.old.size() != 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: it needs {} old containers; only an update from one can be found by its name", path,
                             report.old.size())};
  }
  Artifact artifact;
  FATCTX_ASSIGN(artifact.blobs, blobs_of(path, {{0, report.update_bytes}}, kUpdateMediaType, http));
  FATCTX_TRY(still(state, path));
  artifact.blobs.front().descriptor.annotations = {{std::string(kTitleAnnotation), title_of_path(path)}};
  artifact.manifest.artifact_type = std::string(kUpdateMediaType);
  artifact.manifest.annotations = {{std::string(kTitleAnnotation), title_of_path(path)},
                                   {std::string(kFromAnnotation), from_text(report.old.front())},
                                   {std::string(kGenerationAnnotation), made},
                                   {std::string(kUuidAnnotation), report.made.uuid}};
  artifact.manifest.subject = {descriptor_of(subject)};
  return artifact;
}

Result<Artifact> index_artifact(const std::string& path, const std::string& title, const BlockIndexReport& report,
                                const ManifestText& subject, const HttpOptions& http) {
  Artifact artifact;
  FATCTX_ASSIGN(artifact.blobs, blobs_of(path, {{0, report.index_bytes}}, kBlockIndexMediaType, http));
  artifact.blobs.front().descriptor.annotations = {{std::string(kTitleAnnotation), title}};
  artifact.manifest.artifact_type = std::string(kBlockIndexMediaType);
  artifact.manifest.annotations = {{std::string(kTitleAnnotation), title},
                                   {std::string(kGenerationAnnotation), std::to_string(report.generation)},
                                   {std::string(kUuidAnnotation), report.uuid}};
  artifact.manifest.subject = {descriptor_of(subject)};
  return artifact;
}

}  // namespace fatctx::tools
