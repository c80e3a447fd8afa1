#include "graph/onnx/element_types.h"

#include <map>
#include <set>
#include <utility>

namespace tilewright::graph {
namespace {

enum class Elements { kAny, kFloats, kNumbers, kIntegers, kBooleans };

using Table = std::map<std::string_view, Elements>;

const Table& Limits() {
  static const auto* const table = [] {
    auto* limits = new Table;
    for (const char* op : {"Acos",
                           "Acosh",
                           "AffineGrid",
                           "Asin",
                           "Asinh",
                           "Atan",
                           "Atanh",
                           "AveragePool",
                           "BatchNormalization",
                           "Ceil",
                           "Celu",
                           "Conv",
                           "ConvTranspose",
                           "Cos",
                           "Cosh",
                           "DynamicQuantizeLinear",
                           "Elu",
                           "Erf",
                           "Exp",
                           "Floor",
                           "GRU",
                           "Gelu",
                           "GlobalAveragePool",
                           "GlobalLpPool",
                           "GlobalMaxPool",
                           "GroupNormalization",
                           "HardSigmoid",
                           "HardSwish",
                           "Hardmax",
                           "InstanceNormalization",
                           "IsInf",
                           "IsNaN",
                           "LRN",
                           "LSTM",
                           "LayerNormalization",
                           "LeakyRelu",
                           "Log",
                           "LogSoftmax",
                           "LpNormalization",
                           "LpPool",
                           "Mean",
                           "MeanVarianceNormalization",
                           "Mish",
                           "RNN",
                           "Reciprocal",
                           "Round",
                           "Selu",
                           "Sigmoid",
                           "Sin",
                           "Sinh",
                           "Softmax",
                           "SoftmaxCrossEntropyLoss",
                           "Softplus",
                           "Softsign",
                           "Sqrt",
                           "Tan",
                           "Tanh",
                           "ThresholdedRelu"}) {
      (*limits)[op] = Elements::kFloats;
    }
    for (const char* op : {"Abs",        "Add",         "ArgMax",       "ArgMin",
                           "Clip",       "Col2Im",      "CumSum",       "Div",
                           "Einsum",     "Gemm",        "Greater",      "GreaterOrEqual",
                           "Less",       "LessOrEqual", "MatMul",       "Max",
                           "MaxPool",    "Min",         "Mod",          "Mul",
                           "Neg",        "PRelu",       "Pow",          "Range",
                           "ReduceL1",   "ReduceL2",    "ReduceLogSum", "ReduceLogSumExp",
                           "ReduceMean", "ReduceProd",  "ReduceSum",    "ReduceSumSquare",
                           "Relu",       "Shrink",      "Sign",         "Sub",
                           "Sum",        "TopK"}) {
      (*limits)[op] = Elements::kNumbers;
    }
    for (const char* op : {"BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "ConstantOfShape",
                           "ConvInteger", "Loop", "MatMulInteger"}) {
      (*limits)[op] = Elements::kIntegers;
    }
    for (const char* op : {"And", "If", "Not", "Or", "Where", "Xor"}) (*limits)[op] = Elements::kBooleans;
    return limits;
  }();
  return *table;
}

// Inputs behind the first that hold positions, sizes, axes or conditions.
Elements LimitOfLaterInput(std::string_view op, size_t input) {
  static const auto* const whole = new std::set<std::pair<std::string_view, size_t>>{{"AffineGrid", 1},
                                                                                     {"CenterCropPad", 1},
                                                                                     {"Col2Im", 1},
                                                                                     {"Col2Im", 2},
                                                                                     {"CumSum", 1},
                                                                                     {"DFT", 1},
                                                                                     {"DFT", 2},
                                                                                     {"Expand", 1},
                                                                                     {"GRU", 4},
                                                                                     {"Gather", 1},
                                                                                     {"GatherElements", 1},
                                                                                     {"GatherND", 1},
                                                                                     {"LSTM", 4},
                                                                                     {"MaxUnpool", 1},
                                                                                     {"MaxUnpool", 2},
                                                                                     {"NonMaxSuppression", 2},
                                                                                     {"Pad", 1},
                                                                                     {"Pad", 3},
                                                                                     {"RNN", 4},
                                                                                     {"ReduceL1", 1},
                                                                                     {"ReduceL2", 1},
                                                                                     {"ReduceLogSum", 1},
                                                                                     {"ReduceLogSumExp", 1},
                                                                                     {"ReduceMax", 1},
                                                                                     {"ReduceMean", 1},
                                                                                     {"ReduceMin", 1},
                                                                                     {"ReduceProd", 1},
                                                                                     {"ReduceSum", 1},
                                                                                     {"ReduceSumSquare", 1},
                                                                                     {"Reshape", 1},
                                                                                     {"Resize", 3},
                                                                                     {"ReverseSequence", 1},
                                                                                     {"RoiAlign", 2},
                                                                                     {"STFT", 1},
                                                                                     {"STFT", 3},
                                                                                     {"Scatter", 1},
                                                                                     {"ScatterElements", 1},
                                                                                     {"ScatterND", 1},
                                                                                     {"SequenceAt", 1},
                                                                                     {"SequenceErase", 1},
                                                                                     {"SequenceInsert", 2},
                                                                                     {"Slice", 1},
                                                                                     {"Slice", 2},
                                                                                     {"Slice", 3},
                                                                                     {"Slice", 4},
                                                                                     {"Split", 1},
                                                                                     {"SplitToSequence", 1},
                                                                                     {"Squeeze", 1},
                                                                                     {"Tile", 1},
                                                                                     {"TopK", 1},
                                                                                     {"Trilu", 1},
                                                                                     {"Unsqueeze", 1}};
  static const auto* const conditions = new std::set<std::pair<std::string_view, size_t>>{{"Compress", 1}, {"Loop", 1}};
  if (whole->contains({op, input})) return Elements::kIntegers;
  return conditions->contains({op, input}) ? Elements::kBooleans : Elements::kAny;
}

}  // namespace

bool TakesElements(std::string_view op, size_t input, DataType dtype) {
  const auto limit = Limits().find(op);
  const Elements first = limit == Limits().end() ? Elements::kAny : limit->second;
  switch (input == 0 ? first : LimitOfLaterInput(op, input)) {
    case Elements::kAny:
      return true;
    case Elements::kFloats:
      return dtype.is_float();
    case Elements::kNumbers:
      return dtype.is_float() || dtype.is_integer();
    case Elements::kIntegers:
      return dtype.is_integer();
    case Elements::kBooleans:
      return dtype.is_bool();
  }
  return true;
}

bool HasTooManyInputs(std::string_view op, int inputs) {
  static const auto* const most = [] {
    auto* limits = new std::map<std::string_view, int>;
    for (const char* name :
         {"Abs",        "Acos",     "Acosh",    "Asin",        "Asinh",     "Atan",       "Atanh",
          "BitwiseNot", "Ceil",     "Celu",     "Cos",         "Cosh",      "Elu",        "Erf",
          "Exp",        "Floor",    "Gelu",     "HardSigmoid", "HardSwish", "IsInf",      "IsNaN",
          "LeakyRelu",  "Log",      "Mish",     "Neg",         "Not",       "Reciprocal", "Relu",
          "Round",      "Selu",     "Shrink",   "Sigmoid",     "Sign",      "Sin",        "Sinh",
          "Softmax",    "Softplus", "Softsign", "Sqrt",        "Tan",       "Tanh",       "ThresholdedRelu"}) {
      (*limits)[name] = 1;
    }
    for (const char* name : {"Add",   "And",     "BitShift",       "BitwiseAnd", "BitwiseOr",   "BitwiseXor", "Div",
                             "Equal", "Greater", "GreaterOrEqual", "Less",       "LessOrEqual", "MatMul",     "Mod",
                             "Mul",   "Or",      "PRelu",          "Pow",        "Sub",         "Xor"}) {
      (*limits)[name] = 2;
    }
    return limits;
  }();
  const auto limit = most->find(op);
  return limit != most->end() && inputs > limit->second;
}

}  // namespace tilewright::graph
