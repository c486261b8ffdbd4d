// fatctx push: publishes a container, or an update of one, in an OCI registry.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/content_hash.h"
#include "fatctx/info.h"
#include "fatctx/update.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/fetch/push_parts.h"
#include "tools/source/http_flags.h"
#include "tools/source/oci_registry.h"

namespace fatctx::tools {

namespace {

constexpr std::string_view kEmptyConfig = "{}";
constexpr std::string_view kEmptyConfigSha256 = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

struct PushFlags {
  std::string file;
  std::string reference;
  std::string layers = "one";
  std::string update;
  std::uint64_t chunk_bytes = 0;
  bool dry_run = false;
  HttpOptions http;
  bool json = false;
};

struct PushedBlob {
  OciDescriptor descriptor;
  RequestBody body;
  bool sent = false;  // false: the registry has it already
};

struct Pushed {
  OciReference reference;
  std::string sha256;  // digest of the manifest
  std::string artifact_type;
  std::vector<PushedBlob> blobs;  // without the empty config
  std::string subject;            // for an update: the digest of the container
  std::string from;               // for an update: the containers that it needs
  std::uint64_t sent_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
};

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

std::string title_of_path(const std::string& path) { return std::filesystem::path(path).filename().string(); }

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

struct Artifact {
  OciManifest manifest;
  std::vector<PushedBlob> blobs;
};

// Checks the container, and describes it.
Result<Artifact> container_artifact(const PushFlags& flags, const HttpOptions& http) {
  const FileState state = state_of(flags.file);
  FATCTX_ASSIGN(const Container container, Container::open(flags.file, {.verify = VerifyPolicy::kNone}));
  FATCTX_ASSIGN(const OpenReport report, container.report());
  {
    ProgressLine line("verify");
    FATCTX_ASSIGN(const VerifyReport verified, container.verify({.progress = line.callback()}));
    if (!verified.findings.empty()) return in_context(verified.findings.front().error, flags.file);
  }
  FATCTX_ASSIGN(const std::span<const RecordInfo> records, container.records());
  FATCTX_ASSIGN(const std::vector<FileExtent> extents, file_extents(container));
  const auto table =
      std::find_if(extents.begin(), extents.end(), [](const FileExtent& one) { return one.kind == "toc copy 0"; });
  if (table == extents.end()) return Error{ErrorCode::kInternal, "the file has no table of contents"};
  const bool parts = flags.layers == "parts";
  std::vector<ByteRange> ranges = {{0, report.file_size}};
  if (parts) ranges = push_parts(extents, report.file_size);
  Artifact artifact;
  FATCTX_ASSIGN(artifact.blobs,
                blobs_of(flags.file, ranges, ranges.size() > 1 ? kPartMediaType : kContainerMediaType, http));
  std::ifstream file(flags.file, std::ios::binary);
  Sha256Sum toc;
  FATCTX_TRY(add_range(
      toc, file, flags.file, table->range, [](std::uint64_t) {}, http.cancel));
  FATCTX_TRY(still(state, flags.file));

  const std::string title = title_of_path(flags.file);
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

std::string from_text(const UpdateContainer& old) { return fmt::format("{}-{}", old.uuid, old.generation); }

// Checks the update, and describes it.
Result<Artifact> update_artifact(const PushFlags& flags, const HttpOptions& http, const ManifestText& subject) {
  const FileState state = state_of(flags.update);
  FATCTX_ASSIGN(const UpdateReport report, read_update(flags.update));
  FATCTX_ASSIGN(const OciManifest container, parse_oci_manifest(subject.json));
  const std::string_view uuid = annotation(container.annotations, kUuidAnnotation);
  const std::string_view generation = annotation(container.annotations, kGenerationAnnotation);
  const std::string made = std::to_string(report.made.generation);
  if (!uuid.empty() && (uuid != report.made.uuid || generation != made)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: it makes generation {} of {}, and {} is generation {} of {}", flags.update, made,
                             report.made.uuid, flags.reference, generation, uuid)};
  }
  if (report.old.size() != 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: it needs {} old containers; only an update from one can be found by its name",
                             flags.update, report.old.size())};
  }
  Artifact artifact;
  FATCTX_ASSIGN(artifact.blobs, blobs_of(flags.update, {{0, report.update_bytes}}, kUpdateMediaType, http));
  FATCTX_TRY(still(state, flags.update));
  artifact.blobs.front().descriptor.annotations = {{std::string(kTitleAnnotation), title_of_path(flags.update)}};
  artifact.manifest.artifact_type = std::string(kUpdateMediaType);
  artifact.manifest.annotations = {{std::string(kTitleAnnotation), title_of_path(flags.update)},
                                   {std::string(kFromAnnotation), from_text(report.old.front())},
                                   {std::string(kGenerationAnnotation), made},
                                   {std::string(kUuidAnnotation), report.made.uuid}};
  OciDescriptor of;
  of.media_type = std::string(kManifestMediaType);
  of.sha256 = subject.sha256;
  of.size = subject.json.size();
  artifact.manifest.subject = {of};
  return artifact;
}

