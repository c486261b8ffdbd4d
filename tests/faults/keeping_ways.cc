// Operations that keep a container trustworthy: keys, signing, opening with keys, repair, comparing.
#include <filesystem>
#include <utility>

#include "container/format/disk_format.h"
#include "fatctx/appender.h"
#include "fatctx/diff.h"
#include "fatctx/repair.h"
#include "fatctx/signature.h"
#include "faults/process_folder.h"
#include "faults/ways.h"
#include "support/large_form.h"
#include "support/sample_container.h"

namespace fatctx::faults {
namespace {

// A set of files that the constructor writes, before anything fails.
class KeepingFiles {
 public:
  static const KeepingFiles& get() {
    static const KeepingFiles files;
    return files;
  }

  const ProcessFolder folder;
  const std::string ordinary = folder.file("ordinary.fatctx");
  const std::string signed_file = folder.file("signed.fatctx");
  const std::string appended = folder.file("appended.fatctx");
  const std::string damaged = folder.file("damaged.fatctx");
  KeyFiles keys;

 private:
  KeepingFiles() {
    support::Bytes bytes = support::unsealed_sample();
    for (const std::string* path : {&ordinary, &appended}) support::write_file(*path, bytes);
    for (const std::uint64_t offset : {container::kPrologueOffsets[1], container::kSlotOffsets[2]}) {
      bytes[static_cast<std::size_t>(offset) + 20] ^= std::byte{1};
    }
    support::write_file(damaged, bytes);
    keys = make_keys(folder.file("release")).value();
    (void)sign_container(ordinary, keys.secret_path, signed_file).value();
    Appender appender = Appender::open(appended).value();
    const Status added = appender.add(support::binary_record("later", "riscv64", support::pattern(9'000, 4)));
    if (!added.ok() || !appender.commit().ok()) throw std::runtime_error("the test could not append to its file");
  }
};

Result<std::string> repaired(const std::string& damaged, const std::string& path) {
  std::filesystem::copy_file(damaged, path, std::filesystem::copy_options::overwrite_existing);
  FATCTX_ASSIGN(const RepairReport report, repair(path));
  if (!report.remaining.empty()) return report.remaining.front().error;
  return digest_of_file(path);  // an unreadable copy may have been restored as well
}

}  // namespace

std::vector<Way> keeping_ways() {
  const KeepingFiles& files = KeepingFiles::get();
  return {
      {"sign",
       [&files](const std::string& path) -> Result<std::string> {
         const std::string out = path + ".signed";
         FATCTX_ASSIGN(const SignReport report,
                       sign_container(files.ordinary, files.keys.secret_path, out, {.overwrite = true}));
         FATCTX_ASSIGN(const std::string digest, digest_of_file(out));
         return std::to_string(report.generation) + " " + digest;
       },
       20},
      {"sign in place",
       [&files](const std::string& path) -> Result<std::string> {
         const std::string copy = path + ".to_sign";
         std::filesystem::copy_file(files.ordinary, copy, std::filesystem::copy_options::overwrite_existing);
         std::filesystem::permissions(copy, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
         FATCTX_ASSIGN(const SignReport report, sign_container(copy, files.keys.secret_path, copy));
         FATCTX_ASSIGN(const std::string digest, digest_of_file(copy));
         const auto mode = static_cast<unsigned>(std::filesystem::status(copy).permissions());
         return std::to_string(report.generation) + " " + std::to_string(mode) + " " + digest;
       },
       25},
      {"open with a key",
       [&files](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const PublicKey key, read_public_key(files.keys.public_path));
         FATCTX_ASSIGN(const Container container, Container::open(files.signed_file, {.trusted_keys = {key}}));
         return all_views(container);
       },
       12},
      {"verify a file with a key",
       [&files](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const VerifyReport report,
                       verify_file(files.signed_file, {}, {.trusted_keys = {files.keys.public_key}}));
         if (!report.findings.empty()) return report.findings.front().error;
         return std::to_string(report.checked_bytes);
       },
       8},
      {"make keys",
       [](const std::string& path) -> Result<std::string> {
         for (const char* end : {".key", ".pub"}) std::filesystem::remove(path + end);
         FATCTX_ASSIGN(const KeyFiles made, make_keys(path));
         FATCTX_ASSIGN(const PublicKey key, read_public_key(made.public_path));
         return std::string(key == made.public_key ? "one pair" : "two keys");
       },
       8},
      {"repair", [&files](const std::string& path) { return repaired(files.damaged, path + ".damaged"); }, 15},
      {"repair of a whole file",
       [&files](const std::string& path) { return repaired(files.ordinary, path + ".whole"); }, 8},
      {"compare two containers",
       [&files](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const Container before, Container::open(files.ordinary));
         FATCTX_ASSIGN(const Container after, Container::open(files.appended));
         FATCTX_ASSIGN(const DiffReport report, diff(before, after));
         return to_json(report);
       },
       16},
  };
}

}  // namespace fatctx::faults
