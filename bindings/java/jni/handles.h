// Handles of the C interface, out of the numbers that Java keeps.
#pragma once

#include <jni.h>

#include <cstdint>

#include "fatctx_loader.h"

namespace fatctx_jni {

inline fatctx_container container_of(jlong id) { return {static_cast<std::uint64_t>(id)}; }
inline fatctx_device device_of(jlong id) { return {static_cast<std::uint64_t>(id)}; }
inline fatctx_model model_of(jlong id) { return {static_cast<std::uint64_t>(id)}; }
inline fatctx_session session_of(jlong id) { return {static_cast<std::uint64_t>(id)}; }
inline fatctx_tensor_table table_of(jlong id) { return {static_cast<std::uint64_t>(id)}; }
inline fatctx_view view_of(jlong id) { return {static_cast<std::uint64_t>(id), nullptr, 0}; }

}  // namespace fatctx_jni
