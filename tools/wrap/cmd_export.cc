// fatctx export: makes parts of a container usable by programs that do not know it.
//
// An ONNX model may keep its weights in another file, at offsets. A container stores a weight blob byte for
// byte, so it can be that other file. The model then stays small, and every program that loads ONNX models
// takes its weights from the container. A DLC that was packed is exported as the original file.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "fatctx/stored_dlc.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/whole_container.h"
#include "tools/onnx/model_folder.h"
#include "tools/onnx/onnx_embedded.h"
#include "tools/onnx/onnx_import.h"
#include "tools/onnx/onnx_weights.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string path;
  std::string model;
  std::string output;
  std::vector<std::string> weights;
  bool attached = false;
  bool dlc = false;
  std::string layout;
  bool force = false;
};

// Returns the container's name in the model: ONNX requires a path below the model's folder.
Result<std::string> location_for(const std::string& container, const std::string& output) {
  std::error_code problem;
  const fs::path from = fs::canonical(parent_of(output), problem);
  if (problem) return Error{ErrorCode::kNotFound, fmt::format("{}: the folder does not exist; make it first", output)};
  const fs::path to = fs::canonical(container, problem);
  if (problem) return Error{ErrorCode::kIo, fmt::format("{}: {}", container, problem.message())};
  const fs::path relative = path_below(from, to);
  if (relative.empty()) {
    return invalid_argument(
        fmt::format("{}: an ONNX model finds its external data below its own folder only, and {} is not "
                    "there; write the model beside the container",
                    output, container));
  }
  return relative.generic_string();
}

// Returns the place of a weight blob in the file called `file`, if it is stored there in one piece.
Result<OnnxPlace> place_of(const RecordInfo& record, const std::string& file) {
  if (record.size_bytes == 0) return OnnxPlace{.file = file};
  if (record.codec != Codec::kNone || record.recipe || record.slice_count != 1) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("record \"{}\" is not stored in the file in one piece, as an ONNX model needs it; pack "
                             "with --sharing off, or let a program attach it (--attached)",
                             record.name)};
  }
  return OnnxPlace{file, record.file_offset, record.size_bytes};
}

// Returns the value of an option that packing a model gives to its weight blobs; empty: it has none.
std::string onnx_option(const ContainerDescription& description, std::uint32_t id, std::string_view key) {
  const RecordDescription* record = description.find(id);
  if (record == nullptr) return {};
  for (const DescribedOption& option : record->options) {
    if (option.key == key) return option.value;
  }
  return {};
}

// Refuses a model and weights that were not packed together; they would become a model that computes
// nonsense.
Status check_places(const OnnxModel& model, const std::string& location, const Container& container,
                    const RecordInfo& record) {
  auto table = container.tensors(record.id);
  if (!table.ok()) {
    if (table.error().code == ErrorCode::kNotFound) return Done{};  // an empty table is not stored
    return std::move(table).error();
  }
  std::vector<OnnxInitializer> named = model.initializers;
  std::ranges::copy_if(model.inner, std::back_inserter(named), &OnnxInitializer::movable);
  for (const OnnxInitializer& initializer : named) {
    if (!initializer.external || initializer.external->location != location) continue;
    const auto view = table.value().view(initializer.name);
    if (view.ok() && view.value().offset_in_blob() == initializer.external->offset &&
        (!initializer.external->size || *initializer.external->size == view.value().bytes().size())) {
      continue;
    }
    return invalid_argument(
        fmt::format("initializer \"{}\" is at byte {} of \"{}\", but {} in record \"{}\"; the record must be "
                    "packed from the external data of this model",
                    initializer.name, initializer.external->offset, location,
                    view.ok() ? fmt::format("at byte {}", view.value().offset_in_blob()) : "nowhere", record.name));
  }
  return Done{};
}

// Returns true if a blob belongs to this model. It has the location of its external data, or was named, or
// holds the inner initializers of a model with this file name.
bool wanted(const ExportOptions& options, const OnnxModel& model, const std::string& location, bool embedded) {
  if (!embedded) return true;
  const bool inside = std::ranges::find(model.external_files, location) == model.external_files.end();
  return inside && (!options.weights.empty() || location == embedded_location(options.model));
}

Result<OnnxPlaces> places_of(const ExportOptions& options, const Container& container, const OnnxModel& model,
                             const std::string& file) {
  FATCTX_ASSIGN(const ContainerDescription description, container.describe());
  std::vector<RecordInfo> records;
  for (const std::string& name : options.weights) {
    FATCTX_ASSIGN(const RecordInfo record, find_record(container, name));
    records.push_back(record);
  }
  if (options.weights.empty()) {
    for (const RecordInfo& record : all_records(container)) {
      if (record.type == RecordType::kWeightBlob) records.push_back(record);
    }
  }
  OnnxPlaces places;
  places.hoisted = options.attached;  // ONNX Runtime takes nothing else from a program
  std::map<std::string, std::string> names;
  for (const RecordInfo& record : records) {
    const std::string location = onnx_option(description, record.id, kOnnxLocation);
    const std::string min_size = onnx_option(description, record.id, kOnnxEmbedded);
    const bool embedded = !min_size.empty();
    if (location.empty() || !wanted(options, model, location, embedded)) continue;
    const auto [first, inserted] = names.emplace(location, record.name);
    if (!inserted) {
      return invalid_argument(
          fmt::format("{}: records \"{}\" and \"{}\" are both called \"{}\" by their models; --weights says "
                      "which one is meant",
                      options.path, first->second, record.name, location));
    }
    if (embedded) {
      FATCTX_ASSIGN(auto moved, find_embedded(container, record, options.model, location, min_size));
      places.moved.merge(moved);
    } else {
      FATCTX_TRY(check_places(model, location, container, record));
    }
    if (options.attached) {
      places.files.emplace(location, OnnxPlace{location, 0, record.size_bytes});
    } else {
      FATCTX_ASSIGN(OnnxPlace place, place_of(record, file));
      places.files.emplace(location, std::move(place));
    }
  }
  return places;
}

