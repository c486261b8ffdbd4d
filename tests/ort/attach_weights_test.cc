// Sessions whose weights are in a container: their results, their memory, and everything that is refused beforehand.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ort/small_net.h"
#include "support/opened.h"
#include "support/process_files.h"
#include "support/result_matchers.h"

namespace fatctx::ort_tests {

namespace attach_weights_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::OnnxGraph;
using support::OnnxTensor;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kCount = 3;
constexpr float kTolerance = 1e-5F;

std::string options_entry(const Ort::SessionOptions& options, const char* key) {
  return options.HasConfigEntry(key) ? options.GetConfigEntry(key) : "none";
}

class AttachWeights : public ::testing::Test {
 protected:
  // Writes the model to its own folder, next to a file of external data that `data` fills.
  std::string model_file(const std::string& bytes, const Bytes& data = {}) {
    std::filesystem::create_directories(folder_.file("model"));
    support::write_file(folder_.file("model/w.bin"), data);
    support::write_file(folder_.file("model/net.onnx"), view_of(bytes));
    return folder_.file("model/net.onnx");
  }
  // Writes the model without external data.
  std::string model_alone(const std::string& bytes) {
    const std::string path = model_file(bytes);
    std::filesystem::remove(folder_.file("model/w.bin"));
    return path;
  }
  std::vector<float> ordinary_result(const std::string& bytes, const Bytes& data) {
    Ort::Session session = session_of(model_file(bytes, data), session_options());
    return run(session);
  }
  std::string container_file(const Bytes& data, const std::string& name = "net.fatctx") {
    PackRecord blob = weight_blob("net.weights", tensors_);
    blob.source.bytes = data;
    return pack(folder_.file(name), {std::move(blob)});
  }
  Container container() {
    auto opened = Container::open(container_file(data_));
    if (!opened.ok()) throw std::runtime_error(to_text(opened.error()));
    return std::move(opened).value();
  }
  Result<AttachedWeights> attach(Ort::SessionOptions& options, const Container& container,
                                 const AttachOptions& how = {}) {
    return attach_weights(OrtGetApiBase(), options, container, how);
  }

