// Chooses rows of a table before they are worked out, instead of after.
#pragma once

namespace onnx {
class ModelProto;
}

namespace fatctx::ort {

// Moves a Gather of rows in front of the element-wise nodes that make its table from constants, if nothing else uses
// the table. A run then works out the rows it needs instead of all. The results have the same bits.
void gather_before_unpacking(onnx::ModelProto& model);

}  // namespace fatctx::ort
