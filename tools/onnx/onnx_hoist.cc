// A graph of a node sees the values of the graphs around it, so a weight can be a value of the main graph as soon as
// its name is unique. A function sees its inputs only: a weight of it becomes an input, and so becomes one of every
// function that calls it, up to the graphs. All of them use the name that the weight has in the main graph.
#include "tools/onnx/onnx_hoist.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/onnx/onnx_file.h"

namespace fatctx::tools {

namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// In a long chain of functions, each one would pass on the weights of all behind it. If that takes more inputs than
// this, functions keep their weights.
constexpr std::size_t kMaxPassed = 65'536;

// The nodes of a graph, or those of a function.
struct Scope {
  Nodes* nodes = nullptr;
  onnx::GraphProto* graph = nullptr;         // null: a function
  std::optional<std::size_t> function = {};  // the one that it is, or that it is in
};

template <typename Visit>
void for_every_graph(onnx::NodeProto& node, const Visit& visit) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) visit(*attribute.mutable_g());
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) visit(graph);
  }
}

// Returns the scope and all graphs inside of it, each before those that it contains.
std::vector<Scope> scopes_of(Scope outer) {
  std::vector<Scope> scopes = {outer};
  for (std::size_t at = 0; at < scopes.size(); ++at) {
    for (onnx::NodeProto& node : *scopes[at].nodes) {
      for_every_graph(node, [&scopes, &outer](onnx::GraphProto& graph) {
        scopes.push_back({graph.mutable_node(), &graph, outer.function});
      });
    }
  }
  return scopes;
}

std::set<std::string> defined_in(const Scope& scope, const onnx::ModelProto& model) {
  std::set<std::string> names;
  if (scope.graph != nullptr) {
    for (const auto& input : scope.graph->input()) names.insert(input.name());
    for (const auto& initializer : scope.graph->initializer()) names.insert(initializer.name());
  } else {
    const auto& function = model.functions(static_cast<int>(*scope.function));
    names.insert(function.input().begin(), function.input().end());
  }
  for (const auto& node : *scope.nodes) names.insert(node.output().begin(), node.output().end());
  return names;
}

std::set<std::string> outputs_of(const Scope& scope, const onnx::ModelProto& model) {
  std::set<std::string> names;
  if (scope.graph != nullptr) {
    for (const auto& output : scope.graph->output()) names.insert(output.name());
  } else {
    const auto& outputs = model.functions(static_cast<int>(*scope.function)).output();
    names.insert(outputs.begin(), outputs.end());
  }
  return names;
}

// Returns true for a domain whose operators ONNX Runtime has kernels for. A function there is only a stand-in.
bool is_of_runtime(const std::string& domain) {
  return domain.empty() || domain.starts_with("ai.onnx") || domain.starts_with("com.microsoft") ||
         domain == "com.ms.internal.nhwc";
}

// The functions of a model, and who calls whom.
class Functions {
 public:
  Functions(onnx::ModelProto& model, const std::vector<Scope>& scopes) : model_(model) {
    for (int i = 0; i < model.functions_size(); ++i) {
      const std::string name = operator_name(model.functions(i).domain(), model.functions(i).name());
      const auto [first, fresh] = by_name_.emplace(name, i);
      if (!fresh) closed_.insert({first->second, static_cast<std::size_t>(i)});
      if (is_of_runtime(model.functions(i).domain())) closed_.insert(static_cast<std::size_t>(i));
    }
    calls_.resize(static_cast<std::size_t>(model.functions_size()));
    for (const Scope& scope : scopes) {
      for (const onnx::NodeProto& node : *scope.nodes) note_call(scope, node);
    }
    put_in_order();
    close_called();
  }

  // Returns true if the function may get inputs.
  [[nodiscard]] bool open(std::size_t function) const { return !closed_.contains(function); }

  // Returns the function that the node calls, if that is an open one.
  [[nodiscard]] std::optional<std::size_t> called_by(const onnx::NodeProto& node) const {
    const auto found = by_name_.find(operator_name(node.domain(), node.op_type()));
    if (found == by_name_.end() || !open(found->second)) return std::nullopt;
    return found->second;
  }

  // Returns the inputs that each function gets, if these are its own weights: those, and the ones of the functions that
  // it calls. Returns nothing if they are too many.
  [[nodiscard]] std::optional<std::vector<std::vector<std::string>>> passed(
      const std::vector<std::vector<std::string>>& own) const {
    std::vector<std::vector<std::string>> all = own;
    std::size_t count = 0;
    for (const std::size_t function : order_) {
      std::set<std::string> there(all[function].begin(), all[function].end());
      for (const std::size_t callee : calls_[function]) {
        for (const std::string& name : all[callee]) {
          if (there.insert(name).second) all[function].push_back(name);
        }
      }
      count += all[function].size();
      if (count > kMaxPassed) return std::nullopt;
    }
    return all;
  }