// Uploads what the registry does not have.
Status send_blobs(OciRegistry& registry, const PushFlags& flags, Pushed& pushed) {
  std::vector<PushedBlob*> lacking;
  std::set<std::string> looked_for;
  std::uint64_t total = 0;
  for (PushedBlob& blob : pushed.blobs) {
    pushed.bytes += blob.descriptor.size;
    if (!looked_for.insert(blob.descriptor.sha256).second) continue;  // two parts of equal bytes
    FATCTX_ASSIGN(const bool there, registry.has_blob(blob.descriptor));
    if (there) continue;
    lacking.push_back(&blob);
    total += blob.descriptor.size;
  }
  ProgressLine line("push");
  for (PushedBlob* const blob : lacking) {
    if (!flags.dry_run) {
      const std::uint64_t before = pushed.sent_bytes;
      FATCTX_TRY(registry.upload(blob->descriptor, blob->body, flags.chunk_bytes,
                                 [&](std::uint64_t sent) { line.bytes(before + sent, total); }));
    }
    blob->sent = true;
    pushed.sent_bytes += blob->descriptor.size;
  }
  return Done{};
}

Result<Pushed> push(const PushFlags& flags, const HttpOptions& http) {
  FATCTX_ASSIGN(const OciReference reference, parse_oci_reference(flags.reference));
  const bool is_update = !flags.update.empty();
  if (!is_update && !reference.sha256.empty()) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: a container is published under a tag; its digest is what comes out", flags.reference)};
  }
  FATCTX_ASSIGN(OciRegistry registry, OciRegistry::open(reference, http, RegistryRight::kPush));
  Artifact artifact;
  Pushed pushed;
  if (is_update) {
    auto subject = registry.manifest(reference.manifest_name());
    if (!subject.ok()) return in_context(std::move(subject).error(), flags.reference);
    FATCTX_ASSIGN(artifact, update_artifact(flags, http, subject.value()));
    pushed.subject = subject.value().sha256;
    pushed.from = std::string(annotation(artifact.manifest.annotations, kFromAnnotation));
  } else {
    FATCTX_ASSIGN(artifact, container_artifact(flags, http));
  }
  OciManifest& manifest = artifact.manifest;
  manifest.config.media_type = std::string(kEmptyMediaType);
  manifest.config.sha256 = std::string(kEmptyConfigSha256);
  manifest.config.size = kEmptyConfig.size();
  for (const PushedBlob& blob : artifact.blobs) manifest.layers.push_back(blob.descriptor);
  const std::string json = oci_manifest_json(manifest);
  Sha256Sum sum;
  sum.add(std::as_bytes(std::span(json)));
  pushed.sha256 = sum.hex();
  pushed.reference = reference;
  pushed.artifact_type = manifest.artifact_type;
  pushed.blobs = std::move(artifact.blobs);

  const auto send_all = [&]() -> Status {
    FATCTX_TRY(send_blobs(registry, flags, pushed));
    if (flags.dry_run) return Done{};
    FATCTX_ASSIGN(const bool has_config, registry.has_blob(manifest.config));
    if (!has_config) {
      FATCTX_TRY(
          registry.upload(manifest.config, {.text = std::string(kEmptyConfig), .file = {}}, 0, [](std::uint64_t) {}));
    }
    const std::string name = is_update ? "sha256:" + pushed.sha256 : reference.tag;
    FATCTX_ASSIGN(const bool noted, registry.put_manifest(name, json, kManifestMediaType));
    if (!is_update || noted) return Done{};
    OciDescriptor itself;
    itself.media_type = std::string(kManifestMediaType);
    itself.sha256 = pushed.sha256;
    itself.size = json.size();
    itself.artifact_type = manifest.artifact_type;
    itself.annotations = manifest.annotations;
    return registry.add_referrer_by_tag(pushed.subject, itself);
  };
  auto sent = send_all();
  if (!sent.ok()) return in_context(std::move(sent).error(), flags.reference);
  pushed.requests = registry.requests();
  return pushed;
}

