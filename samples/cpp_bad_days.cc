// Truncates a file while it is mapped, and uses views that no writer can change: cpp_bad_days model.fatctx
#include <cstdio>
#include <filesystem>

#include "fatctx/mapping_guard.h"
#include "fatctx/model.h"

namespace {

// Simulates an inference: reads every byte of the weights.
unsigned sum(const fatctx::Session& session) {
  unsigned total = 0;
  for (const fatctx::SessionRecord& weights : session.weights()) {
    for (const std::byte byte : weights.view.bytes()) total += static_cast<unsigned>(byte);
  }
  return total;
}

fatctx::Status run(const std::filesystem::path& model) {
  const std::filesystem::path copy = model.string() + ".cut";
  std::filesystem::copy_file(model, copy, std::filesystem::copy_options::overwrite_existing);
  FATCTX_TRY(fatctx::install_mapping_guard());

  // Asks for copies in sealed memory: they cost memory, and nobody can change them.
  fatctx::ModelOptions sealed;
  sealed.open.verify = fatctx::VerifyPolicy::kPrivateCopy;
  FATCTX_ASSIGN(const fatctx::Model careful, fatctx::Model::open(copy.string(), sealed));
  FATCTX_ASSIGN(fatctx::Session safe, careful.begin_session());
  const unsigned right = sum(safe);

  FATCTX_ASSIGN(const fatctx::Model mapped, fatctx::Model::open(copy.string()));
  FATCTX_ASSIGN(fatctx::Session session, mapped.begin_session());
  std::filesystem::resize_file(copy, 64 * 1024);  // never do this

  std::printf("private copy: %s\n", sum(safe) == right && safe.end().ok() ? "right" : "wrong");
  std::printf("mapping: %s\n", sum(session) == right ? "right" : "wrong");  // no signal: the guard maps zeros
  const auto ended = session.end();                                         // reports the loss
  std::printf("end: %s\n", ended.ok() ? "good" : std::string(error_code_name(ended.error().code)).c_str());
  return fatctx::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const auto status = run(argc > 1 ? argv[1] : "model.fatctx");
  if (!status.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(status.error()).c_str()), 1;
}
