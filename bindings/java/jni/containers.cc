// Opening containers, and their report.
#include "handles.h"
#include "java.h"
#include "natives.h"

namespace fatctx_jni {
namespace {

JavaVM* the_machine = nullptr;  // written once, before any other call

// The options in the order of OpenOptions.numbers().
enum OpenNumber : std::size_t {
  kVerify,
  kRefuseSymlinks,
  kRequireLocal,
  kNeverCopy,
  kStrict,
  kMaxCopiedBytes,
  kMinimumGeneration,
  kGeneration,
  kMaxMadeBytes,
};
constexpr std::size_t kKeySize = 32;

class OpenOptions {
 public:
  OpenOptions(JNIEnv* env, jlongArray numbers, jbyteArray keys) : numbers_(numbers_of(env, numbers)) {
    keys_.resize(static_cast<std::size_t>(env->GetArrayLength(keys)));
    env->GetByteArrayRegion(keys, 0, static_cast<jsize>(keys_.size()), reinterpret_cast<jbyte*>(keys_.data()));
    fatctx_open_options_init(&options_, sizeof options_);
    options_.verify = flag(kVerify);
    options_.refuse_symlinks = flag(kRefuseSymlinks);
    options_.require_local = flag(kRequireLocal);
    options_.file_mapping = flag(kNeverCopy) != 0 ? FATCTX_FILE_MAPPING_REQUIRE : FATCTX_FILE_MAPPING_AUTO;
    options_.strict = flag(kStrict);
    options_.max_copied_bytes = number(kMaxCopiedBytes);
    options_.minimum_generation = number(kMinimumGeneration);
    options_.generation = number(kGeneration);
    options_.max_made_bytes = number(kMaxMadeBytes);
    options_.trusted_keys = keys_.empty() ? nullptr : keys_.data();
    options_.trusted_key_count = keys_.size() / kKeySize;
  }
  OpenOptions(const OpenOptions&) = delete;
  OpenOptions& operator=(const OpenOptions&) = delete;
  [[nodiscard]] const fatctx_open_options* get() const { return &options_; }

 private:
  [[nodiscard]] std::uint64_t number(OpenNumber which) const { return static_cast<std::uint64_t>(numbers_[which]); }
  [[nodiscard]] std::uint32_t flag(OpenNumber which) const { return static_cast<std::uint32_t>(numbers_[which]); }

