#include "container/edit/key_files.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "fatctx/keys.h"
#include "fatctx/record.h"
#include "mapping/private_file.h"
#include "mapping/publish.h"

namespace fatctx {

using namespace container;

namespace {

constexpr std::string_view kPublicWord = "fatctx-public-key-v1 ";
constexpr std::string_view kSecretWord = "fatctx-secret-key-v1 ";
static_assert(kPublicWord.size() == kSecretWord.size());
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kTextBytes = kPublicWord.size() + 2 * kKeyBytes;

// A buffer for a line that may be a secret. It is never moved or copied, and is wiped at the end.
class KeyLine {
 public:
  KeyLine() = default;
  ~KeyLine() { wipe(std::as_writable_bytes(std::span(text_))); }
  KeyLine(const KeyLine&) = delete;
  KeyLine& operator=(const KeyLine&) = delete;

  void put(std::string_view word, std::span<const std::byte, kKeyBytes> key) noexcept {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    char* at = std::copy(word.begin(), word.end(), text_.begin());
    for (const std::byte value : key) {
      *at++ = kDigits[std::to_integer<std::size_t>(value >> 4)];
      *at++ = kDigits[std::to_integer<std::size_t>(value & std::byte{0x0f})];
    }
    *at++ = '\n';
    size_ = static_cast<std::size_t>(at - text_.begin());
  }
  // Errors: not_found, io; invalid_argument if it is longer than any key.
  Status read(const mapping::OsFile& file) {
    FATCTX_ASSIGN(const mapping::FileIdentity identity, file.identity());
    if (!identity.regular || identity.size > text_.size()) return not_a_key();
    size_ = static_cast<std::size_t>(identity.size);
    return file.read_at(0, std::as_writable_bytes(std::span(text_)).first(size_));
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }
  [[nodiscard]] ByteView bytes() const noexcept { return std::as_bytes(std::span(text_)).first(size_); }

  static Error not_a_key() {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("not a key of fatctx: one is a line of \"{}\" or \"{}\" and 64 hexadecimal digits",
                             kPublicWord, kSecretWord)};
  }

 private:
  std::array<char, kTextBytes + 2> text_ = {};  // room for a Windows line end
  std::size_t size_ = 0;
};

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Status parse(std::string_view text, std::string_view word, std::span<std::byte, kKeyBytes> key) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::string_view other = word == kPublicWord ? kSecretWord : kPublicWord;
  if (text.substr(0, other.size()) == other) {
    return Error{ErrorCode::kInvalidArgument, word == kPublicWord ? "this is a secret key; the public one is required"
                                                                  : "this is a public key; the secret one is required"};
  }
  if (text.size() != kTextBytes || text.substr(0, word.size()) != word) return KeyLine::not_a_key();
  text.remove_prefix(word.size());
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return KeyLine::not_a_key();
    key[i] = static_cast<std::byte>(high << 4 | low);
  }
  return Done{};
}

Status write_line(mapping::PendingFile& pending, const KeyLine& line) {
  FATCTX_TRY(pending.file().write_at(0, line.bytes()));
  return pending.publish(false);
}

// A guard that removes the public key again if writing the secret key fails.
class HalfPair {
 public:
  explicit HalfPair(mapping::PendingFile& published) : published_(&published) {}
  ~HalfPair() {
    if (published_ != nullptr) published_->take_back();
  }
  HalfPair(const HalfPair&) = delete;
  HalfPair& operator=(const HalfPair&) = delete;
  void completed() noexcept { published_ = nullptr; }

 private:
  mapping::PendingFile* published_;
};

}  // namespace

std::string to_text(const PublicKey& key) { return std::string(kPublicWord) + to_hex(key.bytes); }

Result<PublicKey> parse_public_key(std::string_view text) {
  PublicKey key;
  FATCTX_TRY(parse(text, kPublicWord, key.bytes));
  return key;
}

Result<PublicKey> read_public_key(const std::string& path) {
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  KeyLine line;
  auto read = line.read(*file.value());
  if (!read.ok()) return in_context(std::move(read).error(), path);
  auto key = parse_public_key(line.text());
  if (!key.ok()) return in_context(std::move(key).error(), path);
  return key;
}

Result<KeyFiles> make_keys(const std::string& name) {
  if (name.empty() || name.ends_with('/')) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("\"{}\" is not a name for a pair of keys; give one such as \"release\"", name)};
  }
  KeyFiles files{.secret_path = name + ".key", .public_path = name + ".pub", .public_key = {}};
  FATCTX_ASSIGN(const auto secret_file,
                mapping::PendingFile::create(files.secret_path, false, mapping::Readers::kOwner));
  FATCTX_ASSIGN(const auto public_file, mapping::PendingFile::create(files.public_path, false));
  FATCTX_ASSIGN(const SigningKey key, SigningKey::generate());
  files.public_key = key.public_key();
  KeyLine line;
  line.put(kPublicWord, files.public_key.bytes);
  auto published = write_line(*public_file, line);
  if (!published.ok() && published.error().code != ErrorCode::kCommitUnknown) return std::move(published).error();
  HalfPair half(*public_file);
  FATCTX_TRY(std::move(published));
  std::array<std::byte, kKeyBytes> seed;
  key.copy_seed(seed);
  line.put(kSecretWord, seed);
  wipe(seed);
  auto written = write_line(*secret_file, line);
  if (written.ok() || written.error().code == ErrorCode::kCommitUnknown) half.completed();
  FATCTX_TRY(std::move(written));
  return files;
}

Result<SigningKey> container::read_signing_key(const std::string& path) {
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  KeyLine line;
  auto read = mapping::check_private(*file.value());
  if (read.ok()) read = line.read(*file.value());
  std::array<std::byte, kKeyBytes> seed;
  if (read.ok()) read = parse(line.text(), kSecretWord, seed);
  if (!read.ok()) {
    wipe(seed);
    return in_context(std::move(read).error(), path);
  }
  SigningKey key = SigningKey::of_seed(seed);
  wipe(seed);
  return key;
}

}  // namespace fatctx
