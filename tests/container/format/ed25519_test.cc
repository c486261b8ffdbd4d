// Ed25519 as the format defines it: the vectors that all implementations agree on, and those on which they differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "container/format/crypto.h"
#include "fatctx/record.h"
#include "source_dir.h"
#include "support/pattern.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace ed25519_test {

using support::Bytes;

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

template <std::size_t N>
std::array<std::byte, N> array_from_hex(const std::string& text) {
  const Bytes bytes = from_hex(text);
  std::array<std::byte, N> array = {};
  EXPECT_EQ(bytes.size(), N);
  std::copy_n(bytes.begin(), std::min(bytes.size(), N), array.begin());
  return array;
}

nlohmann::json vectors() {
  return nlohmann::json::parse(std::ifstream(FATCTX_SOURCE_DIR "/tests/container/format/ed25519_vectors.json"));
}

TEST(Ed25519, EveryPublishedVectorIsAcceptedOrRefusedAsStrictVerifiersDo) {
  std::size_t refused = 0;
  for (const auto& vector : vectors()) {
    const PublicKey key{array_from_hex<32>(vector["key"])};
    const auto signature = array_from_hex<64>(vector["signature"]);

    const bool holds = signature_holds(from_hex(vector["message"]), signature, key);

    EXPECT_EQ(holds, vector["valid"].get<bool>()) << vector["name"];
    refused += holds ? 0U : 1U;
  }
  EXPECT_EQ(refused, 11U);
}

TEST(Ed25519, ASecretKeyGivesThePublishedKeyAndSignature) {
  for (const auto& vector : vectors()) {
    if (!vector.contains("secret")) continue;
    const auto seed = array_from_hex<kSeedBytes>(vector["secret"]);
    const SigningKey key = SigningKey::of_seed(seed);

    EXPECT_EQ(to_hex(key.public_key().bytes), vector["key"]);
    EXPECT_EQ(to_hex(key.sign(from_hex(vector["message"]))), vector["signature"]);
    std::array<std::byte, kSeedBytes> copy;
    key.copy_seed(copy);
    EXPECT_EQ(copy, seed);
  }
}

TEST(Ed25519, EveryFlippedBitOfASignatureAMessageOrAKeyIsRefused) {
  const SigningKey key = SigningKey::generate().value();
  Bytes message = support::pattern(122, 3);
  auto signature = key.sign(message);
  PublicKey of = key.public_key();
  ASSERT_TRUE(signature_holds(message, signature, of));
  const auto every_bit = [&](auto& bytes) {
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      EXPECT_FALSE(signature_holds(message, signature, of)) << bit;
      bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
  };
  every_bit(signature);
  every_bit(message);
  every_bit(of.bytes);
}

TEST(Sha256, GivesThePublishedDigestsInOnePieceAndInMany) {
  // FIPS 180-2, appendix B.
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  const struct {
    std::string text;
    std::string digest;
  } rows[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
              {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
              {two_blocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
  for (const auto& row : rows) {
    const ByteView bytes = std::as_bytes(std::span(row.text));
    EXPECT_EQ(to_hex(sha256(bytes)), row.digest);
    Sha256 pieces;
    for (std::size_t i = 0; i < bytes.size(); ++i) pieces.update(bytes.subspan(i, 1));
    EXPECT_EQ(to_hex(pieces.digest()), row.digest);
    EXPECT_EQ(to_hex(pieces.digest()), row.digest) << "asking ends nothing";
  }
}

}  // namespace ed25519_test
}  // namespace fatctx::container