std::string pushed_text(const Pushed& pushed, bool dry_run) {
  const std::size_t sent = static_cast<std::size_t>(
      std::count_if(pushed.blobs.begin(), pushed.blobs.end(), [](const PushedBlob& one) { return one.sent; }));
  std::string text = fmt::format("{}: {} in {}\n", escaped(pushed.reference.text()), size_text(pushed.bytes),
                                 count_text(pushed.blobs.size(), "blob"));
  text += fmt::format("{}: {} in {}; the registry has the rest\n", dry_run ? "to send" : "sent",
                      size_text(pushed.sent_bytes), count_text(sent, "blob"));
  if (!pushed.from.empty()) text += fmt::format("update from {}\n", escaped(pushed.from));
  text += fmt::format("{}\n", escaped(pushed.reference.by_digest(pushed.sha256).text()));
  if (dry_run) text += "nothing was sent\n";
  return text;
}

std::string pushed_json(const PushFlags& flags, const Pushed& pushed) {
  Json blobs = Json::array();
  for (const PushedBlob& blob : pushed.blobs) {
    blobs.push_back({{"digest", "sha256:" + blob.descriptor.sha256},
                     {"offset", blob.body.offset},
                     {"size_bytes", blob.descriptor.size},
                     {"media_type", blob.descriptor.media_type},
                     {"sent", blob.sent}});
  }
  return json_text({{"schema", "fatctx.push/1"},
                    {"file", flags.update.empty() ? flags.file : flags.update},
                    {"reference", pushed.reference.text()},
                    {"digest", "sha256:" + pushed.sha256},
                    {"pinned", pushed.reference.by_digest(pushed.sha256).text()},
                    {"artifact_type", pushed.artifact_type},
                    {"subject", text_or_null(pushed.subject.empty() ? "" : "sha256:" + pushed.subject)},
                    {"from", text_or_null(pushed.from)},
                    {"blobs", std::move(blobs)},
                    {"size_bytes", pushed.bytes},
                    {"sent_bytes", pushed.sent_bytes},
                    {"requests", pushed.requests},
                    {"dry_run", flags.dry_run}});
}

Result<ExitCode> run_push(PushFlags flags) {
  // With --update, the only name is that of the container in the registry.
  if (!flags.update.empty()) {
    if (!flags.reference.empty())
      return invalid_argument("--update takes no FILE: name the update and the container's reference");
    std::swap(flags.file, flags.reference);
  } else if (flags.reference.empty()) {
    return invalid_argument("name the file and its reference: fatctx push FILE oci://HOST/REPO:TAG");
  }
  const Interrupt interrupt;
  HttpOptions http = flags.http;
  http.cancel = interrupt.flag();
  FATCTX_ASSIGN(const Pushed pushed, push(flags, http));
  print_result(flags.json ? pushed_json(flags, pushed) : pushed_text(pushed, flags.dry_run));
  return ExitCode::kOk;
}

}  // namespace

void add_push(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<PushFlags>();
  CLI::App* command = describe(app, "push",
                               {.purpose = "Publish a container, or an update, in an OCI registry",
                                .synopsis = "fatctx push FILE oci://HOST/REPO:TAG [options]",
                                .examples = {"fatctx push model.fatctx oci://localhost:5000/models/m:1",
                                             "fatctx push model.fatctx oci://localhost:5000/models/m:1 --layers parts"},
                                .more = "docs/cli/fetch.md, docs/delivery.md"});
  command->add_option("FILE", flags->file, "The container")->required();
  command->add_option("REFERENCE", flags->reference, "Where it goes: oci://HOST/REPO:TAG");
  command->add_option("--layers", flags->layers, "one: one blob (the default); parts: blobs that versions share")
      ->check(CLI::IsMember({"one", "parts"}))
      ->type_name("HOW");
  command->add_option("--update", flags->update, "Publish this update beside the container at the reference")
      ->excludes("--layers")
      ->type_name("UPDATE");
  command->add_option("--chunk-size", flags->chunk_bytes, "Most bytes a request; default: one request a blob")
      ->transform(CLI::AsSizeValue(false))
      ->transform(size_number())
      ->type_name("SIZE");
  command->add_flag("--dry-run", flags->dry_run, "Only say what would be sent");
  add_http_access_flags(*command, flags->http);
  add_plain_http_flag(*command, flags->http);
  add_rate_flags(*command, flags->http);
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.push/1)");
  command->callback([flags, &outcome] { outcome.finish(run_push(*flags)); });
}

}  // namespace fatctx::tools
