// Devices, choices and sessions.
#include "handles.h"
#include "java.h"
#include "natives.h"

namespace fatctx_jni {
namespace {

template <typename Make>
jlong made_device(JNIEnv* env, Make make) {
  CallError error;
  fatctx_device device = {0};
  return error.thrown(env, make(&device, error.get())) ? 0 : static_cast<jlong>(device.id);
}

jlong detect_device(JNIEnv* env, jclass /*natives*/) {
  return made_device(
      env, [](fatctx_device* device, fatctx_error* error) { return fatctx_device_detect(nullptr, device, error); });
}

jlong parse_device(JNIEnv* env, jclass /*natives*/, jbyteArray description) {
  const Text text(env, description);
  return made_device(env, [&](fatctx_device* device, fatctx_error* error) {
    return fatctx_device_parse(text.c_str(), device, error);
  });
}

jlong npu_of(JNIEnv* env, jclass /*natives*/, jlong id) {
  return made_device(
      env, [&](fatctx_device* device, fatctx_error* error) { return fatctx_device_npu(device_of(id), device, error); });
}

void close_device(JNIEnv* /*env*/, jclass /*natives*/, jlong id) { (void)fatctx_device_close(device_of(id), nullptr); }

// Numbers and texts in the order of SelectOptions.during().
enum SelectNumber : std::size_t {
  kDevice,
  kForce,
  kStrict,
  kAllowLowerArch,
  kRefuseGeneric,
  kMixTargets,
  kSkipDamaged,
};
enum SelectText : jsize { kGroup, kRecord, kMaxSdk };

class ModelOptions {
 public:
  ModelOptions(JNIEnv* env, jlongArray numbers, jobjectArray texts)
      : numbers_(numbers_of(env, numbers)),
        group_(text_at(env, texts, kGroup)),
        record_(text_at(env, texts, kRecord)),
        max_sdk_(text_at(env, texts, kMaxSdk)) {
    fatctx_model_options_init(&options_, sizeof options_);
    options_.device = device_of(numbers_[kDevice]);
    options_.force = flag(kForce);
    options_.strict = flag(kStrict);
    options_.allow_lower_arch = flag(kAllowLowerArch);
    options_.refuse_generic = flag(kRefuseGeneric);
    options_.mix_targets = flag(kMixTargets);
    options_.on_damage = flag(kSkipDamaged) != 0 ? FATCTX_ON_DAMAGE_NEXT : FATCTX_ON_DAMAGE_FAIL;
    options_.group = group_.c_str();
    options_.record_override = record_.c_str();
    options_.max_sdk = max_sdk_.c_str();
  }
  ModelOptions(const ModelOptions&) = delete;
  ModelOptions& operator=(const ModelOptions&) = delete;
  [[nodiscard]] const fatctx_model_options* get() const { return &options_; }

 private:
  static Text text_at(JNIEnv* env, jobjectArray texts, SelectText which) {
    return {env, static_cast<jbyteArray>(env->GetObjectArrayElement(texts, which))};
  }
  [[nodiscard]] std::uint32_t flag(SelectNumber which) const { return static_cast<std::uint32_t>(numbers_[which]); }

