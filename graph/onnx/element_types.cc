#include "graph/onnx/element_types.h"

#include <map>

namespace tilewright::graph {
namespace {

enum class Elements { kFloats, kNumbers, kIntegers, kBooleans };

using Table = std::map<std::string_view, Elements>;

const Table& Limits() {
  static const auto* const table = [] {
    auto* limits = new Table;
    for (const char* op : {"Acos",
                           "Acosh",
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
    for (const char* op : {"Abs",
                           "Add",
                           "ArgMax",
                           "ArgMin",
                           "Clip",
                           "CumSum",
                           "Div",
                           "Einsum",
                           "Gemm",
                           "Greater",
                           "GreaterOrEqual",
                           "Less",
                           "LessOrEqual",
                           "MatMul",
                           "Max",
                           "MaxPool",
                           "Min",
                           "Mod",
                           "Mul",
                           "Neg",
                           "PRelu",
                           "Pow",
                           "Range",
                           "ReduceL1",
                           "ReduceL2",
                           "ReduceLogSum",
                           "ReduceLogSumExp",
                           "ReduceMean",
                           "ReduceProd",
                           "ReduceSum",
                           "ReduceSumSquare",
                           "Relu",
                           "Shrink",
                           "Sign",
                           "Sub",
                           "Sum",
                           "TopK"}) {
      (*limits)[op] = Elements::kNumbers;
    }
    for (const char* op :
         {"BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "ConvInteger", "MatMulInteger"}) {
      (*limits)[op] = Elements::kIntegers;
    }
    for (const char* op : {"And", "If", "Not", "Or", "Xor"}) (*limits)[op] = Elements::kBooleans;
    return limits;
  }();
  return *table;
}

}  // namespace

bool TakesElements(std::string_view op, DataType dtype) {
  const auto limit = Limits().find(op);
  if (limit == Limits().end()) return true;
  switch (limit->second) {
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
