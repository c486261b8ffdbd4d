// Creates two sessions of an ONNX model whose weights are stored in a container: cpp_attach model.fatctx model.onnx
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include <onnxruntime_cxx_api.h>

#include "fatctx/onnxruntime.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto container = fatctx::Container::open(argv[1]);
  if (!container.ok()) {
    std::fprintf(stderr, "%s\n", fatctx::to_text(container.error()).c_str());
    return 1;
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::string model((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());

  Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "sample");
  Ort::SessionOptions options;
  fatctx::AttachOptions how;
  how.model = std::as_bytes(std::span(model));  // makes a container of another model an error
  const auto attached = fatctx::attach_weights(OrtGetApiBase(), options, container.value(), how);
  if (!attached.ok()) {
    std::fprintf(stderr, "%s\n", fatctx::to_text(attached.error()).c_str());
    return 1;
  }
  const fatctx::AttachReport& report = attached.value().report();
  std::printf("%s: %zu tensors, %zu bytes\n", std::string(fatctx::attach_route_name(report.route)).c_str(),
              static_cast<std::size_t>(report.tensor_count), static_cast<std::size_t>(report.size_bytes));

  // `attached` must outlive both sessions: it owns the mapping that they read.
  const Ort::Session first(env, model.data(), model.size(), options);
  const Ort::Session second(env, model.data(), model.size(), options);
  std::printf("2 sessions, %zu inputs\n", first.GetInputCount());
}
