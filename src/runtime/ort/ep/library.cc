// The two functions that ONNX Runtime looks up in libfatctx_ort.so: CreateEpFactories and ReleaseEpFactory.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "fatctx/version.h"
#include "runtime/ort/ep/compatibility.h"
#include "runtime/ort/ep/provider.h"

namespace fatctx::ort {
namespace {

constexpr std::string_view kVendor = "fatctx";

class Factory : public OrtEpFactory {
 public:
  explicit Factory(const OrtLogger* logger) : OrtEpFactory{}, logger_(logger) {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEpFactory*) noexcept -> const char* { return kProviderName.data(); };
    GetVendor = [](const OrtEpFactory*) noexcept -> const char* { return kVendor.data(); };
    GetVendorId = [](const OrtEpFactory*) noexcept -> std::uint32_t { return 0; };  // no PCI vendor
    GetVersion = [](const OrtEpFactory*) noexcept -> const char* { return FATCTX_VERSION; };
    GetSupportedDevices = devices;
    CreateEp = create;
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Provider*>(ep); };
    ValidateCompiledModelCompatibilityInfo = validate;
    // Some versions of ONNX Runtime call it without a check for null; there is no data to transfer.
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
  }

 private:
  static OrtStatus* ORT_API_CALL devices(OrtEpFactory* self, const OrtHardwareDevice* const* devices, std::size_t count,
                                         OrtEpDevice** ep_devices, std::size_t max, std::size_t* made) noexcept {
    *made = 0;
    return guarded([&]() -> Status {
      for (std::size_t i = 0; i < count && *made < max; ++i) {
        if (Ort::GetApi().HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        Ort::ThrowOnError(
            Ort::GetApi().GetEpApi()->CreateEpDevice(self, devices[i], nullptr, nullptr, &ep_devices[*made]));
        ++*made;
        break;  // claims one processor, even if several are listed
      }
      return Done{};
    });
  }

  static OrtStatus* ORT_API_CALL create(OrtEpFactory* self, const OrtHardwareDevice* const*,
                                        const OrtKeyValuePairs* const*, std::size_t, const OrtSessionOptions* options,
                                        const OrtLogger* logger, OrtEp** ep) noexcept {
    *ep = nullptr;
    return guarded([&]() -> Status {
      *ep = std::make_unique<Provider>(*options, *logger, static_cast<Factory*>(self)->logger_).release();
      return Done{};
    });
  }

  static OrtStatus* ORT_API_CALL validate(OrtEpFactory*, const OrtHardwareDevice* const*, std::size_t, const char* text,
                                          OrtCompiledModelCompatibility* level) noexcept {
    *level = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    return guarded([&]() -> Status {
      *level = judge_compatibility(text).level;
      return Done{};
    });
  }

  const OrtLogger* logger_;  // belongs to the environment, which outlives every session
};

}  // namespace
}  // namespace fatctx::ort

#if defined(_WIN32)
#define FATCTX_ORT_EXPORT __declspec(dllexport)
#else
#define FATCTX_ORT_EXPORT [[gnu::visibility("default")]]
#endif

extern "C" {

FATCTX_ORT_EXPORT OrtStatus* CreateEpFactories(const char* /*registered_name*/, const OrtApiBase* base,
                                               const OrtLogger* logger, OrtEpFactory** factories, std::size_t max,
                                               std::size_t* made) noexcept {
  *made = 0;
  if (!fatctx::ort::use_runtime(base)) {
    // Even the oldest interface can create a status.
    return base->GetApi(1)->CreateStatus(ORT_NOT_IMPLEMENTED,
                                         "fatctx: this ONNX Runtime is older than the one that libfatctx_ort.so was "
                                         "built for; use ONNX Runtime 1.23 or newer");
  }
  return fatctx::ort::guarded([&]() -> fatctx::Status {
    if (max == 0) return fatctx::Error{fatctx::ErrorCode::kInvalidArgument, "ONNX Runtime has no room for a factory"};
    factories[0] = std::make_unique<fatctx::ort::Factory>(logger).release();
    *made = 1;
    return fatctx::Done{};
  });
}

FATCTX_ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) noexcept {
  delete static_cast<fatctx::ort::Factory*>(factory);
  return nullptr;
}

}  // extern "C"
