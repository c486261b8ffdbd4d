// Small inputs for the tests of pack and compile: an ONNX model, its weights as an archive, and fake compilers.
#pragma once

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/irpa_file.h"
#include "support/temp_dir.h"

namespace fatctx::support {

inline void write_text(const std::string& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

// Returns one graph "tiny": x [batch, 3] float32, times w [3, 4] float32, plus bias [5] int8; y [batch, 4] float32.
inline onnx::ModelProto tiny_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("tiny");
  const auto add_value = [](onnx::ValueInfoProto& value, const char* name, std::int64_t last) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("batch");
    type.mutable_shape()->add_dim()->set_dim_value(last);
  };
  add_value(*graph.add_input(), "x", 3);
  add_value(*graph.add_output(), "y", 4);
  auto& weight = *graph.add_initializer();
  weight.set_name("layer/w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(3);
  weight.add_dims(4);
  weight.set_raw_data(std::string(48, 'w'));
  auto& bias = *graph.add_initializer();
  bias.set_name("bias");
  bias.set_data_type(onnx::TensorProto::INT8);
  bias.add_dims(5);
  bias.set_raw_data(std::string(5, 'b'));
  auto& node = *graph.add_node();
  node.set_op_type("MatMul");
  node.add_input("x");
  node.add_input("layer/w");
  node.add_output("y");
  return model;
}

// Returns the same model for a batch of 1.
inline onnx::ModelProto fixed_model() {
  onnx::ModelProto model = tiny_model();
  for (auto* value : {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
  }
  return model;
}

// Returns the same model with its weights in the file `location`: layer/w at byte 0, bias at byte 64.
inline onnx::ModelProto external_model(const std::string& location) {
  onnx::ModelProto model = tiny_model();
  struct Place {
    int initializer;
    const char* offset;
    const char* length;
  };
  for (const Place& place : {Place{0, "0", "48"}, Place{1, "64", "5"}}) {
    auto& tensor = *model.mutable_graph()->mutable_initializer(place.initializer);
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&tensor](const char* key, const std::string& value) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", location);
    add("offset", place.offset);
    add("length", place.length);
  }
  return model;
}

inline void write_model(const std::string& path, const onnx::ModelProto& model) {
  write_text(path, model.SerializeAsString());
}

// Returns the weights of tiny_model() as IREE would write them.
inline std::vector<std::byte> tiny_archive() {
  IrpaWriter writer;
  writer.data("layer/w", 0, 48, 64);
  writer.data("bias", 64, 5, 64);
  return writer.write(128);
}

// Returns bytes that begin like an IREE module and differ by `text`.
inline std::string module_bytes(const std::string& text) { return std::string("\x08\0\0\0IREE", 8) + text; }

inline void write_script(const std::string& path, const std::string& body) {
  write_text(path, "#!/bin/sh\n" + body);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

// Writes IREE's programs as scripts into `folder`/bin. The importer gives the parameters of tiny_archive(), the
// compiler a module that uses them and says its own arguments.
inline void write_fake_iree(const std::string& folder) {
  write_file(folder + "/prepared.irpa", tiny_archive());
  std::filesystem::create_directory(folder + "/bin");
  write_script(folder + "/bin/iree-import-onnx",
               "echo module > model.mlir\ncp " + folder + "/prepared.irpa model_params.irpa\n");
  write_script(folder + "/bin/iree-compile",
               "if [ \"$1\" = --version ]; then echo 'IREE compiler version 9.8.7 @ 0'; exit 0; fi\n"
               "printf '\\010\\000\\000\\000IREE io_parameters layer/w %s' \"$*\" > module.vmfb\n");
}

}  // namespace fatctx::support