  support::TempDir folder_;
  std::vector<OnnxTensor> tensors_ = matrix_tensors(kWidth, kCount);
  Bytes data_ = matrix_bytes(kWidth, kCount, 1);
  std::string model_ = support::model(support::matrices(kWidth, tensors_));
};

// Parts of stand-ins for ONNX Runtimes of other versions.
const OrtApi* this_interface(std::uint32_t version) noexcept { return OrtGetApiBase()->GetApi(version); }
const OrtApi* no_interface(std::uint32_t) noexcept { return nullptr; }
// An ONNX Runtime that cannot create an environment.
const OrtApi* without_environments(std::uint32_t version) noexcept {
  alignas(OrtApi) static std::byte bytes[sizeof(OrtApi)];
  std::memcpy(bytes, OrtGetApiBase()->GetApi(version), sizeof(OrtApi));
  auto* const api = reinterpret_cast<OrtApi*>(bytes);  // a table of functions that has no copy constructor
  api->CreateEnv = [](OrtLoggingLevel, const char*, OrtEnv**) noexcept {
    return OrtGetApiBase()->GetApi(ORT_API_VERSION)->CreateStatus(ORT_FAIL, "no more of these");
  };
  return api;
}
const OrtApiBase kWithoutEnvironments = {without_environments, []() noexcept { return "1.31.0"; }};
const OrtApiBase kBeforeBorrowing = {this_interface, []() noexcept { return "1.30.0"; }};
const OrtApiBase kBeforeAll = {no_interface, []() noexcept { return "1.22.1"; }};

TEST_F(AttachWeights, SessionsComputeWhatOrdinaryOnesDo) {
  const std::vector<float> expected = ordinary_result(model_, data_);
  const Container open = container();

  std::vector<AttachRoute> all = routes();
  all.push_back(AttachRoute::kAuto);
  for (const AttachRoute route : all) {
    for (const bool disable_prepacking : {true, false}) {
      SCOPED_TRACE(std::string(attach_route_name(route)) + (disable_prepacking ? "" : ", prepacked"));
      Ort::SessionOptions options = session_options();
      const auto attached =
          attach(options, open, {.route = route, .model = view_of(model_), .disable_prepacking = disable_prepacking});
      ASSERT_TRUE(is_ok(attached));
      // kInitializers needs the name of the file to exist; kFileBuffers does not.
      const bool by_name = route == AttachRoute::kInitializers || !runtime_borrows();
      const std::string path = by_name ? model_file(model_) : model_alone(model_);
      Ort::Session session = session_of(path, options);
      EXPECT_LE(greatest_difference(run(session), expected), kTolerance);
      EXPECT_EQ(options_entry(options, "session.disable_prepacking"), disable_prepacking ? "1" : "none");
    }
  }
}

TEST_F(AttachWeights, TheReportSaysWhatWasHandedOver) {
  Ort::SessionOptions options = session_options();

  const auto attached = attach(options, container(), {.model = view_of(model_)});

  ASSERT_TRUE(is_ok(attached));
  const AttachReport& report = attached.value().report();
  EXPECT_EQ(report.route, routes().front());
  EXPECT_EQ(report.runtime_version, OrtGetApiBase()->GetVersionString());
  EXPECT_EQ(report.size_bytes, kCount * kMatrixSize);
  EXPECT_EQ(report.tensor_count, kCount);
  EXPECT_TRUE(report.model_compared);
  ASSERT_EQ(report.blobs.size(), 1U);
  const AttachedBlob& blob = report.blobs[0];
  EXPECT_EQ(blob.record, "net.weights");
  EXPECT_EQ(blob.location, "w.bin");
  EXPECT_EQ(blob.access_path, AccessPath::kDirect);
  EXPECT_EQ(blob.size_bytes, kCount * kMatrixSize);
  EXPECT_EQ(blob.tensor_count, kCount);
  EXPECT_EQ(blob.copied_tensors + blob.copied_bytes + blob.process_bytes, 0U);
}

TEST_F(AttachWeights, AModelOutOfMemoryNeedsNoFileAtAll) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  const std::vector<float> expected = ordinary_result(model_, data_);
  Ort::SessionOptions options = session_options();
  const auto attached = attach(options, container());
  ASSERT_TRUE(is_ok(attached));

  Ort::Session session(environment(), model_.data(), model_.size(), options);

  EXPECT_LE(greatest_difference(run(session), expected), kTolerance);
}

TEST_F(AttachWeights, TheMappingLivesWhateverGoesFirst) {
  const std::string path = container_file(data_);
  const std::string model = model_file(model_);
  const std::vector<float> expected = ordinary_result(model_, data_);
  for (const AttachRoute route : routes()) {
    SCOPED_TRACE(attach_route_name(route));
    std::optional<Ort::SessionOptions> options = session_options();
    std::optional<Container> open = Container::open(path).value();
    std::optional<AttachedWeights> attached = attach(*options, *open, {.route = route}).value();
    open.reset();
    std::optional<Ort::Session> first = session_of(model, *options);
    std::optional<Ort::Session> second = session_of(model, *options);
    options.reset();
    std::optional<AttachedWeights> copy = attached;
    attached.reset();
    first.reset();
    EXPECT_LE(greatest_difference(run(*second), expected), kTolerance);
    EXPECT_NE(support::maps_of(path), 0U);

    copy.reset();
    EXPECT_EQ(support::maps_of(path), 0U) << "the session keeps no share in the mapping";
    second.reset();  // the session does not read the bytes any more
  }
}

