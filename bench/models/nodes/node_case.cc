#include "bench/models/nodes/node_case.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/models/nodes/node_attribute.h"

namespace tilewright::bench {
namespace {

using Words = std::vector<std::string>;

constexpr int64_t kOpset = 21, kIrVersion = 10;
constexpr char kBatchName[] = "n";

// Domains by their short names, with the opset where a line names none.
struct DomainRow {
  absl::string_view prefix, domain;
  int64_t opset;
};
constexpr DomainRow kDomains[] = {
    {"", "", kOpset}, {"ms", "com.microsoft", 1}, {"ml", "ai.onnx.ml", 3}, {"training", "ai.onnx.preview.training", 1}};

absl::Status Wrong(absl::string_view word, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", word, "\": ", what));
}

// Splits at blanks that are not in braces or quotes.
Words WordsOf(absl::string_view text) {
  Words words;
  std::string word;
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '{' && !quoted) ++depth;
    if (c == '}' && !quoted) --depth;
    if (c != ' ' || depth > 0 || quoted) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, ""));
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

std::vector<Words> SplitAt(const Words& words, absl::string_view mark) {
  std::vector<Words> parts(1);
  for (const std::string& word : words) {
    if (word == mark) {
      parts.emplace_back();
    } else {
      parts.back().push_back(word);
    }
  }
  return parts;
}

std::string ValueName(const std::string& word) { return word == "-" ? "" : word; }

class Parser {
 public:
  explicit Parser(NodeCase& result) : case_(result) {
    case_.model.set_ir_version(kIrVersion);
    case_.model.set_producer_name("tilewright");
    case_.model.mutable_graph()->set_name("node");
    SetOpset("", kOpset);
  }

  absl::Status Run() {
    const std::vector<Words> nodes = SplitAt(WordsOf(case_.text), "|");
    onnx::GraphProto& graph = *case_.model.mutable_graph();
    for (const Words& words : nodes) TW_RETURN_IF_ERROR(AddNode(words, graph, /*body=*/false));
    for (const std::string& output : graph.node(graph.node_size() - 1).output()) {
      if (!output.empty()) graph.add_output()->set_name(output);
    }
    return absl::OkStatus();
  }

 private:
  void SetOpset(const std::string& domain, int64_t version) {
    for (auto& import : *case_.model.mutable_opset_import()) {
      if (import.domain() == domain) return import.set_version(version);
    }
    auto* import = case_.model.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }

  // PREFIX:NAME@OPSET
  absl::Status SetOperator(const std::string& word, onnx::NodeProto& node) {
    const std::vector<std::string> at = absl::StrSplit(word, '@');
    const size_t colon = at[0].find(':');
    const std::string prefix = colon == std::string::npos ? "" : at[0].substr(0, colon);
    const auto* row = std::ranges::find(kDomains, prefix, &DomainRow::prefix);
    if (row == std::end(kDomains)) return Wrong(word, "the domain is not one of ms, ml, training");
    int64_t opset = row->opset;
    if (at.size() > 2 || (at.size() == 2 && !absl::SimpleAtoi(at[1], &opset))) return Wrong(word, "not OPERATOR@OPSET");
    node.set_domain(std::string(row->domain));
    node.set_op_type(colon == std::string::npos ? at[0] : at[0].substr(colon + 1));
    node.set_name(absl::StrCat(node.op_type(), "_", next_node_++));
    if (!row->domain.empty() || at.size() == 2) SetOpset(node.domain(), opset);
    case_.operators.emplace(node.domain(), node.op_type());
    return absl::OkStatus();
  }

  absl::Status AddNode(const Words& all, onnx::GraphProto& graph, bool body) {
    const std::vector<Words> sides = SplitAt(all, "->");
    if (sides[0].empty() || sides.size() > 2) return Wrong(case_.text, "a node is OPERATOR OPERANDS -> RESULTS");
    onnx::NodeProto node;
    TW_RETURN_IF_ERROR(SetOperator(sides[0][0], node));
    for (size_t i = 1; i < sides[0].size(); ++i) TW_RETURN_IF_ERROR(AddWord(sides[0][i], node, body));
    if (sides.size() == 1) node.add_output("y");
    for (size_t i = 0; sides.size() > 1 && i < sides[1].size(); ++i) node.add_output(ValueName(sides[1][i]));
    *graph.add_node() = std::move(node);
    return absl::OkStatus();
  }

