// The one function that the library exports: it gives the native methods to the virtual machine.
#include "java.h"
#include "natives.h"

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void* /*reserved*/) {
  void* found = nullptr;
  if (machine->GetEnv(&found, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  auto* const env = static_cast<JNIEnv*>(found);
  // Only a library that was linked with another header differs.
  if (fatctx_abi_version() != FATCTX_ABI_VERSION) return JNI_ERR;
  fatctx_jni::set_machine(machine);
  if (!fatctx_jni::find_classes(env)) return JNI_ERR;
  jclass natives = env->FindClass("dev/fatctx/Native");
  if (natives == nullptr) return JNI_ERR;
  const bool done = fatctx_jni::register_containers(env, natives) && fatctx_jni::register_records(env, natives) &&
                    fatctx_jni::register_views(env, natives) && fatctx_jni::register_models(env, natives);
  return done ? JNI_VERSION_1_6 : JNI_ERR;
}