TEST_F(AttachWeights, ADamagedContainerIsAnErrorBeforeASessionExists) {
  const std::string path = container_file(data_);
  const std::uint64_t payload = Container::open(path).value().find("net.weights").value().file_offset;
  Bytes bytes = support::read_file(path);
  bytes[static_cast<std::size_t>(payload) + 1234] ^= std::byte{1};
  support::write_file(path, bytes);
  const Container open = Container::open(path).value();

  for (const AttachRoute route : routes()) {
    Ort::SessionOptions options = session_options();

    const auto attached = attach(options, open, {.route = route});

    ASSERT_FALSE(attached.ok());
    EXPECT_EQ(attached.error().code, ErrorCode::kChecksumMismatch);
    EXPECT_THAT(attached.error().message, HasSubstr("net.fatctx"));
    EXPECT_EQ(options_entry(options, "session.disable_prepacking"), "none") << "the options were changed";
    EXPECT_EQ(options_entry(options, "session.use_external_initializer_file_buffers_directly"), "none");
  }
}

TEST_F(AttachWeights, AContainerOfAnotherModelIsRefusedAndListsWhatItHas) {
  std::vector<OnnxTensor> elsewhere = tensors_;
  for (OnnxTensor& tensor : elsewhere) tensor.location = "other.bin";
  const std::string other_file = support::model(support::matrices(kWidth, elsewhere));
  std::vector<OnnxTensor> moved = tensors_;
  std::swap(moved[0].offset, moved[2].offset);
  const std::string other_places = support::model(support::matrices(kWidth, moved));
  std::vector<OnnxTensor> beyond = tensors_;
  beyond[1].offset = kCount * kMatrixSize - 4;
  const std::string other_size = support::model(support::matrices(kWidth, beyond));
  std::vector<OnnxTensor> renamed = tensors_;
  renamed[1].name = "w9";
  const std::string other_name = support::model(support::matrices(kWidth, renamed));
  const Container open = container();
  Ort::SessionOptions options = session_options();

  for (const AttachRoute route : routes()) {
    const auto file = attach(options, open, {.route = route, .model = view_of(other_file)});
    ASSERT_TRUE(fails_with(file, ErrorCode::kNotFound));
    EXPECT_THAT(file.error().message, HasSubstr("\"w0\" in \"other.bin\""));
    EXPECT_THAT(file.error().message, HasSubstr("and no weight blob stands for that file; files there are: \"w.bin\""));
    const auto places = attach(options, open, {.route = route, .model = view_of(other_places)});
    ASSERT_TRUE(fails_with(places, ErrorCode::kInvalidArgument));
    EXPECT_THAT(places.error().message, HasSubstr("float32 [24, 24] at byte 4608 of \"w.bin\""));
    EXPECT_THAT(places.error().message, HasSubstr("has float32 [24, 24] at byte 0"));
    const auto size = attach(options, open, {.route = route, .model = view_of(other_size)});
    ASSERT_TRUE(fails_with(size, ErrorCode::kInvalidArgument));
    EXPECT_THAT(size.error().message, HasSubstr("it must be packed from the external data of this model"));
    const auto name = attach(options, open, {.route = route, .model = view_of(other_name)});
    ASSERT_TRUE(fails_with(name, ErrorCode::kInvalidArgument));
    EXPECT_THAT(name.error().message, HasSubstr("no such tensor"));
    const auto none = attach(options, open, {.route = route, .model = view_of("no model")});
    ASSERT_TRUE(fails_with(none, ErrorCode::kMalformed));
    EXPECT_THAT(none.error().message, HasSubstr("the bytes given as model are no ONNX model: "));
  }
  EXPECT_TRUE(is_ok(attach(options, open, {.model = view_of(model_)}))) << "the options were changed before";
}