 private:
  void note_call(const Scope& scope, const onnx::NodeProto& node) {
    const auto found = by_name_.find(operator_name(node.domain(), node.op_type()));
    if (found == by_name_.end()) return;
    if (scope.function) calls_[*scope.function].insert(found->second);
    // Such a call is an error in any case, and one more input would change its meaning.
    if (node.input_size() > model_.functions(static_cast<int>(found->second)).input_size()) {
      closed_.insert(found->second);
    }
  }

  // Sorts the functions, each behind those that it calls. Closes all if some call themselves.
  void put_in_order() {
    std::vector<std::vector<std::size_t>> callers(calls_.size());
    std::vector<std::size_t> left(calls_.size());
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      left[i] = calls_[i].size();
      if (left[i] == 0) order_.push_back(i);
      for (const std::size_t callee : calls_[i]) callers[callee].push_back(i);
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      for (const std::size_t caller : callers[order_[at]]) {
        if (--left[caller] == 0) order_.push_back(caller);
      }
    }
    if (order_.size() == calls_.size()) return;
    for (std::size_t i = 0; i < calls_.size(); ++i) closed_.insert(i);
  }

  // A function without inputs for weights cannot pass them on either.
  void close_called() {
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      if (!open(*at)) closed_.insert(calls_[*at].begin(), calls_[*at].end());
    }
  }

  const onnx::ModelProto& model_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<std::set<std::size_t>> calls_;  // by function
  std::vector<std::size_t> order_;
  std::set<std::size_t> closed_;
};

// A weight that may move, under its new name.
struct Candidate {
  Scope scope;
  std::string old_name;  // its name in the scope
  std::string name;      // its name in the main graph
  bool result = false;   // it is an output of its scope
  onnx::TensorProto* tensor = nullptr;
  onnx::NodeProto* node = nullptr;  // the Constant node, if it is one
};

bool is_weight(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && (node.domain().empty() || node.domain() == "ai.onnx") &&
         node.attribute_size() == 1 && node.attribute(0).name() == "value" && node.attribute(0).has_t() &&
         node.output_size() == 1 && !node.output(0).empty();
}

void rename(std::string& name, const std::map<std::string, std::string>& names) {
  if (const auto found = names.find(name); found != names.end()) name = found->second;
}

class Hoist {
 public:
  explicit Hoist(onnx::ModelProto& model) : model_(model) {
    scopes_ = scopes_of({model.mutable_graph()->mutable_node(), model.mutable_graph(), std::nullopt});
    for (int i = 0; i < model.functions_size(); ++i) {
      const auto inside = scopes_of({model.mutable_functions(i)->mutable_node(), nullptr, static_cast<std::size_t>(i)});
      scopes_.insert(scopes_.end(), inside.begin(), inside.end());
    }
    for (const Scope& scope : scopes_) {
      for (const std::string& name : defined_in(scope, model_)) ++definitions_[name];
    }
  }

  void run(const std::function<bool(const onnx::TensorProto&)>& take) {
    const Functions functions(model_, scopes_);
    std::vector<Candidate> chosen;
    for (Candidate& candidate : candidates(functions)) {
      const std::string before = std::exchange(*candidate.tensor->mutable_name(), candidate.name);
      const bool taken = take(*candidate.tensor);
      candidate.tensor->set_name(before);
      if (taken) chosen.push_back(std::move(candidate));
    }
    std::vector<std::vector<std::string>> own(static_cast<std::size_t>(model_.functions_size()));
    for (const Candidate& one : chosen) {
      if (one.scope.function) own[*one.scope.function].push_back(one.name);
    }
    auto passed = functions.passed(own);
    if (!passed) {
      std::erase_if(chosen, [](const Candidate& one) { return one.scope.function.has_value(); });
      passed.emplace(own.size());
    }
    move(chosen);
    pass(functions, *passed);
  }

 private:
  // Returns all weights that can move, in the order of the model.
  std::vector<Candidate> candidates(const Functions& functions) {
    std::vector<Candidate> found;
    for (const Scope& scope : scopes_) {
      if (scope.graph == model_.mutable_graph() || (scope.function && !functions.open(*scope.function))) continue;
      const std::set<std::string> outputs = outputs_of(scope, model_);
      const auto add = [&](const std::string& name, onnx::TensorProto& tensor, onnx::NodeProto* node) {
        const bool result = outputs.contains(name);
        const bool used = result || definitions_[name] > 1;
        found.push_back({scope, name, used ? free_name(name) : name, result, &tensor, node});
      };
      if (scope.graph != nullptr) {
        std::set<std::string> inputs;
        for (const auto& input : scope.graph->input()) inputs.insert(input.name());
        for (onnx::TensorProto& tensor : *scope.graph->mutable_initializer()) {
          if (!tensor.name().empty() && !inputs.contains(tensor.name())) add(tensor.name(), tensor, nullptr);
        }
      }
      for (onnx::NodeProto& node : *scope.nodes) {
        if (is_weight(node)) add(node.output(0), *node.mutable_attribute(0)->mutable_t(), &node);
      }
    }
    return found;
  }