  std::vector<jlong> numbers_;
  Text group_;
  Text record_;
  Text max_sdk_;
  fatctx_model_options options_ = {};
};

jbyteArray explain_container(JNIEnv* env, jclass /*natives*/, jlong id, jlongArray numbers, jobjectArray texts) {
  const ModelOptions options(env, numbers, texts);
  return written_text(env, [&](char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
    return fatctx_container_explain(container_of(id), options.get(), FATCTX_FORMAT_TEXT, buffer, capacity, size, error);
  });
}

jlong choose(JNIEnv* env, jclass /*natives*/, jlong id, jlongArray numbers, jobjectArray texts) {
  const ModelOptions options(env, numbers, texts);
  CallError error;
  fatctx_model model = {0};
  const int32_t code = fatctx_model_choose(container_of(id), options.get(), &model, error.get());
  return error.thrown(env, code) ? 0 : static_cast<jlong>(model.id);
}

jbyteArray explain_model(JNIEnv* env, jclass /*natives*/, jlong id) {
  return written_text(env, [&](char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
    return fatctx_model_explain(model_of(id), FATCTX_FORMAT_TEXT, buffer, capacity, size, error);
  });
}

jobjectArray selection(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  fatctx_selection selection = {};
  selection.struct_size = sizeof selection;
  if (error.thrown(env, fatctx_model_selection(model_of(id), &selection, error.get()))) return nullptr;
  std::vector<jlong> verdicts;
  for (std::uint64_t i = 0; i < selection.verdict_count; ++i) {
    fatctx_verdict verdict = {};
    verdict.struct_size = sizeof verdict;
    if (error.thrown(env, fatctx_model_verdict(model_of(id), i, &verdict, error.get()))) return nullptr;
    verdicts.insert(verdicts.end(), {static_cast<jlong>(verdict.record_id), static_cast<jlong>(verdict.level),
                                     static_cast<jlong>(verdict.axis), static_cast<jlong>(verdict.chosen)});
  }
  std::vector<fatctx_text> warnings;
  for (std::uint64_t i = 0; i < selection.warning_count; ++i) {
    fatctx_text warning = {};
    if (error.thrown(env, fatctx_model_warning(model_of(id), i, &warning, error.get()))) return nullptr;
    warnings.push_back(warning);
  }
  const std::vector<jlong> numbers = {static_cast<jlong>(selection.level), static_cast<jlong>(selection.tier)};
  return make_parts(env, {make_longs(env, numbers), make_text(env, selection.group),
                          make_ints(env, selection.chosen, selection.chosen_count), make_longs(env, verdicts),
                          make_texts(env, warnings)});
}

void close_model(JNIEnv* /*env*/, jclass /*natives*/, jlong id) { (void)fatctx_model_close(model_of(id), nullptr); }

jlong begin_session(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  fatctx_session session = {0};
  const int32_t code = fatctx_model_begin_session(model_of(id), &session, error.get());
  return error.thrown(env, code) ? 0 : static_cast<jlong>(session.id);
}

jlong weights_count(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  fatctx_session_info info = {};
  info.struct_size = sizeof info;
  error.thrown(env, fatctx_session_describe(session_of(id), &info, error.get()));
  return static_cast<jlong>(info.weights_count);
}

void end_session(JNIEnv* env, jclass /*natives*/, jlong id) {
  CallError error;
  error.thrown(env, fatctx_session_end(session_of(id), error.get()));
}

void close_session(JNIEnv* /*env*/, jclass /*natives*/, jlong id) {
  (void)fatctx_session_close(session_of(id), nullptr);
}

jbyteArray axis_name(JNIEnv* env, jclass /*natives*/, jint axis) {
  return make_text(env, fatctx_axis_id(static_cast<std::uint32_t>(axis)));
}

}  // namespace

bool register_models(JNIEnv* env, jclass natives) {
  const JNINativeMethod methods[] = {
      native("detectDevice", "()J", detect_device),
      native("parseDevice", "([B)J", parse_device),
      native("npuOf", "(J)J", npu_of),
      native("closeDevice", "(J)V", close_device),
      native("explainContainer", "(J[J[[B)[B", explain_container),
      native("choose", "(J[J[[B)J", choose),
      native("explainModel", "(J)[B", explain_model),
      native("selection", "(J)[Ljava/lang/Object;", selection),
      native("closeModel", "(J)V", close_model),
      native("beginSession", "(J)J", begin_session),
      native("weightsCount", "(J)J", weights_count),
      native("endSession", "(J)V", end_session),
      native("closeSession", "(J)V", close_session),
      native("axisName", "(I)[B", axis_name),
  };
  return register_all(env, natives, methods);
}

}  // namespace fatctx_jni