TEST_F(AttachWeights, AModelWithItsWeightsInsideTakesNothingFromFiles) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  const std::string inside = support::model(support::matrices(kWidth, {}));
  const Container open = container();
  Ort::SessionOptions options = session_options();
  const auto files = attach(options, open, {.route = AttachRoute::kFileBuffers, .model = view_of(inside)});
  ASSERT_TRUE(fails_with(files, ErrorCode::kInvalidArgument));
  EXPECT_THAT(files.error().message, HasSubstr("the model has no external data"));
  const auto named = attach(options, open, {.route = AttachRoute::kInitializers, .model = view_of(inside)});
  ASSERT_TRUE(is_ok(named)) << "by name, they are replaced";
  EXPECT_FALSE(named.value().report().model_compared);
}

TEST_F(AttachWeights, WithoutTheModelOnnxRuntimeNamesAFileThatNoBlobStandsFor) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  std::vector<OnnxTensor> elsewhere = tensors_;
  for (OnnxTensor& tensor : elsewhere) tensor.location = "other.bin";
  Ort::SessionOptions options = session_options();
  const auto attached = attach(options, container());
  ASSERT_TRUE(is_ok(attached));
  const std::string model = model_file(support::model(support::matrices(kWidth, elsewhere)));

  try {
    const Ort::Session session = session_of(model, options);
    FAIL() << "a session exists";
  } catch (const Ort::Exception& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("other.bin"));
  }
}

TEST_F(AttachWeights, ATensorThatWouldBeCopiedIsRefusedUnlessThatIsAllowed) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  constexpr std::uint64_t kOdd = 2;  // floats are borrowed only at multiples of 4
  data_.insert(data_.begin(), kOdd, std::byte{0x5A});
  tensors_ = matrix_tensors(kWidth, kCount, kOdd);
  model_ = support::model(support::matrices(kWidth, tensors_));
  const std::vector<float> expected = ordinary_result(model_, data_);
  const Container open = container();

  Ort::SessionOptions options = session_options();
  const auto refused = attach(options, open, {.route = AttachRoute::kFileBuffers});
  ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
  EXPECT_THAT(refused.error().message, HasSubstr("tensor \"w0\", 2304 bytes of float32, starts at byte 2"));
  EXPECT_THAT(refused.error().message, HasSubstr("every session would copy it; pack the model with its weights inside, "
                                                 "or allow copies"));
  const auto by_name = attach(options, open, {.route = AttachRoute::kInitializers, .allow_copies = true});
  ASSERT_TRUE(fails_with(by_name, ErrorCode::kCopyNotAllowed));
  EXPECT_THAT(by_name.error().message,
              HasSubstr("kernels must not read it there; use the route file_buffers and allow copies"));

  const auto attached = attach(options, open, {.route = AttachRoute::kFileBuffers, .allow_copies = true});
  ASSERT_TRUE(is_ok(attached));
  EXPECT_EQ(attached.value().report().blobs[0].copied_tensors, kCount);
  EXPECT_EQ(attached.value().report().blobs[0].copied_bytes, kCount * kMatrixSize);
  Ort::Session session = session_of(model_alone(model_), options);
  EXPECT_LE(greatest_difference(run(session), expected), kTolerance);
}

TEST_F(AttachWeights, BlobsInPiecesAreMappedSideBySide) {
  // Both begin with the same pages, so the second of them is stored in the file in two pieces.
  constexpr std::uint64_t kWide = 64;  // 16 KiB a matrix
  Bytes first = matrix_bytes(kWide, 3, 1);
  Bytes second = matrix_bytes(kWide, 3, 2);
  std::copy(first.begin(), first.begin() + 2 * kWide * kWide * sizeof(float), second.begin());
  const auto tensors = matrix_tensors(kWide, 3);
  const std::string model = support::model(support::matrices(kWide, tensors));
  PackRecord binary;
  binary.type = RecordType::kContextBinary;
  binary.name = "code";
  binary.key.group = "net";
  binary.key.backend = "cpu";
  binary.key.arch = "generic";
  binary.key.generic = true;
  binary.source.bytes = matrix_bytes(8, 1, 5);
  binary.weights = {"a", "b"};  // a binary reads its weights as a whole, so they are shared by pages
  std::vector<PackRecord> records = {weight_blob("a", tensors), weight_blob("b", tensors, "b.bin"), std::move(binary)};
  records[0].source.bytes = first;
  records[1].source.bytes = second;
  const Container open = Container::open(pack(folder_.file("net.fatctx"), std::move(records))).value();
  const std::string path = model_file(model, second);
  Ort::Session ordinary = session_of(path, session_options());
  const std::vector<float> expected = run(ordinary, kWide);

  Ort::SessionOptions options = session_options();
  const auto attached =
      attach(options, open, {.files = {{.record = "b", .location = "w.bin"}}, .model = view_of(model)});

  ASSERT_TRUE(is_ok(attached));
  EXPECT_EQ(attached.value().report().blobs[0].access_path, AccessPath::kStitched);
  EXPECT_EQ(attached.value().report().blobs[0].process_bytes, 0U);
  Ort::Session session = session_of(runtime_borrows() ? model_alone(model) : model_file(model), options);
  EXPECT_LE(greatest_difference(run(session, kWide), expected), kTolerance);
}