  std::string free_name(const std::string& name) {
    for (int& number = last_number_[name];;) {
      std::string made = fmt::format("{}_{}", name, ++number);
      if (definitions_.emplace(made, 1).second) return made;
    }
  }

  // Takes the weights out of their scopes. Candidates of one scope follow each other.
  void move(std::vector<Candidate>& chosen) {
    for (std::size_t at = 0; at < chosen.size();) {
      const Scope scope = chosen[at].scope;
      std::map<std::string, std::string> names;
      std::set<const void*> gone;
      std::vector<std::pair<std::string, std::string>> results;
      for (; at < chosen.size() && chosen[at].scope.nodes == scope.nodes; ++at) {
        const Candidate& one = chosen[at];
        if (one.name != one.old_name) names.emplace(one.old_name, one.name);
        if (one.result) results.emplace_back(one.old_name, one.name);
        onnx::TensorProto& moved = *model_.mutable_graph()->add_initializer();
        moved = std::move(*one.tensor);
        moved.set_name(one.name);
        gone.insert(one.node == nullptr ? static_cast<const void*>(one.tensor) : one.node);
      }
      remove(*scope.nodes, gone);
      if (scope.graph != nullptr) remove(*scope.graph->mutable_initializer(), gone);
      rename_values(scope, names);
      for (const auto& [output, from] : results) {
        onnx::NodeProto& node = *scope.nodes->Add();
        node.set_op_type("Identity");
        node.add_input(from);
        node.add_output(output);
      }
    }
  }

  template <typename Message>
  static void remove(google::protobuf::RepeatedPtrField<Message>& list, const std::set<const void*>& gone) {
    google::protobuf::RepeatedPtrField<Message> kept;
    for (Message& one : list) {
      if (!gone.contains(&one)) *kept.Add() = std::move(one);
    }
    list.Swap(&kept);
  }

  // Renames values of the scope, here and where the graphs inside of it use them.
  void rename_values(const Scope& scope, std::map<std::string, std::string> names) {
    struct Part {
      Scope scope;
      std::map<std::string, std::string> names;
    };
    std::vector<Part> waiting;
    if (!names.empty()) waiting.push_back({scope, std::move(names)});
    while (!waiting.empty()) {
      const Part part = std::move(waiting.back());
      waiting.pop_back();
      if (part.scope.graph != nullptr) {
        for (auto& value : *part.scope.graph->mutable_value_info()) rename(*value.mutable_name(), part.names);
        for (auto& note : *part.scope.graph->mutable_quantization_annotation()) {
          rename(*note.mutable_tensor_name(), part.names);
        }
      }
      for (onnx::NodeProto& node : *part.scope.nodes) {
        for (std::string& input : *node.mutable_input()) rename(input, part.names);
        for_every_graph(node, [&](onnx::GraphProto& graph) {
          Part inner = {{graph.mutable_node(), &graph, part.scope.function}, part.names};
          for (const std::string& own : defined_in(inner.scope, model_)) inner.names.erase(own);
          if (!inner.names.empty()) waiting.push_back(std::move(inner));
        });
      }
    }
  }

  // Gives functions their new inputs, and every node that calls them.
  void pass(const Functions& functions, const std::vector<std::vector<std::string>>& passed) {
    std::vector<int> inputs;
    for (onnx::FunctionProto& function : *model_.mutable_functions()) {
      const std::vector<std::string>& names = passed[inputs.size()];
      inputs.push_back(function.input_size());
      for (const std::string& name : names) function.add_input(name);
    }
    for (const Scope& scope : scopes_) {
      for (onnx::NodeProto& node : *scope.nodes) {
        const auto function = functions.called_by(node);
        if (!function || passed[*function].empty()) continue;
        while (node.input_size() < inputs[*function]) node.add_input();  // an input that is left out
        for (const std::string& name : passed[*function]) node.add_input(name);
      }
    }
  }

  onnx::ModelProto& model_;
  std::vector<Scope> scopes_;
  std::map<std::string, int> definitions_;
  std::map<std::string, int> last_number_;
};

}  // namespace

void hoist_weights(onnx::ModelProto& model, const std::function<bool(const onnx::TensorProto&)>& take) {
  Hoist(model).run(take);
}

}  // namespace fatctx::tools
