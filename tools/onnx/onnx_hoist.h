// Moves weights out of branches, loop bodies and functions to the initializers of the main graph, the only ones that
// ONNX Runtime takes from somewhere else. One of the files that use the onnx classes.
#pragma once

#include <functional>

#include <onnx/onnx_pb.h>

namespace fatctx::tools {

// Moves the initializers and Constant nodes of the graphs of If, Loop and Scan nodes, and the Constant nodes of
// functions, to the end of the main graph's initializers. A function gets one more input for each of its weights, and
// every node that calls it passes the weight.
//
// `take` chooses. It sees each weight with the name that it would have in the main graph: its own, with a number behind
// it if the model uses that name twice. These names depend on the model alone, and not on the choice.
//
// Stays where it is: a value that is an input of its graph as well; a weight of a function that ONNX Runtime may
// replace by a kernel of its own (the domains of ONNX and Microsoft), of one of two functions with one name, and of all
// functions if one calls itself.
void hoist_weights(onnx::ModelProto& model, const std::function<bool(const onnx::TensorProto&)>& take);

}  // namespace fatctx::tools