TEST_F(AttachWeights, ABlobThatIsNowhereWholeGivesItsTensorsByName) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  constexpr std::uint64_t kWide = 40;  // so that a matrix does not end on a page boundary
  const auto tensors = matrix_tensors(kWide, 12);
  const Bytes first = matrix_bytes(kWide, 12, 1);
  Bytes second = first;  // the same matrices, in another order
  std::rotate(second.begin(), second.begin() + kWide * kWide * sizeof(float), second.end());
  std::vector<PackRecord> records = {weight_blob("a", tensors, "a.bin"), weight_blob("b", tensors, "b.bin")};
  records[0].source.bytes = first;
  records[1].source.bytes = second;
  const Container open = Container::open(pack(folder_.file("net.fatctx"), std::move(records))).value();
  const auto& all = support::records_in(open);
  const auto composed = std::find_if(all.begin(), all.end(), [](const RecordInfo& record) { return record.recipe; });
  ASSERT_NE(composed, all.end());
  std::vector<OnnxTensor> named = tensors;
  for (OnnxTensor& tensor : named) tensor.location = std::string(composed->name) + ".bin";
  const std::string model = support::model(support::matrices(kWide, named));
  const AttachFile file = {.record = std::string(composed->name), .location = {}};
  Ort::SessionOptions options = session_options();

  const auto refused = attach(options, open, {.route = AttachRoute::kFileBuffers, .files = {file}});
  ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
  EXPECT_THAT(refused.error().message, HasSubstr("; the route initializers takes tensors one by one"));

  const auto attached = attach(options, open, {.route = AttachRoute::kInitializers, .files = {file}});
  ASSERT_TRUE(is_ok(attached));
  const std::string path = model_file(model);
  support::write_file(folder_.file("model/" + file.record + ".bin"), {});
  Ort::Session session = session_of(path, options);
  const std::string ordinary = support::model(support::matrices(kWide, tensors));
  Ort::Session want = session_of(model_file(ordinary, file.record == "a" ? first : second), session_options());
  EXPECT_LE(greatest_difference(run(session, kWide), run(want, kWide)), kTolerance);
}

