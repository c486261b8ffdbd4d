// fatctx push: publishes a container, or an update of one, in an OCI registry.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/content_hash.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/fetch/beside_source.h"
#include "tools/fetch/push_artifacts.h"
#include "tools/source/http_flags.h"
#include "tools/source/oci_registry.h"
#include "tools/source/temporary_folder.h"

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
  bool index = false;
  bool dry_run = false;
  HttpOptions http;
  bool json = false;
};

struct Pushed {
  OciReference reference;
  OciManifest manifest;
  ManifestText text;              // `manifest` in the bytes that are uploaded
  std::vector<PushedBlob> blobs;  // without the empty config
  std::uint64_t sent_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  std::shared_ptr<Pushed> index = {};  // beside the container; null: none

  [[nodiscard]] std::string subject() const {
    return manifest.subject.empty() ? "" : "sha256:" + manifest.subject.front().sha256;
  }
  [[nodiscard]] std::string from() const { return std::string(annotation(manifest.annotations, kFromAnnotation)); }
};

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

// Completes the manifest.
Pushed to_push(const OciReference& reference, Artifact artifact) {
  OciManifest& manifest = artifact.manifest;
  manifest.config.media_type = std::string(kEmptyMediaType);
  manifest.config.sha256 = std::string(kEmptyConfigSha256);
  manifest.config.size = kEmptyConfig.size();
  for (const PushedBlob& blob : artifact.blobs) manifest.layers.push_back(blob.descriptor);
  Pushed pushed;
  pushed.reference = reference;
  pushed.text.json = oci_manifest_json(manifest);
  Sha256Sum sum;
  sum.add(std::as_bytes(std::span(pushed.text.json)));
  pushed.text.sha256 = sum.hex();
  pushed.manifest = std::move(manifest);
  pushed.blobs = std::move(artifact.blobs);
  return pushed;
}

// Sends blobs, config and manifest. A manifest with a subject has no tag.
Status send(OciRegistry& registry, const PushFlags& flags, Pushed& pushed) {
  FATCTX_TRY(send_blobs(registry, flags, pushed));
  if (flags.dry_run) return Done{};
  const OciManifest& manifest = pushed.manifest;
  FATCTX_ASSIGN(const bool has_config, registry.has_blob(manifest.config));
  if (!has_config) {
    FATCTX_TRY(
        registry.upload(manifest.config, {.text = std::string(kEmptyConfig), .file = {}}, 0, [](std::uint64_t) {}));
  }
  const std::string name = manifest.subject.empty() ? pushed.reference.tag : "sha256:" + pushed.text.sha256;
  FATCTX_ASSIGN(const bool noted, registry.put_manifest(name, pushed.text.json, kManifestMediaType));
  if (manifest.subject.empty() || noted) return Done{};
  OciDescriptor itself;
  itself.media_type = std::string(kManifestMediaType);
  itself.sha256 = pushed.text.sha256;
  itself.size = pushed.text.json.size();
  itself.artifact_type = manifest.artifact_type;
  itself.annotations = manifest.annotations;
  return registry.add_referrer_by_tag(manifest.subject.front().sha256, itself);
}

// Makes the block index of a container. `folder`: for the index until it is sent.
Result<Pushed> index_to_push(const std::string& folder, const PushFlags& flags, const HttpOptions& http,
                             const Pushed& container) {
  const std::string title = title_of_path(flags.file) + std::string(kBlockIndexSuffix);
  ProgressLine line("index");
  FATCTX_ASSIGN(const BlockIndexReport report,
                make_block_index(flags.file, folder + "/index", {.progress = line.callback(), .cancel = http.cancel}));
  const std::string generation = std::to_string(report.generation);
  if (annotation(container.manifest.annotations, kUuidAnnotation) != report.uuid ||
      annotation(container.manifest.annotations, kGenerationAnnotation) != generation) {
    return Error{ErrorCode::kChanged, fmt::format("{}: it changed while it was read; push it again", flags.file)};
  }
  FATCTX_ASSIGN(Artifact artifact, index_artifact(report.path, title, report, container.text, http));
  return to_push(container.reference, std::move(artifact));
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
  if (is_update) {
    auto subject = registry.manifest(reference.manifest_name());
    if (!subject.ok()) return in_context(std::move(subject).error(), flags.reference);
    FATCTX_ASSIGN(artifact, update_artifact(flags.update, flags.reference, subject.value(), http));
  } else {
    FATCTX_ASSIGN(artifact, container_artifact(flags.file, flags.layers == "parts", http));
  }
  Pushed pushed = to_push(reference, std::move(artifact));
  std::shared_ptr<std::string> folder;
  if (flags.index) {  // first: what fails here leaves the registry as it was
    FATCTX_ASSIGN(folder, temporary_folder());
    FATCTX_ASSIGN(Pushed index, index_to_push(*folder, flags, http, pushed));
    pushed.index = std::make_shared<Pushed>(std::move(index));
  }
  auto sent = send(registry, flags, pushed);
  if (sent.ok() && pushed.index) sent = send(registry, flags, *pushed.index);
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
  if (!pushed.from().empty()) text += fmt::format("update from {}\n", escaped(pushed.from()));
  if (pushed.index) {
    text += fmt::format("block index: {}{}\n", size_text(pushed.index->bytes),
                        pushed.index->sent_bytes == 0 ? ", which the registry has" : "");
  }
  text += fmt::format("{}\n", escaped(pushed.reference.by_digest(pushed.text.sha256).text()));
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
  Json index = nullptr;
  if (pushed.index) {
    index = {{"digest", "sha256:" + pushed.index->text.sha256},
             {"size_bytes", pushed.index->bytes},
             {"sent", pushed.index->sent_bytes != 0}};
  }
  return json_text({{"schema", "fatctx.push/1"},
                    {"file", flags.update.empty() ? flags.file : flags.update},
                    {"reference", pushed.reference.text()},
                    {"digest", "sha256:" + pushed.text.sha256},
                    {"pinned", pushed.reference.by_digest(pushed.text.sha256).text()},
                    {"artifact_type", pushed.manifest.artifact_type},
                    {"subject", text_or_null(pushed.subject())},
                    {"from", text_or_null(pushed.from())},
                    {"blobs", std::move(blobs)},
                    {"block_index", std::move(index)},
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
  command->add_flag("--index", flags->index, "Publish the container's block index as well")->excludes("--update");
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
