// Values between Java and C: texts, arrays, errors.
#include "java.h"

#include <cstring>

namespace fatctx_jni {
namespace {

// Global references, which live as long as the library. Written once, before any other call.
jclass exceptions = nullptr;
jmethodID make_exception = nullptr;
jclass objects = nullptr;
jclass byte_arrays = nullptr;

jclass find_class(JNIEnv* env, const char* name) {
  jclass local = env->FindClass(name);
  if (local == nullptr) return nullptr;
  auto* const found = static_cast<jclass>(env->NewGlobalRef(local));
  env->DeleteLocalRef(local);
  return found;
}

bool pending(JNIEnv* env) { return env->ExceptionCheck() != JNI_FALSE; }

// JNI counts with 32 bits. Larger arrays cannot exist in Java.
jsize length_of(std::uint64_t count) {
  return count > static_cast<std::uint64_t>(INT32_MAX) ? INT32_MAX : static_cast<jsize>(count);
}

}  // namespace

bool find_classes(JNIEnv* env) {
  exceptions = find_class(env, "dev/fatctx/FatctxException");
  objects = exceptions == nullptr ? nullptr : find_class(env, "java/lang/Object");
  byte_arrays = objects == nullptr ? nullptr : find_class(env, "[B");
  if (byte_arrays == nullptr) return false;
  make_exception = env->GetStaticMethodID(exceptions, "of", "(I[B[B[BJII)Ldev/fatctx/FatctxException;");
  return make_exception != nullptr;
}

bool CallError::thrown(JNIEnv* env, int32_t code) {
  if (code == FATCTX_OK) return false;
  error_.code = code;  // that of a call with an error that is too small for its own
  constexpr std::size_t kLongestLine = 2048;
  char line[kLongestLine] = {};
  if (fatctx_error_text(&error_, line, sizeof line, nullptr) != FATCTX_OK) std::strcpy(line, error_.message);
  jbyteArray text = make_text(env, line);
  jbyteArray reason = text == nullptr ? nullptr : make_text(env, error_.message);
  jbyteArray rule = reason == nullptr ? nullptr : make_text(env, error_.rule);
  if (rule == nullptr) return true;  // out of memory is pending
  const jlong file_offset = error_.has_file_offset != 0 ? static_cast<jlong>(error_.file_offset) : -1;
  const jint record_id = error_.has_record_id != 0 ? static_cast<jint>(error_.record_id) : 0;
  const jint os_error = error_.has_os_error != 0 ? error_.os_error : 0;
  auto* const exception = static_cast<jthrowable>(env->CallStaticObjectMethod(
      exceptions, make_exception, static_cast<jint>(code), text, reason, rule, file_offset, record_id, os_error));
  if (!pending(env)) env->Throw(exception);
  return true;
}

Text::Text(JNIEnv* env, jbyteArray utf8) : null_(utf8 == nullptr) {
  if (null_) return;
  text_.resize(static_cast<std::size_t>(env->GetArrayLength(utf8)));
  env->GetByteArrayRegion(utf8, 0, static_cast<jsize>(text_.size()), reinterpret_cast<jbyte*>(text_.data()));
}

std::vector<jlong> numbers_of(JNIEnv* env, jlongArray array) {
  std::vector<jlong> numbers(static_cast<std::size_t>(env->GetArrayLength(array)));
  env->GetLongArrayRegion(array, 0, static_cast<jsize>(numbers.size()), numbers.data());
  return numbers;
}

jbyteArray make_bytes(JNIEnv* env, const void* data, std::uint64_t size) {
  if (pending(env)) return nullptr;
  const jsize length = length_of(size);
  jbyteArray bytes = env->NewByteArray(length);
  if (bytes != nullptr && length > 0) env->SetByteArrayRegion(bytes, 0, length, static_cast<const jbyte*>(data));
  return bytes;
}

jbyteArray make_text(JNIEnv* env, fatctx_text text) { return make_bytes(env, text.data, text.size); }

jbyteArray make_text(JNIEnv* env, const char* text) { return make_bytes(env, text, std::strlen(text)); }

jlongArray make_longs(JNIEnv* env, const std::vector<jlong>& numbers) {
  if (pending(env)) return nullptr;
  const jsize length = length_of(numbers.size());
  jlongArray made = env->NewLongArray(length);
  if (made != nullptr && length > 0) env->SetLongArrayRegion(made, 0, length, numbers.data());
  return made;
}

jlongArray make_longs(JNIEnv* env, const std::uint64_t* numbers, std::uint64_t count) {
  if (pending(env)) return nullptr;
  if (numbers == nullptr) count = 0;
  const jsize length = length_of(count);
  jlongArray made = env->NewLongArray(length);
  if (made != nullptr && length > 0) {
    env->SetLongArrayRegion(made, 0, length, reinterpret_cast<const jlong*>(numbers));
  }
  return made;
}

jintArray make_ints(JNIEnv* env, const std::uint32_t* numbers, std::uint64_t count) {
  if (pending(env)) return nullptr;
  if (numbers == nullptr) count = 0;
  const jsize length = length_of(count);
  jintArray made = env->NewIntArray(length);
  if (made != nullptr && length > 0) {
    env->SetIntArrayRegion(made, 0, length, reinterpret_cast<const jint*>(numbers));
  }
  return made;
}

jobjectArray make_texts(JNIEnv* env, const std::vector<fatctx_text>& texts) {
  if (pending(env)) return nullptr;
  jobjectArray made = env->NewObjectArray(length_of(texts.size()), byte_arrays, nullptr);
  for (std::size_t i = 0; made != nullptr && i < texts.size(); ++i) {
    jbyteArray text = make_text(env, texts[i]);
    if (text == nullptr) return nullptr;
    env->SetObjectArrayElement(made, static_cast<jsize>(i), text);
    if (pending(env)) return nullptr;
    env->DeleteLocalRef(text);  // a list may have more texts than the 16 local references that JNI promises
  }
  return made;
}

jobjectArray make_parts(JNIEnv* env, std::initializer_list<jobject> parts) {
  for (jobject part : parts) {
    if (part == nullptr) return nullptr;
  }
  jobjectArray made = env->NewObjectArray(static_cast<jsize>(parts.size()), objects, nullptr);
  jsize index = 0;
  for (jobject part : parts) {
    if (made == nullptr) return nullptr;
    env->SetObjectArrayElement(made, index++, part);
    if (pending(env)) return nullptr;
  }
  return made;
}

}  // namespace fatctx_jni