TEST_F(AttachWeights, WhichBlobIsMeantMustBeClear) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  std::vector<PackRecord> records = {weight_blob("first", tensors_), weight_blob("second", tensors_),
                                     weight_blob("unnamed", tensors_, ""), weight_blob("bare", {}, "bare.bin")};
  for (std::uint32_t i = 0; i < records.size(); ++i) records[i].source.bytes = matrix_bytes(kWidth, kCount, 1 + i);
  const Container open = Container::open(pack(folder_.file("net.fatctx"), std::move(records))).value();
  Ort::SessionOptions options = session_options();

  const auto twice = attach(options, open);
  ASSERT_TRUE(fails_with(twice, ErrorCode::kInvalidArgument));
  EXPECT_THAT(twice.error().message, HasSubstr("\"first\" and \"second\" both stand for the file \"w.bin\""));
  EXPECT_TRUE(fails_with(attach(options, open, {.files = {{"thrid", {}}}}), ErrorCode::kNotFound));
  const auto table = attach(options, open, {.files = {{"first.tensors", {}}}});
  ASSERT_TRUE(fails_with(table, ErrorCode::kInvalidArgument));
  EXPECT_THAT(table.error().message, HasSubstr("record \"first.tensors\" is a tensor_table, not a weight_blob"));
  const auto unnamed = attach(options, open, {.files = {{"unnamed", {}}}});
  ASSERT_TRUE(fails_with(unnamed, ErrorCode::kInvalidArgument));
  EXPECT_THAT(unnamed.error().message,
              HasSubstr("record \"unnamed\" has no option \"onnx.location\"; say in `location` which external data "
                        "file of the model it stands for"));
  const auto same_names =
      attach(options, open, {.route = AttachRoute::kInitializers, .files = {{"first", {}}, {"unnamed", "other.bin"}}});
  ASSERT_TRUE(fails_with(same_names, ErrorCode::kInvalidArgument));
  EXPECT_THAT(same_names.error().message, HasSubstr("both have a tensor \"w0\""));
  const auto bare = attach(options, open, {.route = AttachRoute::kInitializers, .files = {{"bare", {}}}});
  ASSERT_TRUE(fails_with(bare, ErrorCode::kUnsupported));
  EXPECT_THAT(bare.error().message, HasSubstr("record \"bare\" has no tensor table, and the route initializers goes by "
                                              "names; pack it with --weights MODEL.onnx"));
  EXPECT_TRUE(is_ok(attach(options, open, {.files = {{"second", {}}, {"unnamed", "./other.bin"}, {"bare", {}}}})));
}

TEST_F(AttachWeights, AContainerWithoutSuchABlobSaysWhichThereAre) {
  PackRecord blob = weight_blob("params", tensors_, "");
  blob.source.bytes = data_;
  const Container open = Container::open(pack(folder_.file("net.fatctx"), {std::move(blob)})).value();
  Ort::SessionOptions options = session_options();

  const auto attached = attach(options, open);

  ASSERT_TRUE(fails_with(attached, ErrorCode::kNotFound));
  EXPECT_THAT(attached.error().message, HasSubstr("weight blobs there are: \"params\""));
}

TEST_F(AttachWeights, AnOlderOnnxRuntimeTakesTensorsByName) {
  const Container open = container();
  Ort::SessionOptions options = session_options();

  const auto refused = attach_weights(&kBeforeBorrowing, options, open, {.route = AttachRoute::kFileBuffers});
  ASSERT_TRUE(fails_with(refused, ErrorCode::kUnsupported));
  EXPECT_THAT(refused.error().message,
              HasSubstr("ONNX Runtime 1.30.0 copies external data from memory for every session; the route "
                        "file_buffers needs 1.31 or newer, the route initializers does not"));
  const auto attached = attach_weights(&kBeforeBorrowing, options, open, {});
  ASSERT_TRUE(is_ok(attached));
  EXPECT_EQ(attached.value().report().route, AttachRoute::kInitializers);
  Ort::Session session = session_of(model_file(model_), options);
  EXPECT_LE(greatest_difference(run(session), ordinary_result(model_, data_)), kTolerance);

  const auto too_old = attach_weights(&kBeforeAll, options, open, {});
  ASSERT_TRUE(fails_with(too_old, ErrorCode::kUnsupported));
  EXPECT_THAT(too_old.error().message,
              HasSubstr("ONNX Runtime 1.22.1 is too old to attach weights: 1.23 or newer is needed"));
  const auto no_environment = attach_weights(&kWithoutEnvironments, options, open, {});
  ASSERT_TRUE(fails_with(no_environment, ErrorCode::kInvalidArgument));
  EXPECT_THAT(no_environment.error().message,
              HasSubstr("ONNX Runtime 1.31.0 refuses making an environment: no more of these"));
  const auto no_runtime = attach_weights(nullptr, options, open, {});
  ASSERT_TRUE(fails_with(no_runtime, ErrorCode::kInvalidArgument));
  EXPECT_THAT(no_runtime.error().message, HasSubstr("the OrtApiBase is null; OrtGetApiBase() gives it"));
  const auto no_options = attach_weights(OrtGetApiBase(), nullptr, open, {});
  ASSERT_TRUE(fails_with(no_options, ErrorCode::kInvalidArgument));
  EXPECT_THAT(no_options.error().message, HasSubstr("the session options are null"));
}

