#include "tools/compile/compile_output.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fatctx/container.h"
#include "fatctx/stored_dlc.h"
#include "tools/cli/print.h"
#include "tools/cli/whole_container.h"
#include "tools/facts/htp_checks.h"
#include "tools/facts/json_file.h"
#include "tools/onnx/model_folder.h"
#include "tools/pack/ep_context.h"
#include "tools/pack/gather.h"
#include "tools/pack/pack_run.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

std::string part_ending(const PackRecord& record) {
  const std::string& form = record.description.format;
  if (form == "irpa") return ".irpa";
  if (form == "iree-vmfb") return ".vmfb";
  // A name that already tells its form, as that of a source model does, stays.
  return record.type == RecordType::kSourceModel || record.type == RecordType::kWrapperModel ? "" : ".bin";
}

Error cannot_write(const fs::path& path, const std::string& why) {
  return Error{ErrorCode::kIo, fmt::format("{}: cannot be written: {}", path.string(), why)};
}

// Refuses a record that is only a part of a file. Records of one file (those of a DLC) belong together in
// ways that a manifest cannot express, so each part must be the whole file that the compiler wrote.
Status check_whole_file(const PackRecord& record) {
  const PackSource& source = record.source;
  if (!source.path.empty() && !source.part) return Done{};
  if (record.type == RecordType::kWrapperModel) return Done{};  // its bytes are in memory
  return Error{ErrorCode::kUnsupported,
               fmt::format("record \"{}\" is a part of what the compiler wrote, not a file of its own, and cannot "
                           "be stored in a folder with a manifest; write a container (-o OUT.fatctx)",
                           record.name)};
}

// Refuses a name that the manifest, which is JSON, cannot have.
Status check_name(const PackRecord& record) {
  if (is_utf8(record.name)) return Done{};
  return invalid_argument(fmt::format("record \"{}\": its name is not UTF-8; rename the model", record.name));
}

Status write_text(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? Status(Done{}) : cannot_write(path, "the disk may be full");
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // char may alias anything
}

}  // namespace

std::vector<ManifestRecord> source_records(const CompileInput& input) {
  std::vector<ManifestRecord> records;
  const auto add = [&](const std::string& file, const std::string& name, const char* format) {
    ManifestRecord source;
    source.where = "--keep-source";
    source.record.type = RecordType::kSourceModel;
    source.record.name = name;
    source.record.key.group = input.name;
    source.record.source.path = file;
    source.record.description.format = format;
    source.record.codec = default_codec(RecordType::kSourceModel);
    records.push_back(std::move(source));
  };
  add(input.path, input.name + ".source" + fs::path(input.path).extension().string(),
      input.onnx == nullptr ? "" : "onnx");
  if (input.onnx == nullptr) return records;
  for (const std::string& file : input.onnx->external_files) {
    std::string flat = file;
    std::replace(flat.begin(), flat.end(), '/', '_');
    add(path_beside(input.path, file), fmt::format("{}.source.{}", input.name, flat), "onnx-external-data");
  }
  return records;
}

Result<std::string> write_parts(const std::string& output, const Manifest& manifest, OnnxModels models, bool force) {
  FATCTX_ASSIGN(const GatheredRecords gathered, gather_records(manifest, std::move(models)));
  for (const std::string& note : gathered.notes) print_note("note: " + escaped(note));
  const fs::path folder = output;
  std::vector<std::string> files;
  for (const PackRecord& record : gathered.records) {
    FATCTX_TRY(check_whole_file(record));
    FATCTX_TRY(check_name(record));
    files.push_back(record.name + part_ending(record));
  }
  std::vector<std::string> all = files;
  all.emplace_back(kManifestFile);
  std::error_code error;
  for (const std::string& file : all) {
    if (!force && fs::exists(fs::symlink_status(folder / file, error))) {
      return Error{ErrorCode::kExists,
                   fmt::format("{} already exists; pass --force to replace it", (folder / file).string())};
    }
  }
  for (const std::string& file : all) {
    if (fs::is_directory(folder / file, error)) return cannot_write(folder / file, "it is a folder");
  }
  // All bytes are on the disk before the first old file is removed.
  FATCTX_ASSIGN(const WorkFolder work, WorkFolder::create_in(output));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const PackSource& source = gathered.records[i].source;
    if (source.path.empty()) {
      FATCTX_TRY(write_text(work.file(files[i]), text_of(source.bytes)));
      continue;
    }
    fs::copy_file(source.path, work.file(files[i]), error);
    if (error) return cannot_write(folder / files[i], error.message());
  }
  FATCTX_TRY(write_text(work.file(kManifestFile), manifest_text(manifest, gathered.records, files)));
  // The manifest is removed first and written last, so that a folder with a manifest has all its parts.
  fs::remove(folder / kManifestFile, error);
  std::string text = fmt::format("{}:\n", escaped(output));
  for (const std::string& file : all) {
    fs::rename(work.file(file), folder / file, error);
    if (error) return cannot_write(folder / file, error.message());
    if (file != kManifestFile) text += fmt::format("  {}\n", escaped(file));
  }
  // Sizes that a compiler accepted must be accepted by pack too.
  const bool fixed = std::all_of(gathered.records.begin(), gathered.records.end(),
                                 [](const PackRecord& record) { return check_fixed_shapes(record).ok(); });
  return text + fmt::format("  {}: fatctx pack {}{} -o {}.fatctx\n", kManifestFile,
                            escaped((folder / kManifestFile).string()), fixed ? "" : " --allow-dynamic",
                            escaped(manifest.name));
}

// Writes the archive through a container, because only that writes archives whole or not at all.
Status write_dlc(const CompileCache& cache, const std::string& compiled, const std::string& output, bool force) {
  FATCTX_ASSIGN(const WorkFolder work, cache.begin());
  const std::string container = work.file("one_pass.fatctx");
  Manifest manifest;
  manifest.name = "one_pass";
  manifest.quant_told = true;
  FATCTX_ASSIGN(ImportedRecords imported, manifest_records_from_dlc(compiled, {.group = manifest.name}));
  manifest.records = std::move(imported.records);
  FATCTX_TRY(pack_manifest({.manifest = std::move(manifest), .models = {}, .output = container}));
  FATCTX_ASSIGN(const Container opened, open_whole(container));
  FATCTX_TRY(export_dlc(opened, {}, output, force));
  return Done{};
}

}  // namespace fatctx::tools
