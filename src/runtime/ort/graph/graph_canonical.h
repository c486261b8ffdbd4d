// Gives values of a graph names that do not depend on the run of ONNX Runtime which made it.
//
// Its optimisers merge equal small constants under the name of any one of them. They number the names that they make
// while they walk a hash table. So equal models get different names in different processes.
#pragma once

#include "fatctx/base/result.h"

namespace onnx {
class ModelProto;
}

namespace fatctx::ort {

// Names small constants by their content, and merges equal ones. Renumbers generated names in the order of the nodes;
// generated names of weights follow from the content, which is read from files in `folder`. Weights of the model, and
// inputs and outputs, keep their names.
// Errors: those of reading a file.
[[nodiscard]] Status make_names_canonical(onnx::ModelProto& model, const std::string& folder);

}  // namespace fatctx::ort
