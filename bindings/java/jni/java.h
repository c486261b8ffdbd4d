// Values between Java and C: texts, arrays, errors.
//
// A function that fails leaves an exception pending and returns null. With an exception pending, few functions of JNI
// may be called: callers return, and the functions that make a value return null at once.
#pragma once

#include <jni.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "fatctx_loader.h"

namespace fatctx_jni {

// Finds the classes that the functions below need. Called once, from JNI_OnLoad. Returns false with an exception.
bool find_classes(JNIEnv* env);

// An error for a call of the C interface to fill.
class CallError {
 public:
  CallError() { fatctx_error_init(&error_, sizeof error_); }
  fatctx_error* get() { return &error_; }
  // Throws the FatctxException of the error, unless `code` is FATCTX_OK. Returns true if it has thrown.
  bool thrown(JNIEnv* env, int32_t code);

 private:
  fatctx_error error_ = {};
};

// A text of Java, as C takes it. A null array is a null text.
class Text {
 public:
  Text(JNIEnv* env, jbyteArray utf8);
  [[nodiscard]] const char* c_str() const { return null_ ? nullptr : text_.c_str(); }

 private:
  std::string text_;
  bool null_;
};

std::vector<jlong> numbers_of(JNIEnv* env, jlongArray array);

jbyteArray make_bytes(JNIEnv* env, const void* data, std::uint64_t size);
jbyteArray make_text(JNIEnv* env, fatctx_text text);
jbyteArray make_text(JNIEnv* env, const char* text);
jlongArray make_longs(JNIEnv* env, const std::vector<jlong>& numbers);
jintArray make_ints(JNIEnv* env, const std::uint32_t* numbers, std::uint64_t count);
jlongArray make_longs(JNIEnv* env, const std::uint64_t* numbers, std::uint64_t count);
jobjectArray make_texts(JNIEnv* env, const std::vector<fatctx_text>& texts);
// Makes an Object[]. If one part is null, its exception is pending, and the result is null.
jobjectArray make_parts(JNIEnv* env, std::initializer_list<jobject> parts);

// Returns the text of a call that has the protocol of snprintf: Write is called for the size, then for the text.
template <typename Write>
jbyteArray written_text(JNIEnv* env, Write write) {
  CallError error;
  size_t size = 0;
  if (error.thrown(env, write(nullptr, 0, &size, error.get()))) return nullptr;
  std::string text(size + 1, '\0');  // the call writes a NUL behind it
  if (error.thrown(env, write(text.data(), text.size(), &size, error.get()))) return nullptr;
  return make_bytes(env, text.data(), size);
}

}  // namespace fatctx_jni
