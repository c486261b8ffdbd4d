// A DLC on disk and a container made from it, created once per process, for tests of the functions about DLCs.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "capi/c_model.h"
#include "fatctx/import_dlc.h"
#include "fatctx/packer.h"
#include "support/dlc_file.h"

namespace fatctx::capi::testing {

class CDlc {
 public:
  static const CDlc& get() {
    static const CDlc files;
    return files;
  }
  [[nodiscard]] const std::string& dlc() const { return dlc_; }
  [[nodiscard]] const std::string& container() const { return container_; }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  CDlc() : bytes_(support::two_socs().write()) {
    support::write_file(dlc_, bytes_);
    Packer packer{PackOptions{}};
    std::vector<PackRecord> records = records_from_dlc(dlc_, {.group = "chat"}).value();
    for (PackRecord& record : records) {
      if (!packer.add(std::move(record)).ok()) throw std::runtime_error("a record of a DLC cannot be packed");
    }
    if (!packer.publish(container_).ok()) throw std::runtime_error("a DLC cannot be packed");
  }

  TempDir folder_;
  std::string dlc_ = folder_.file("two.dlc");
  std::string container_ = folder_.file("two.fatctx");
  Bytes bytes_;
};

inline const fatctx_dlc_choice* choice_of_57() {
  static const fatctx_dlc_choice choice = [] {
    static const std::uint32_t soc = 57;
    auto made = sized<fatctx_dlc_choice>();
    made.qnn_socs = &soc;
    made.soc_count = 1;
    return made;
  }();
  return &choice;
}

inline const fatctx_dlc_import* dlc_import() {
  static const fatctx_dlc_import import = [] {
    auto made = sized<fatctx_dlc_import>();
    made.group = "chat";
    made.unit = "main";
    made.prefix = "chat.";
    return made;
  }();
  return &import;
}

}  // namespace fatctx::capi::testing
