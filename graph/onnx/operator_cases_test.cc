// Models of one or a few nodes with right values that other engines gave (cases/*.txt; cases/README.md says how they
// are written). The interpreter runs them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;
using Words = std::vector<std::string>;

struct ElementKind {
  const char* name;
  int32_t type;
};
constexpr ElementKind kKinds[] = {{"f32", TensorProto::FLOAT},
                                  {"f16", TensorProto::FLOAT16},
                                  {"bf16", TensorProto::BFLOAT16},
                                  {"f64", TensorProto::DOUBLE},
                                  {"i64", TensorProto::INT64},
                                  {"u64", TensorProto::UINT64},
                                  {"i32", TensorProto::INT32},
                                  {"i16", TensorProto::INT16},
                                  {"u16", TensorProto::UINT16},
                                  {"i8", TensorProto::INT8},
                                  {"u8", TensorProto::UINT8},
                                  {"bool", TensorProto::BOOL},
                                  {"str", TensorProto::STRING},
                                  {"u4", 21},
                                  {"i4", 22}};
int32_t TypeOf(const std::string& name) {
  for (const ElementKind& kind : kKinds) {
    if (name == kind.name) return kind.type;
  }
  ADD_FAILURE() << "no type " << name;
  return TensorProto::FLOAT;
}

// Element i of a tensor that a seed makes: a number below 2^32.
uint32_t Drawn(uint32_t seed, uint32_t i) {
  uint32_t x = (i + 1) * 2654435761u + seed * 97531u;
  x ^= x >> 16;
  x *= 2246822519u;
  return x ^ x >> 13;
}

// NAME TYPE EXTENTS, then "= VALUES", or "seed N" with "in LOW HIGH" for integers. "[]" are the extents of a scalar. An
// extent NAME:NUMBER is a symbol of the model that has this value in the run.
struct Given {
  std::string name, type;
  std::vector<std::string> symbols;  // one for each extent; empty: a constant
  std::vector<int64_t> shape;
  NDArray array;
  Words words;  // of strings
};
Given GivenOf(const Words& words) {
  Given given{.name = words[1], .type = words[2]};
  for (const auto& part : Words(absl::StrSplit(words[3] == "[]" ? "" : words[3], ',', absl::SkipEmpty()))) {
    const size_t colon = part.find(':');
    given.symbols.push_back(colon == std::string::npos ? "" : part.substr(0, colon));
    given.shape.push_back(std::stoll(colon == std::string::npos ? part : part.substr(colon + 1)));
  }
  int64_t count = 1;
  for (int64_t extent : given.shape) count *= extent;
  if (given.type == "str") {
    given.words.assign(words.begin() + 5, words.end());
    return given;
  }
  given.array = NDArray(*ElementType(TypeOf(given.type)), given.shape);
  const bool drawn = words.size() > 4 && words[4] == "seed";
  for (int64_t i = 0; i < count; ++i) {
    double value = 0;
    if (!drawn) {
      value = std::strtod(words[static_cast<size_t>(5 + i)].c_str(), nullptr);
    } else {
      const uint32_t number = Drawn(static_cast<uint32_t>(std::stoul(words[5])), static_cast<uint32_t>(i));
      const bool ranged = words.size() > 8;
      const int64_t low = ranged ? std::stoll(words[7]) : -1000, high = ranged ? std::stoll(words[8]) : 1000;
      value = static_cast<double>(low + static_cast<int64_t>(number % static_cast<uint32_t>(high - low + 1)));
      if (given.array.dtype().is_float() && !ranged) value /= 500;
    }
    if (given.array.dtype().is_float()) {
      given.array.Set(i, value);
    } else {
      // What int64 does not hold is of uint64.
      given.array.SetInt(
          i, value < 0x1p63 ? static_cast<int64_t>(value) : static_cast<int64_t>(static_cast<uint64_t>(value)));
    }
  }
  return given;
}

void AddConstant(ModelWriter& m, const Given& given) {
  TensorProto* tensor = m.graph().add_initializer();
  tensor->set_name(given.name);
  tensor->set_data_type(TypeOf(given.type));
  for (int64_t extent : given.shape) tensor->add_dims(extent);
  if (given.type == "str") {
    for (const std::string& word : given.words) tensor->add_string_data(word);
    return;
  }
  std::string bytes(static_cast<const char*>(given.array.data()), static_cast<size_t>(given.array.bytes()));
  if (given.type == "i4" || given.type == "u4") {
    std::string packed((bytes.size() + 1) / 2, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      packed[i / 2] = static_cast<char>(static_cast<unsigned char>(packed[i / 2]) |
                                        (static_cast<unsigned>(bytes[i]) & 15u) << (i % 2 * 4));
    }
    bytes = packed;
  }
  tensor->set_raw_data(bytes);
}

