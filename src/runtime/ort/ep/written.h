// The content that a compilation has written to a container, as long as it may have to be removed again. ONNX Runtime
// writes the context model after the container, and can fail then.
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

// A container and its context model that are being replaced. They are kept under other names until the new ones are
// known to stay.
class Replaced {
 public:
  // Returns nothing if the file system does not support hard links.
  [[nodiscard]] static std::optional<Replaced> keep(const std::string& container, const std::string& model);
  // Puts the container back, and the model if another one exists at its path by now.
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

// Returns the error for a container that another file has replaced at its path. The code is changed.
[[nodiscard]] Error somebody_replaced(const std::string& container);

class Written {
 public:
  [[nodiscard]] static Written packed(const PackReport& report, std::optional<Replaced> replaced);
  [[nodiscard]] static Written appended(const AppendReport& report);

  [[nodiscard]] const std::string& container() const noexcept { return container_; }
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }
  // Returns warnings for the user after an append, such as that the signature is gone.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  // Takes back the written records. An appended container gets a further generation with the records it had before. A
  // new container is removed, or the one it replaced is put back. If others have appended to a new container meanwhile,
  // only the written records are removed.
  // Holds the lock of the file from its first read on. Returns false if a new container remains, with the records of
  // others.
  // Requires: no other code of the process writes to the container. Errors: those of Appender::open and
  // Appender::commit; changed; bad_reference if appended records of others refer to the written ones.
  [[nodiscard]] Result<bool> take_back() const;

 private:
  Written() = default;
  [[nodiscard]] Status leave_out(Appender appender, const Container& now) const;

  std::string container_;
  std::string uuid_;
  std::uint64_t generation_ = 0;
  bool is_new_ = false;  // the container itself is new
  std::optional<Replaced> replaced_;
  std::vector<PackedRecordReport> records_;
  std::vector<std::string> warnings_;
};

}  // namespace fatctx::ort
