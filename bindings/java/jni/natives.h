// The native methods of dev.fatctx.Native, by subject. Each function gives its methods to the class, and returns false
// with an exception if Java declares one differently.
#pragma once

#include <jni.h>

#include <cstddef>

namespace fatctx_jni {

bool register_containers(JNIEnv* env, jclass natives);
bool register_records(JNIEnv* env, jclass natives);
bool register_views(JNIEnv* env, jclass natives);
bool register_models(JNIEnv* env, jclass natives);

// Tells which machine has the references that openMemory() keeps. Called once, before any other call.
void set_machine(JavaVM* machine);

template <std::size_t kCount>
bool register_all(JNIEnv* env, jclass natives, const JNINativeMethod (&methods)[kCount]) {
  return env->RegisterNatives(natives, methods, static_cast<jint>(kCount)) == JNI_OK;
}

// A row of such a table.
template <typename Function>
JNINativeMethod native(const char* name, const char* signature, Function* function) {
  // Older versions of jni.h have char* here.
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

}  // namespace fatctx_jni
