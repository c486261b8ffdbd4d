// The facts of records, and of the tensors in weight blobs.
#include "handles.h"
#include "java.h"
#include "natives.h"

namespace fatctx_jni {
namespace {

constexpr std::uint64_t kHashSize = 16;

jlong record_count(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  std::uint64_t count = 0;
  error.thrown(env, fatctx_container_record_count(container_of(id), &count, error.get()));
  return static_cast<jlong>(count);
}

jobjectArray make_record(JNIEnv* env, fatctx_container container, const fatctx_record_info& record) {
  jbyteArray target = written_text(env, [&](char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
    return fatctx_container_record_target(container, record.id, buffer, capacity, size, error);
  });
  if (target == nullptr) return nullptr;
  const std::vector<jlong> numbers = {
      static_cast<jlong>(record.id),         static_cast<jlong>(record.type),  static_cast<jlong>(record.supported),
      static_cast<jlong>(record.size_bytes), static_cast<jlong>(record.codec), static_cast<jlong>(record.generic),
  };
  const std::vector<fatctx_text> names = {record.name, record.group, record.unit, record.backend,
                                          record.part, record.arch,  {"", 0}};
  jobjectArray texts = make_texts(env, names);
  if (texts == nullptr) return nullptr;
  env->SetObjectArrayElement(texts, static_cast<jsize>(names.size()) - 1, target);
  if (env->ExceptionCheck() != JNI_FALSE) return nullptr;
  return make_parts(env, {make_longs(env, numbers), texts, make_ints(env, record.weights, record.weight_count),
                          make_bytes(env, record.hash, kHashSize)});
}

// Returns the record that a call of the library fills.
template <typename Fill>
jobjectArray filled_record(JNIEnv* env, fatctx_container container, Fill fill) {
  CallError error;
  fatctx_record_info record = {};
  record.struct_size = sizeof record;
  return error.thrown(env, fill(&record, error.get())) ? nullptr : make_record(env, container, record);
}

jobjectArray record_at(JNIEnv* env, jclass /*natives*/, jlong id, jlong index) {
  const fatctx_container container = container_of(id);
  return filled_record(env, container, [&](fatctx_record_info* record, fatctx_error* error) {
    return fatctx_container_record_at(container, static_cast<std::uint64_t>(index), record, error);
  });
}

jobjectArray record_of(JNIEnv* env, jclass /*natives*/, jlong id, jint record_id) {
  const fatctx_container container = container_of(id);
  return filled_record(env, container, [&](fatctx_record_info* record, fatctx_error* error) {
    return fatctx_container_record(container, static_cast<std::uint32_t>(record_id), record, error);
  });
}

jobjectArray find_record(JNIEnv* env, jclass /*natives*/, jlong id, jbyteArray name) {
  const fatctx_container container = container_of(id);
  const Text text(env, name);
  return filled_record(env, container, [&](fatctx_record_info* record, fatctx_error* error) {
    return fatctx_container_find(container, text.c_str(), record, error);
  });
}

jobjectArray make_tensor(JNIEnv* env, const fatctx_tensor_info& tensor) {
  const std::vector<jlong> numbers = {
      static_cast<jlong>(tensor.dtype),
      static_cast<jlong>(tensor.offset_in_blob),
      static_cast<jlong>(tensor.size_bytes),
      static_cast<jlong>(tensor.alias),
  };
  return make_parts(env,
                    {make_longs(env, numbers), make_text(env, tensor.name), make_longs(env, tensor.shape, tensor.rank),
                     make_longs(env, tensor.strides_bytes, tensor.rank)});
}

jobjectArray view_tensor(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  fatctx_tensor_info tensor = {};
  tensor.struct_size = sizeof tensor;
  const fatctx_view view = {static_cast<std::uint64_t>(id), nullptr, 0};
  return error.thrown(env, fatctx_view_tensor(view, &tensor, error.get())) ? nullptr : make_tensor(env, tensor);
}

jlong open_tensors(JNIEnv* env, jclass /*natives*/, jlong id, jint weights) {
  CallError error;
  fatctx_tensor_table table = {0};
  error.thrown(env,
               fatctx_container_tensors(container_of(id), static_cast<std::uint32_t>(weights), &table, error.get()));
  return static_cast<jlong>(table.id);
}

jlong tensor_count(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  std::uint64_t count = 0;
  error.thrown(env, fatctx_tensor_table_size(table_of(id), &count, nullptr, error.get()));
  return static_cast<jlong>(count);
}

jobjectArray tensor_at(JNIEnv* env, jclass /*natives*/, jlong id, jlong index) {
  CallError error;
  fatctx_tensor_info tensor = {};
  tensor.struct_size = sizeof tensor;
  const int32_t code = fatctx_tensor_table_at(table_of(id), static_cast<std::uint64_t>(index), &tensor, error.get());
  return error.thrown(env, code) ? nullptr : make_tensor(env, tensor);
}

void close_tensors(JNIEnv* /*env*/, jclass /*natives*/, jlong id) {
  (void)fatctx_tensor_table_close(table_of(id), nullptr);
}

}  // namespace

bool register_records(JNIEnv* env, jclass natives) {
  const JNINativeMethod methods[] = {
      native("recordCount", "(J)J", record_count),
      native("recordAt", "(JJ)[Ljava/lang/Object;", record_at),
      native("record", "(JI)[Ljava/lang/Object;", record_of),
      native("findRecord", "(J[B)[Ljava/lang/Object;", find_record),
      native("viewTensor", "(J)[Ljava/lang/Object;", view_tensor),
      native("openTensors", "(JI)J", open_tensors),
      native("tensorCount", "(J)J", tensor_count),
      native("tensorAt", "(JJ)[Ljava/lang/Object;", tensor_at),
      native("closeTensors", "(J)V", close_tensors),
  };
  return register_all(env, natives, methods);
}

}  // namespace fatctx_jni
