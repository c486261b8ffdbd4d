// The execution provider from C++: AppendExecutionProvider_V2, order of destruction, and runtimes that are too old.
#include <dlfcn.h>

#include <filesystem>
#include <optional>

#include "ort/provider_fixture.h"

namespace fatctx::support {
namespace provider_test {

class Provider : public ProviderTest {};

TEST_F(Provider, ComputesWhatTheCpuComputes) {
  const std::string model = compile("m");
  Ort::Session plain = ordinary(folder_.file("m.onnx"));
  for (const char* const memory : {"least", "full_speed"}) {
    Ort::Session made = session(model, {{"memory", memory}});
    for (const std::int64_t rows : {1, 4, 9}) expect_near(run(made, rows), run(plain, rows));
  }
}

TEST_F(Provider, AnswersForTheDevicesOfTheProcessor) {
  for (const auto& device : env_.GetEpDevices()) {
    if (std::string(device.EpName()) != kName) continue;
    EXPECT_EQ(std::string(device.EpVendor()), "fatctx");
    EXPECT_EQ(device.Device().Type(), OrtHardwareDeviceType_CPU);
  }
}

TEST_F(Provider, SessionsOutliveTheContainerFile) {
  const std::string model = compile("m");
  std::optional<Ort::Session> first = session(model);
  Ort::Session second = session(model, {{"memory", "full_speed"}});
  const std::vector<float> want = run(second, 2);
  std::filesystem::remove(folder_.file("m.fatctx"));
  first.reset();
  expect_near(run(second, 2), want);
}

TEST_F(Provider, GivesItsErrorAsInvalidGraph) {
  const std::string model = compile("m");
  std::filesystem::remove(folder_.file("m.fatctx"));
  try {
    const Ort::Session made = session(model);
    FAIL() << "a session without its container";
  } catch (const Ort::Exception& error) {
    EXPECT_EQ(error.GetOrtErrorCode(), ORT_INVALID_GRAPH);
    EXPECT_NE(std::string(error.what()).find("m.fatctx"), std::string::npos) << error.what();
  }
}

TEST_F(Provider, GivesAWrongOptionAsInvalidArgument) {
  const std::string model = compile("m");
  try {
    const Ort::Session made = session(model, {{"memory", "all of it"}});
    FAIL() << "a session with a wrong option";
  } catch (const Ort::Exception& error) {
    EXPECT_EQ(error.GetOrtErrorCode(), ORT_INVALID_ARGUMENT);
  }
}

TEST_F(Provider, ModelsThatOnlyLiveInMemoryWork) {
  const std::string compiled = compile_in_memory([](auto& compilation) { compilation.SetEpContextEmbedMode(true); });
  Ort::Session made(env_, compiled.data(), compiled.size(), options());
  EXPECT_EQ(run(made, 2).size(), 64U);
}

TEST_F(Provider, TakesTheContainerForABufferFromSetEpContextBinaryInformation) {
  const std::string compiled = compile_in_memory([&](auto& compilation) {
    compilation.SetEpContextBinaryInformation((folder_.path() + "/").c_str(), "net.onnx");
  });
  EXPECT_TRUE(std::filesystem::exists(folder_.file("net.fatctx")));
  Ort::SessionOptions with_folder = options();
  with_folder.AddConfigEntry("ep.context_file_path", folder_.file("net.onnx").c_str());
  Ort::Session made(env_, compiled.data(), compiled.size(), with_folder);
  EXPECT_EQ(run(made, 2).size(), 64U);
}

// A runtime of interface 22: it has no table of a later interface.
const OrtApi* ORT_API_CALL old_api(std::uint32_t version) noexcept {
  return version < 23 ? OrtGetApiBase()->GetApi(version) : nullptr;
}

TEST(ProviderLibrary, RefusesARuntimeThatIsTooOld) {
  // A copy, because the library remembers the runtime that loaded it.
  TempDir folder;
  const std::string copy = folder.file("libcopy.so");
  std::filesystem::copy_file(FATCTX_ORT_LIBRARY, copy);
  void* const library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  using Create =
      OrtStatus* (*)(const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**, std::size_t, std::size_t*);
  const auto create = reinterpret_cast<Create>(dlsym(library, "CreateEpFactories"));
  ASSERT_NE(create, nullptr);
  const OrtApiBase old = {.GetApi = old_api, .GetVersionString = []() noexcept -> const char* { return "1.22.0"; }};
  OrtEpFactory* factory = nullptr;
  std::size_t made = 7;
  const Ort::Status status(create("any", &old, nullptr, &factory, 1, &made));
  ASSERT_FALSE(status.IsOK());
  EXPECT_EQ(made, 0U);
  EXPECT_NE(
      status.GetErrorMessage().find("this ONNX Runtime is older than the one that libfatctx_ort.so was built for; "
                                    "use ONNX Runtime 1.23 or newer"),
      std::string::npos)
      << status.GetErrorMessage();
  const Ort::Status no_room(create("any", OrtGetApiBase(), nullptr, &factory, 0, &made));
  ASSERT_FALSE(no_room.IsOK());
  EXPECT_NE(no_room.GetErrorMessage().find("ONNX Runtime has no room for a factory"), std::string::npos);
}

}  // namespace provider_test
}  // namespace fatctx::support