TEST_F(AttachWeights, OptionsThatWereAttachedToAreRefused) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  const Container open = container();
  for (const AttachRoute route : routes()) {
    Ort::SessionOptions options = session_options();
    const auto first = attach(options, open, {.route = route});
    ASSERT_TRUE(is_ok(first));

    const auto again = attach(options, open, {.route = route});

    ASSERT_TRUE(fails_with(again, ErrorCode::kInvalidArgument));
    EXPECT_THAT(again.error().message,
                HasSubstr(route == AttachRoute::kFileBuffers ? " refuses external data from memory: "
                                                             : " refuses initializer \"w0\": "));
  }
}

TEST_F(AttachWeights, ByNameNothingIsTakenOutOfAPlaceholderOfTheFile) {
  // The optimizer would fold the transposition, using the values that it finds in the file.
  OnnxGraph net = support::matrices(kWidth, {tensors_[0]});
  net.nodes = {support::node("Transpose", {"w0"}, "t"), support::node("MatMul", {"x", "t"}, "y")};
  const std::string model = support::model(net);
  const std::vector<float> expected = ordinary_result(model, data_);
  const std::string path = model_file(model, matrix_bytes(kWidth, kCount, 77));
  const Container open = container();

  Ort::SessionOptions options = session_options();
  const auto attached = attach(options, open, {.route = AttachRoute::kInitializers, .model = view_of(model)});
  ASSERT_TRUE(is_ok(attached));
  Ort::Session session = session_of(path, options);
  EXPECT_LE(greatest_difference(run(session), expected), kTolerance);

  Ort::SessionOptions optimising = session_options();
  const auto kept = attach(optimising, open, {.route = AttachRoute::kInitializers, .keep_optimisation_level = true});
  ASSERT_TRUE(is_ok(kept));
  Ort::Session from_file = session_of(path, optimising);
  EXPECT_GT(greatest_difference(run(from_file), expected), 0.01F) << "switching it off is not needed any more";
  Ort::Session with_the_file = session_of(model_file(model, data_), optimising);
  EXPECT_LE(greatest_difference(run(with_the_file), expected), kTolerance);
}

TEST_F(AttachWeights, InitializersOfInnerGraphsAreTakenByNameOnly) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  // The condition depends on x, so that no optimizer can choose a branch.
  OnnxGraph then;
  then.name = "then";
  then.tensors = {tensors_[1]};
  then.nodes = {support::node("MatMul", {"m", "w1"}, "t")};
  then.outputs = {support::value("t", {1, kWidth})};
  OnnxGraph other;
  other.name = "else";
  other.nodes = {support::node("Identity", {"m"}, "e")};
  other.outputs = {support::value("e", {1, kWidth})};
  support::Message choice = support::node("If", {"positive"}, "y");
  choice.message(5, support::Message().text(1, "then_branch").message(6, support::graph(then)).number(20, 5));
  choice.message(5, support::Message().text(1, "else_branch").message(6, support::graph(other)).number(20, 5));
  OnnxGraph net = support::matrices(kWidth, {tensors_[0]});
  net.nodes = {support::node("MatMul", {"x", "w0"}, "m"), support::node("ReduceSumSquare", {"x"}, "s"),
               support::node("Cast", {"s"}, "positive1"), support::node("Squeeze", {"positive1"}, "positive"), choice};
  net.nodes[2].message(5, support::Message().text(1, "to").number(3, support::kOnnxBool).number(20, 2));
  const std::string model = support::model(net);
  const std::vector<float> expected = ordinary_result(model, data_);
  const Container open = container();
  Ort::SessionOptions options = session_options();

  const auto refused = attach(options, open, {.route = AttachRoute::kFileBuffers, .model = view_of(model)});
  ASSERT_TRUE(fails_with(refused, ErrorCode::kUnsupported));
  EXPECT_THAT(refused.error().message, HasSubstr("tensor \"w1\" is in the body of a node"));

  const auto attached = attach(options, open, {.route = AttachRoute::kInitializers, .model = view_of(model)});
  ASSERT_TRUE(is_ok(attached));
  Ort::Session session = session_of(model_file(model, matrix_bytes(kWidth, kCount, 77)), options);
  EXPECT_LE(greatest_difference(run(session), expected), kTolerance);
}