  std::vector<jlong> numbers_;
  std::vector<std::uint8_t> keys_;
  fatctx_open_options options_ = {};
};

// Gives the buffer back that openMemory() kept, on whichever thread gives up the last share.
void release_buffer(void* user) {
  void* found = nullptr;
  const bool attached = the_machine->GetEnv(&found, JNI_VERSION_1_6) == JNI_OK;
  JNIEnv* env = static_cast<JNIEnv*>(found);
  if (!attached) {
#if defined(__ANDROID__)
    if (the_machine->AttachCurrentThread(&env, nullptr) != JNI_OK) return;
#else
    if (the_machine->AttachCurrentThread(&found, nullptr) != JNI_OK) return;
    env = static_cast<JNIEnv*>(found);
#endif
  }
  env->DeleteGlobalRef(static_cast<jobject>(user));
  if (!attached) the_machine->DetachCurrentThread();
}

jlong opened(JNIEnv* env, int32_t code, fatctx_container container, CallError& error) {
  return error.thrown(env, code) ? 0 : static_cast<jlong>(container.id);
}

jlong open_path(JNIEnv* env, jclass /*natives*/, jbyteArray path, jlongArray numbers, jbyteArray keys) {
  const Text text(env, path);
  const OpenOptions options(env, numbers, keys);
  CallError error;
  fatctx_container container = {0};
  return opened(env, fatctx_container_open(text.c_str(), options.get(), &container, error.get()), container, error);
}

jlong open_descriptor(JNIEnv* env, jclass /*natives*/, jint descriptor, jlong offset, jlong size, jlongArray numbers,
                      jbyteArray keys) {
  const OpenOptions options(env, numbers, keys);
  CallError error;
  fatctx_container container = {0};
  const int32_t code =
      fatctx_container_open_descriptor(descriptor, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(size),
                                       options.get(), &container, error.get());
  return opened(env, code, container, error);
}

jlong open_memory(JNIEnv* env, jclass /*natives*/, jobject buffer, jlongArray numbers, jbyteArray keys) {
  const OpenOptions options(env, numbers, keys);
  const void* const bytes = env->GetDirectBufferAddress(buffer);
  const jlong size = env->GetDirectBufferCapacity(buffer);
  jobject kept = env->NewGlobalRef(buffer);
  if (kept == nullptr) return 0;  // out of memory is pending
  CallError error;
  fatctx_container container = {0};
  const int32_t code = fatctx_container_open_memory(bytes, static_cast<std::uint64_t>(size), options.get(),
                                                    release_buffer, kept, &container, error.get());
  if (code != FATCTX_OK) env->DeleteGlobalRef(kept);  // the library gives back only after an open that succeeds
  return opened(env, code, container, error);
}

// Java keeps the number in a private field. Android's class has another one, which is none of an app's business.
jint descriptor_of(JNIEnv* env, jclass /*natives*/, jobject descriptor) {
  jclass type = env->GetObjectClass(descriptor);
  jfieldID field = env->GetFieldID(type, "fd", "I");
  if (field != nullptr) return env->GetIntField(descriptor, field);
  env->ExceptionClear();
  return -1;
}

jlong reopen(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  fatctx_container container = {0};
  return opened(env, fatctx_container_reopen(container_of(id), &container, error.get()), container, error);
}

void check_container(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  error.thrown(env, fatctx_container_check(container_of(id), error.get()));
}

void close_container(JNIEnv* /*env*/, jclass /*natives*/, jlong id) {
  (void)fatctx_container_close(container_of(id), nullptr);
}

jobjectArray report(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  fatctx_open_report report = {};
  report.struct_size = sizeof report;
  if (error.thrown(env, fatctx_container_report(container_of(id), &report, error.get()))) return nullptr;
  const std::vector<jlong> numbers = {
      static_cast<jlong>(report.generation),   static_cast<jlong>(report.newest_generation),
      static_cast<jlong>(report.file_size),    static_cast<jlong>(report.sealed),
      static_cast<jlong>(report.signed_file),  static_cast<jlong>(report.signature_verified),
      static_cast<jlong>(report.already_live), static_cast<jlong>(report.mapped),
  };
  const std::vector<fatctx_text> texts = {report.path,        report.filesystem,     report.uuid,
                                          report.copy_reason, report.format_version, report.newer_features};
  std::vector<fatctx_text> degraded;
  if (report.degraded != nullptr) degraded.assign(report.degraded, report.degraded + report.degraded_count);
  return make_parts(env, {make_longs(env, numbers), make_texts(env, texts), make_texts(env, degraded)});
}

jbyteArray library_version(JNIEnv* env, jclass /*natives*/) { return make_text(env, fatctx_library_version()); }

jbyteArray format_version(JNIEnv* env, jclass /*natives*/) { return make_text(env, fatctx_format_version()); }

void install_mapping_guard(JNIEnv* env, jclass /*natives*/) {
  CallError error;
  error.thrown(env, fatctx_mapping_guard_install(error.get()));
}

}  // namespace

void set_machine(JavaVM* machine) { the_machine = machine; }

bool register_containers(JNIEnv* env, jclass natives) {
  const JNINativeMethod methods[] = {
      native("libraryVersion", "()[B", library_version),
      native("formatVersion", "()[B", format_version),
      native("installMappingGuard", "()V", install_mapping_guard),
      native("descriptorOf", "(Ljava/io/FileDescriptor;)I", descriptor_of),
      native("openPath", "([B[J[B)J", open_path),
      native("openDescriptor", "(IJJ[J[B)J", open_descriptor),
      native("openMemory", "(Ljava/nio/ByteBuffer;[J[B)J", open_memory),
      native("reopen", "(J)J", reopen),
      native("checkContainer", "(J)V", check_container),
      native("closeContainer", "(J)V", close_container),
      native("report", "(J)[Ljava/lang/Object;", report),
  };
  return register_all(env, natives, methods);
}

}  // namespace fatctx_jni
