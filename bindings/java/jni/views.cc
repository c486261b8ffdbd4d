// Views, and the buffers that show their bytes.
#include "handles.h"
#include "java.h"
#include "natives.h"

namespace fatctx_jni {
namespace {

// Returns the view that a call of the library makes.
template <typename Make>
jlong made_view(JNIEnv* env, Make make) {
  CallError error;
  fatctx_view view = {};
  return error.thrown(env, make(&view, error.get())) ? 0 : static_cast<jlong>(view.id);
}

jlong acquire(JNIEnv* env, jclass /*natives*/, jlong id, jint record_id) {
  return made_view(env, [&](fatctx_view* view, fatctx_error* error) {
    return fatctx_container_acquire(container_of(id), static_cast<std::uint32_t>(record_id), view, error);
  });
}

jlong acquire_name(JNIEnv* env, jclass /*natives*/, jlong id, jbyteArray name) {
  const Text text(env, name);
  return made_view(env, [&](fatctx_view* view, fatctx_error* error) {
    return fatctx_container_acquire_name(container_of(id), text.c_str(), view, error);
  });
}

jlong acquire_tensor(JNIEnv* env, jclass /*natives*/, jlong id, jint weights, jbyteArray name) {
  const Text text(env, name);
  return made_view(env, [&](fatctx_view* view, fatctx_error* error) {
    return fatctx_container_tensor(container_of(id), static_cast<std::uint32_t>(weights), text.c_str(), view, error);
  });
}

jlong session_binary(JNIEnv* env, jclass /*natives*/, jlong id, jbyteArray unit) {
  const Text text(env, unit);
  return made_view(env, [&](fatctx_view* view, fatctx_error* error) {
    return fatctx_session_binary(session_of(id), text.c_str(), view, error);
  });
}

jlong session_weights(JNIEnv* env, jclass /*natives*/, jlong id, jlong index) {
  return made_view(env, [&](fatctx_view* view, fatctx_error* error) {
    return fatctx_session_weights(session_of(id), static_cast<std::uint64_t>(index), view, error);
  });
}

jlong session_tensor(JNIEnv* env, jclass /*natives*/, jlong id, jbyteArray name) {
  const Text text(env, name);
  return made_view(env, [&](fatctx_view* view, fatctx_error* error) {
    return fatctx_session_tensor(session_of(id), text.c_str(), view, error);
  });
}

jlong copy_view(JNIEnv* env, jclass /*natives*/, jlong id) {
  return made_view(env,
                   [&](fatctx_view* view, fatctx_error* error) { return fatctx_view_copy(view_of(id), view, error); });
}

bool describe(JNIEnv* env, jlong id, fatctx_view_info& info) {
  CallError error;
  info.struct_size = sizeof info;
  return !error.thrown(env, fatctx_view_describe(view_of(id), &info, error.get()));
}

// The order is that of the constants of View.
jlongArray describe_view(JNIEnv* env, jclass /*natives*/, jlong id) {
  fatctx_view_info info = {};
  if (!describe(env, id, info)) return nullptr;
  return make_longs(env, {static_cast<jlong>(info.size), static_cast<jlong>(info.record_id),
                          static_cast<jlong>(info.access_path), static_cast<jlong>(info.copied_bytes)});
}

// Java has compared `offset` and `size` with the size of the view.
jobject view_bytes(JNIEnv* env, jclass /*natives*/, jlong id, jlong offset, jlong size) {
  fatctx_view_info info = {};
  if (!describe(env, id, info)) return nullptr;
  // JNI has no read-only buffers; Java makes one of it before anybody else sees it.
  auto* const bytes = const_cast<char*>(static_cast<const char*>(info.data)) + offset;
  return env->NewDirectByteBuffer(bytes, size);
}

void close_view(JNIEnv* /*env*/, jclass /*natives*/, jlong id) { (void)fatctx_view_close(view_of(id), nullptr); }

jbyteArray access_path_name(JNIEnv* env, jclass /*natives*/, jint access_path) {
  return make_text(env, fatctx_access_path_name(static_cast<std::uint32_t>(access_path)));
}

}  // namespace

bool register_views(JNIEnv* env, jclass natives) {
  const JNINativeMethod methods[] = {
      native("acquire", "(JI)J", acquire),
      native("acquireName", "(J[B)J", acquire_name),
      native("acquireTensor", "(JI[B)J", acquire_tensor),
      native("binary", "(J[B)J", session_binary),
      native("weights", "(JJ)J", session_weights),
      native("sessionTensor", "(J[B)J", session_tensor),
      native("copyView", "(J)J", copy_view),
      native("describeView", "(J)[J", describe_view),
      native("viewBytes", "(JJJ)Ljava/nio/ByteBuffer;", view_bytes),
      native("closeView", "(J)V", close_view),
      native("accessPathName", "(I)[B", access_path_name),
  };
  return register_all(env, natives, methods);
}

}  // namespace fatctx_jni