TEST_F(AttachWeights, AWeightOfAFunctionOrWithTheNameOfAnotherIsRefusedInsteadOfLeftToTheFile) {
  OnnxGraph net = support::matrices(kWidth, {tensors_[0]});
  const support::Message constant =
      support::node("Constant", {}, "c")
          .message(5, support::Message().text(1, "value").message(5, support::tensor(tensors_[1])));
  const std::string function =
      support::model(net) + support::Message().message(25, support::Message().message(7, constant)).bytes();
  OnnxGraph body;
  body.tensors = {tensors_[1]};
  body.tensors[0].name = "w0";  // another weight than that of the main graph
  net.nodes.push_back(support::node("If", {"x"}, "z"));
  net.nodes.back().message(5, support::Message().text(1, "then_branch").message(6, support::graph(body)).number(20, 5));
  const std::string same_name = support::model(net);
  const Container open = container();
  Ort::SessionOptions options = session_options();

  const auto in_function = attach(options, open, {.route = AttachRoute::kInitializers, .model = view_of(function)});
  const auto of_body = attach(options, open, {.route = AttachRoute::kInitializers, .model = view_of(same_name)});

  ASSERT_TRUE(fails_with(in_function, ErrorCode::kUnsupported));
  EXPECT_THAT(in_function.error().message,
              HasSubstr("whatever is attached; `fatctx export --attached` writes a model"));
  ASSERT_TRUE(fails_with(of_body, ErrorCode::kInvalidArgument));
  EXPECT_THAT(of_body.error().message, HasSubstr("model; if two bodies use one name, `fatctx export --attached`"));
}

TEST_F(AttachWeights, ATypeThatTablesDoNotHaveIsLeftToTheFile) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  PackRecord blob = weight_blob("net.weights", tensors_);
  blob.source.bytes = data_;
  blob.description.options.push_back({"tensor.w2.type", "float8e4m3fn [24, 24]", "onnx"});
  const Container open = Container::open(pack(folder_.file("net.fatctx"), {std::move(blob)})).value();
  Ort::SessionOptions options = session_options();

  const auto refused = attach(options, open, {.route = AttachRoute::kInitializers});

  ASSERT_TRUE(fails_with(refused, ErrorCode::kUnsupported));
  EXPECT_THAT(refused.error().message,
              HasSubstr("tensor \"w2\" has a type that tensor tables do not have; use the route file_buffers"));
  EXPECT_TRUE(is_ok(attach(options, open, {.route = AttachRoute::kFileBuffers})));
}

TEST(AttachRouteName, IsTheWordOfTheReport) {
  EXPECT_EQ(attach_route_name(AttachRoute::kAuto), "auto");
  EXPECT_EQ(attach_route_name(AttachRoute::kFileBuffers), "file_buffers");
  EXPECT_EQ(attach_route_name(AttachRoute::kInitializers), "initializers");
}

}  // namespace attach_weights_test
}  // namespace fatctx::ort_tests