// NAME=KIND:VALUE, a kind of i, f, s (is, fs, ss for lists; tf, tu for tensors of floats and bytes).
void AddAttribute(onnx::NodeProto* node, const std::string& text) {
  const std::vector<std::string> sides = absl::StrSplit(text, absl::MaxSplits('=', 1));
  const std::vector<std::string> value = absl::StrSplit(sides[1], absl::MaxSplits(':', 1));
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(sides[0]);
  const Words parts = absl::StrSplit(value[1], ',', absl::SkipEmpty());
  if (value[0] == "i") {
    attribute->set_type(AttributeProto::INT);
    attribute->set_i(std::stoll(value[1]));
  } else if (value[0] == "f") {
    attribute->set_type(AttributeProto::FLOAT);
    attribute->set_f(std::stof(value[1]));
  } else if (value[0] == "s") {
    attribute->set_type(AttributeProto::STRING);
    attribute->set_s(value[1]);
  } else if (value[0] == "is") {
    attribute->set_type(AttributeProto::INTS);
    for (const std::string& part : parts) attribute->add_ints(std::stoll(part));
  } else if (value[0] == "fs") {
    attribute->set_type(AttributeProto::FLOATS);
    for (const std::string& part : parts) attribute->add_floats(std::stof(part));
  } else if (value[0] == "tf" || value[0] == "tu") {
    attribute->set_type(AttributeProto::TENSOR);
    TensorProto* tensor = attribute->mutable_t();
    tensor->set_data_type(value[0] == "tf" ? TensorProto::FLOAT : TensorProto::UINT8);
    tensor->add_dims(static_cast<int64_t>(parts.size()));
    for (const std::string& part : parts) {
      if (value[0] == "tf") {
        tensor->add_float_data(std::stof(part));
      } else {
        tensor->add_int32_data(std::stoi(part));
      }
    }
  } else {
    attribute->set_type(AttributeProto::STRINGS);
    for (const std::string& part : parts) attribute->add_strings(part);
  }
}

// DOMAIN:OPERATOR INPUTS -> OUTPUTS ATTRIBUTES; "-" is an input or output that is absent.
void AddNode(ModelWriter& m, const Words& words) {
  onnx::NodeProto* node = m.graph().add_node();
  const Words name = absl::StrSplit(words[1], ':');
  node->set_op_type(name.back());
  if (name.size() > 1) node->set_domain(name[0]);
  bool behind_arrow = false;
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string word = words[i] == "-" ? "" : words[i];
    if (word == "->") {
      behind_arrow = true;
    } else if (word.find('=') != std::string::npos) {
      AddAttribute(node, word);
    } else if (behind_arrow) {
      node->add_output(word);
    } else {
      node->add_input(word);
    }
  }
  node->set_name(node->output(0));
}

void ExpectNear(const NDArray& got, const Given& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape) << what;
  EXPECT_EQ(got.dtype().ToString(), want.array.dtype().ToString()) << what;
  double largest = 0;
  for (int64_t i = 0; i < want.array.size(); ++i) {
    const double value = want.array.Get(i);
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (int64_t i = 0; i < want.array.size(); ++i) {
    const double a = got.Get(i), b = want.array.Get(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    EXPECT_LE(std::abs(a - b), tolerance * largest) << what << ", element " << i << ": " << a << ", expected " << b;
    if (!(std::abs(a - b) <= tolerance * largest)) return;
  }
}

// What the lines of one case, without its name, say.
struct Case {
  ModelWriter model;
  OnnxModel::Inputs inputs;
  std::vector<std::pair<Given, double>> expected;
  std::string refusal;
};
Case CaseOf(const std::vector<Words>& lines) {
  int64_t opset = 17;
  for (const Words& words : lines) {
    if (words[0] == "opset") opset = std::stoll(words[1]);
  }
  Case result{.model = ModelWriter(opset)};
  ModelWriter& m = result.model;
  for (const Words& words : lines) {
    if (words[0] == "import") {
      auto* import = m.model().add_opset_import();
      import->set_domain(words[1]);
      import->set_version(std::stoll(words[2]));
    } else if (words[0] == "node") {
      AddNode(m, words);
    } else if (words[0] == "const") {
      AddConstant(m, GivenOf(words));
    } else if (words[0] == "input") {
      const Given given = GivenOf(words);
      std::vector<ModelWriter::Dim> dims;
      for (size_t d = 0; d < given.shape.size(); ++d) {
        dims.emplace_back(static_cast<int>(given.shape[d]));
        if (!given.symbols[d].empty()) dims.back() = given.symbols[d].c_str();
      }
      m.Input(given.name, TypeOf(given.type), dims);
      result.inputs[given.name] = {Item::Kind::kTensor, {given.array}};
    } else if (words[0] == "expect") {
      // expect TOLERANCE NAME TYPE EXTENTS = VALUES
      result.expected.emplace_back(GivenOf(Words(words.begin() + 1, words.end())), std::stod(words[1]));
      m.Output(words[2]);
    } else if (words[0] == "refused") {
      result.refusal = absl::StrJoin(words.begin() + 1, words.end(), " ");
    }
  }
  if (result.expected.empty()) m.Output(m.graph().node(m.graph().node_size() - 1).output(0));
  return result;
}

void RunCase(const std::string& name, const std::vector<Words>& lines) {
  const Case given = CaseOf(lines);
  const auto& [m, inputs, expected, refusal] = given;
  auto model = OnnxModel::Load(*m.File(), {.inputs = &inputs, .executor = {.interpret = true}});
  if (!refusal.empty()) {
    // The import refuses it or, where extents are symbols, the run.
    const absl::Status status = model.ok() ? (*model)->Run(inputs).status() : model.status();
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_NE(std::string(status.message()).find(refusal), std::string::npos) << name << status;
    return;
  }
  ASSERT_TRUE(model.ok()) << name << ": " << model.status();
  const auto outputs = (*model)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << name << ": " << outputs.status();
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto& [want, tolerance] = expected[i];
    ExpectNear((*outputs)[i].arrays[0], want, tolerance, absl::StrCat(name, ", ", want.name));
  }
}