Result<ExitCode> run_export_dlc(const ExportOptions& options) {
  FATCTX_ASSIGN(const Container container, open_whole(options.path));
  auto made = export_dlc(container, options.layout, options.output, options.force);
  if (!made.ok() && made.error().code == ErrorCode::kExists) {
    return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", options.output)};
  }
  if (!made.ok()) return std::move(made).error();
  print_note(escaped(fmt::format(
      "{}: {} written, {}, the same bytes as the DLC that was packed", options.output,
      size_text(made.value().size_bytes),
      made.value().records.size() == 1 ? "1 entry" : fmt::format("{} entries", made.value().records.size()))));
  return ExitCode::kOk;
}

Result<ExitCode> run_export_onnx(const ExportOptions& options) {
  std::error_code status;
  FATCTX_TRY(check_is_no_input(options.output, {{"container", options.path}}));
  if (!options.force && fs::exists(fs::symlink_status(options.output, status))) {
    return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", options.output)};
  }
  FATCTX_ASSIGN(const Container container, open_whole(options.path));
  FATCTX_ASSIGN(const OnnxModel model, read_onnx(options.model));
  std::string file;
  if (!options.attached) {
    FATCTX_ASSIGN(file, location_for(options.path, options.output));
  }
  FATCTX_ASSIGN(const OnnxPlaces places, places_of(options, container, model, file));
  if (model.external_files.empty() && places.moved.empty()) {
    return invalid_argument(
        fmt::format("{}: the model has no external data that could be elsewhere, and no weight blob has the "
                    "initializers inside of it; pack it with --weights {}, or name the blob with --weights",
                    options.model, options.model));
  }

  const auto pointed = onnx_pointing_into(options.model, places);
  if (!pointed.ok()) return in_context(pointed.error(), options.path);
  FATCTX_TRY(publish_bytes(std::as_bytes(std::span(pointed.value().bytes)), options.output, options.force));
  if (options.attached) {
    std::vector<std::string> locations;
    for (const auto& [location, place] : places.files) locations.push_back(location);
    print_note(escaped(fmt::format("{}: {} tensors are in files that a program attaches as {}", options.output,
                                   pointed.value().tensors, fmt::join(locations, ", "))));
    return ExitCode::kOk;
  }
  print_note(escaped(fmt::format("{}: {} tensors are in {}", options.output, pointed.value().tensors, file)));
  if (!open_report(container).sealed) {
    print_note(
        escaped(fmt::format("note: {} is not sealed; packing again may move the data, and the "
                            "model must then be exported again",
                            options.path)));
  }
  return ExitCode::kOk;
}

Result<ExitCode> run_export(const ExportOptions& options) {
  if (options.dlc == !options.model.empty()) return invalid_argument("export: give either --onnx MODEL or --dlc");
  if (options.dlc && !options.weights.empty()) return invalid_argument("export: --weights is for --onnx");
  if (options.dlc && options.attached) return invalid_argument("export: --attached is for --onnx");
  if (!options.dlc && !options.layout.empty()) return invalid_argument("export: --layout is for --dlc");
  return options.dlc ? run_export_dlc(options) : run_export_onnx(options);
}

}  // namespace

void add_export(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = describe(app, "export",
                               {.purpose = "Write an ONNX model whose data is in a container, or a packed DLC",
                                .synopsis = "fatctx export FILE --onnx MODEL|--dlc -o OUT [options]",
                                .examples = {"fatctx export model.fatctx --onnx model.onnx -o small.onnx",
                                             "fatctx export model.fatctx --dlc -o model.dlc"},
                                .more = "docs/cli/wrap.md"});
  command->add_option("FILE", options->path, "The container, which holds the model's weights or the DLC")->required();
  command->add_option("--onnx", options->model, "The model that was packed")->type_name("MODEL");
  command->add_flag("--dlc", options->dlc, "The DLC that was packed with --dlc, byte for byte");
  command->add_option("--layout", options->layout, "The DLC with this layout record, if there are several")
      ->type_name("RECORD");
  command->add_option("-o,--output", options->output, "Where to; with --onnx the container must be below its folder")
      ->required()
      ->type_name("OUT");
  command->add_option("--weights", options->weights, "Only these weight blobs, by name or # and id")
      ->type_name("RECORD")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--attached", options->attached, "Name files that a program attaches, wherever the container is");
  command->add_flag("--force", options->force, "Replace OUT if it exists");
  command->callback([options, &outcome] { outcome.finish(run_export(*options)); });
}

}  // namespace fatctx::tools