  absl::Status AddWord(const std::string& word, onnx::NodeProto& node, bool body) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      node.add_input(ValueName(word));
      return absl::OkStatus();
    }
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "within") {
      if (value == "any") {
        case_.tolerance = std::numeric_limits<double>::infinity();
      } else if (!absl::SimpleAtod(value, &case_.tolerance)) {
        return Wrong(word, "not a tolerance");
      }
      return absl::OkStatus();
    }
    if (name == "x" || name == "w") return AddTensor(word, name, value, node, body);
    if (value.starts_with('{')) return AddBody(name, value, node);
    const absl::Status added = AddAttribute(name, value, node);
    return added.ok() ? added : Wrong(word, added.message());
  }

  absl::Status AddTensor(const std::string& word, const std::string& kind, const std::string& text,
                         onnx::NodeProto& node, bool body) {
    const absl::StatusOr<NodeTensor> tensor = ParseNodeTensor(text);
    if (!tensor.ok()) return Wrong(word, tensor.status().message());
    const std::string name = absl::StrCat(kind, next_value_++);
    node.add_input(name);
    onnx::GraphProto& graph = *case_.model.mutable_graph();
    if (kind == "w") {
      *graph.add_initializer() = ProtoOf(*tensor, name, static_cast<uint64_t>(next_value_));
      return absl::OkStatus();
    }
    if (body || tensor->type == onnx::TensorProto::STRING) return Wrong(word, "an input cannot be here");
    SetInput(name, *tensor, *graph.add_input());
    case_.inputs.push_back({name, *tensor});
    return absl::OkStatus();
  }

  static void SetInput(const std::string& name, const NodeTensor& tensor, onnx::ValueInfoProto& value) {
    value.set_name(name);
    auto* type = value.mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor.type);
    type->mutable_shape();
    for (int64_t extent : tensor.shape) type->mutable_shape()->add_dim()->set_dim_value(extent);
  }

  // NAME, or NAME:TENSOR
  static absl::Status AddBodyInput(const std::string& word, onnx::GraphProto& graph) {
    const size_t colon = word.find(':');
    if (colon == std::string::npos) {
      graph.add_input()->set_name(word);
      return absl::OkStatus();
    }
    TW_ASSIGN_OR_RETURN(const NodeTensor tensor, ParseNodeTensor(absl::string_view(word).substr(colon + 1)));
    SetInput(word.substr(0, colon), tensor, *graph.add_input());
    return absl::OkStatus();
  }

  // {INPUTS -> OUTPUTS | NODE | NODE}
  absl::Status AddBody(const std::string& name, const std::string& text, onnx::NodeProto& node) {
    if (!text.ends_with('}')) return Wrong(text, "a body ends with }");
    const std::vector<Words> parts = SplitAt(WordsOf(absl::string_view(text).substr(1, text.size() - 2)), "|");
    const std::vector<Words> signature = SplitAt(parts[0], "->");
    if (signature.size() != 2) return Wrong(text, "a body begins with INPUTS -> OUTPUTS");
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *attribute.mutable_g();
    graph.set_name(absl::StrCat(node.name(), "_", name));
    for (const std::string& input : signature[0]) TW_RETURN_IF_ERROR(AddBodyInput(input, graph));
    for (size_t i = 1; i < parts.size(); ++i) TW_RETURN_IF_ERROR(AddNode(parts[i], graph, /*body=*/true));
    for (const std::string& output : signature[1]) graph.add_output()->set_name(output);
    return absl::OkStatus();
  }

  NodeCase& case_;
  int64_t next_node_ = 0, next_value_ = 0;
};

}  // namespace

bool NodeCase::has_batch() const {
  return std::ranges::any_of(inputs, [](const NodeInput& input) { return input.tensor.batch_axis >= 0; });
}

std::map<std::string, int64_t> NodeCase::Batch() const {
  for (const NodeInput& input : inputs) {
    const int axis = input.tensor.batch_axis;
    if (axis >= 0) return {{kBatchName, input.tensor.shape[static_cast<size_t>(axis)]}};
  }
  return {};
}

onnx::ModelProto NodeCase::Symbolic() const {
  onnx::ModelProto symbolic = model;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].tensor.batch_axis < 0) continue;
    auto* type = symbolic.mutable_graph()->mutable_input(static_cast<int>(i))->mutable_type()->mutable_tensor_type();
    type->mutable_shape()->mutable_dim(inputs[i].tensor.batch_axis)->set_dim_param(kBatchName);
  }
  return symbolic;
}

std::vector<NDArray> NodeCase::Arrays(uint64_t seed) const {
  std::vector<NDArray> arrays;
  for (const NodeInput& input : inputs) arrays.push_back(ArrayOf(input.tensor, seed * 1000 + arrays.size()));
  return arrays;
}

absl::StatusOr<NodeCase> ParseNodeCase(absl::string_view line) {
  NodeCase result{.text = std::string(absl::StripAsciiWhitespace(line))};
  TW_RETURN_IF_ERROR(Parser(result).Run());
  return result;
}

absl::StatusOr<std::vector<NodeCase>> ParseNodeCases(absl::string_view text) {
  std::vector<NodeCase> cases;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    absl::StatusOr<NodeCase> one = ParseNodeCase(line);
    if (!one.ok()) return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", one.status().message()));
    cases.push_back(*std::move(one));
  }
  return cases;
}

}  // namespace tilewright::bench
