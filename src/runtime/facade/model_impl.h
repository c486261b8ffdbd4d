// The state of a Model and of a Session.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/model.h"

namespace fatctx {

class PlainModel;

// A chosen context binary, or a record that it refers to. Lifetime: its texts borrow from the container or the
// PlainModel.
struct ModelPart {
  std::uint32_t record_id = 0;
  std::string_view name;
  RecordType type = RecordType::kContextBinary;
  std::string_view unit;
  std::uint64_t size_bytes = 0;
};

// A set of views that the choice has acquired, until the first session takes them.
struct AcquiredViews {
  std::mutex mutex;
  std::vector<RecordView> views;

  [[nodiscard]] std::vector<RecordView> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(views, {});
  }
};

struct Model::Impl {
  ModelFormat format = ModelFormat::kContainer;
  std::string path;
  Device device = {};
  SelectPolicy policy = {};
  std::vector<Candidate> candidates = {};
  Selection selection = {};
  std::vector<ModelPart> binaries = {};  // one for each unit, in unit order
  std::vector<ModelPart> weights = {};   // in record order
  // Members used for a container:
  std::optional<Container> container = {};
  std::shared_ptr<AcquiredViews> acquired = nullptr;  // null if choosing acquires nothing
  std::vector<RecordView> prepared = {};              // compiled source models, one for each of `binaries`
  // Member used for any other file:
  std::shared_ptr<const PlainModel> plain = nullptr;

  // Returns the ids of all parts, binaries first, then weights. Compiled source models have no ids, because they are
  // not in the file.
  [[nodiscard]] std::vector<std::uint32_t> record_ids() const;
};

// Returns the graphs of each chosen binary, as its metadata lists them. Reads the descriptions of a container once.
// Errors: those of Container::describe.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> graphs_of_binaries(const Model::Impl& model);

struct Session::Impl {
  // A list of the tensor tables of the weights, in their order. Copies of a session share it.
  struct Tables {
    std::mutex mutex;
    std::vector<std::optional<TensorTable>> tables;  // empty: not read yet
  };

  Model model;
  std::vector<SessionRecord> binaries = {};
  std::vector<SessionRecord> weights = {};
  std::shared_ptr<Tables> tables = nullptr;
  std::vector<std::uint32_t> record_ids = {};      // of all views of the file
  std::uint64_t file_look = 0;                     // the look of the file when the session began
  std::shared_ptr<const void> attached = nullptr;  // counts this session and its copies as one
};

}  // namespace fatctx
