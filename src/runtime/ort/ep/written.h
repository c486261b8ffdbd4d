// What a compilation has written to a container, for as long as it may have to go again: ONNX Runtime writes the
// context model later than the container, and can fail then.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/packer.h"
#include "mapping/file_identity.h"
#include "mapping/work_folder.h"

namespace fatctx::ort {

// A container and its context model that new ones take the place of, under other names until those are there to stay.
class Replaced {
 public:
  // Nothing where the file system has no second names for files.
  [[nodiscard]] static std::optional<Replaced> keep(const std::string& container, const std::string& model);
  // The model only if another one is there by now.
  [[nodiscard]] Status put_back(const std::string& container) const;

 private:
  struct Model {
    std::string path;
    mapping::FileIdentity before;
  };
  explicit Replaced(mapping::WorkFolder folder) : folder_(std::move(folder)) {}
  mapping::WorkFolder folder_;
  std::optional<Model> model_;
};

// That `container` has another file behind its name than it had. The code: changed.
[[nodiscard]] Error somebody_replaced(const std::string& container);

class Written {
 public:
  [[nodiscard]] static Written packed(const PackReport& report, std::optional<Replaced> replaced);
  [[nodiscard]] static Written appended(const AppendReport& report);

  [[nodiscard]] const std::string& container() const noexcept { return container_; }
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }
  // What whoever appended to a container should know, such as that its signature is gone.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  // The container has the records it had before, as a further generation; a new one is removed, or gives way to the one
  // that was there. Where others have appended to a new one meanwhile, only what was written goes. Holds the lock of
  // the file from the first look on. False: a new container stays, with what others have appended.
  // Requires: nobody else in the process writes to it. Errors: those of Appender::open and Appender::commit; changed;
  // bad_reference if what others have appended needs it.
  [[nodiscard]] Result<bool> take_back() const;

 private:
  Written() = default;
  [[nodiscard]] Status leave_out(Appender appender, const Container& now) const;

  std::string container_;
  std::string uuid_;
  std::uint64_t generation_ = 0;
  bool is_new_ = false;  // the container itself
  std::optional<Replaced> replaced_;
  std::vector<PackedRecordReport> records_;
  std::vector<std::string> warnings_;
};

}  // namespace fatctx::ort