// Another number in place of one of a tensor of integers.
std::string Extreme(std::mt19937_64& random) {
  static const auto* const numbers =
      new Words{"-9223372036854775807", "-2147483648", "-129", "-1", "0", "1", "3", "200", "9223372036854775807"};
  return (*numbers)[random() % numbers->size()];
}

// One tensor of a case with another extent, or with integers from the ends of their range. Extents of inputs become
// symbols now and then, so that the run meets what the import cannot see.
void Disturb(std::vector<Words>* lines, std::mt19937_64& random) {
  std::vector<Words*> tensors;
  for (Words& words : *lines) {
    if ((words[0] == "input" || words[0] == "const") && words[2] != "str") tensors.push_back(&words);
  }
  if (tensors.empty()) return;
  Words& words = *tensors[random() % tensors.size()];
  const Given given = GivenOf(words);
  if (!given.array.dtype().is_float() && given.array.size() > 0 && random() % 2 == 0) {
    words.resize(4);
    words.emplace_back("=");
    for (int64_t i = 0; i < given.array.size(); ++i) words.push_back(absl::StrCat(given.array.GetInt(i)));
    words[5 + random() % (words.size() - 5)] = Extreme(random);
    return;
  }
  if (given.shape.empty()) return;
  std::vector<int64_t> shape = given.shape;
  int64_t& extent = shape[random() % shape.size()];
  extent = std::max<int64_t>(extent + (random() % 2 == 0 ? 1 : -1), 1);
  const bool symbolic = words[0] == "input" && random() % 2 == 0;
  std::vector<std::string> extents;
  for (size_t d = 0; d < shape.size(); ++d) {
    extents.push_back(symbolic ? absl::StrCat(given.name, "_", d, ":", shape[d]) : absl::StrCat(shape[d]));
  }
  words = {words[0], given.name, given.type, absl::StrJoin(extents, ","), "seed", "1", "in", "0", "1"};
}

// Whatever is accepted reads and writes inside of its tensors, which the interpreter checks.
void RunDisturbed(const std::string& name, std::vector<Words> lines, uint64_t seed) {
  std::mt19937_64 random(seed);
  Disturb(&lines, random);
  const Case given = CaseOf(lines);
  auto model = OnnxModel::Load(*given.model.File(), {.inputs = &given.inputs, .executor = {.interpret = true}});
  const absl::Status status = model.ok() ? (*model)->Run(given.inputs).status() : model.status();
  EXPECT_EQ(std::string(status.message()).find("out of bounds"), std::string::npos)
      << name << ", seed " << seed << ": " << status;
}

class Cases : public testing::TestWithParam<const char*> {
 protected:
  // Calls `run` with the name and the lines of each case.
  static void ForEach(const std::function<void(const std::string&, const std::vector<Words>&)>& run) {
    std::ifstream file(absl::StrCat("graph/onnx/cases/", GetParam(), ".txt"));
    ASSERT_TRUE(file) << GetParam();
    std::string line, name;
    std::vector<Words> lines;
    int count = 0;
    while (std::getline(file, line)) {
      const Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.empty() || words[0][0] == '#') continue;
      if (words[0] == "case") {
        name = words[1];
        lines.clear();
      } else if (words[0] == "end") {
        run(name, lines);
        ++count;
      } else {
        lines.push_back(words);
      }
    }
    EXPECT_GT(count, 0);
  }
};

TEST_P(Cases, GiveWhatOtherEnginesGive) { ForEach(RunCase); }

// DISTURBED_SEEDS and DISTURBED_FIRST widen the run.
TEST_P(Cases, StayInsideOfTheirTensors) {
  const char* first_text = std::getenv("DISTURBED_FIRST");
  const char* count_text = std::getenv("DISTURBED_SEEDS");
  const uint64_t first = first_text != nullptr ? std::strtoull(first_text, nullptr, 10) : 0;
  const uint64_t count = count_text != nullptr ? std::strtoull(count_text, nullptr, 10) : 2;
  ForEach([&](const std::string& name, const std::vector<Words>& lines) {
    for (uint64_t seed = first; seed < first + count; ++seed) RunDisturbed(name, lines, seed);
  });
}

INSTANTIATE_TEST_SUITE_P(Files, Cases,
                         testing::Values("attention", "bounds", "fast_forms", "faults", "fused", "machine_learning",
                                         "packed"),
                         [](const auto& file) { return std::string(file.param); });

}  // namespace
}  // namespace tilewright::graph
