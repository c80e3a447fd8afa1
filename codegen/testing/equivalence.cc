#include "codegen/testing/equivalence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "ir/arith/analyzer.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parser.h"

namespace tilewright::testing {
namespace {

// Programs that are compiled and loaded together: a process starts for each of these.
constexpr size_t kTogether = 25;

double ToleranceOf(DataType type) {
  if (!type.is_float()) return 0;
  if (type.bits() == 8) return 0.15;
  if (type.code() == TypeCode::kBFloat) return 1.6e-2;
  return type.bits() == 16 ? 2e-3 : type.bits() == 32 ? 2e-6 : 1e-13;
}

// Constant extents of a shape; variables are numbered as they occur.
class ShapeEvaluator {
 public:
  explicit ShapeEvaluator(const std::vector<int64_t>& values) : values_(values) {}
  std::vector<int64_t> Evaluate(const Buffer& buffer) {
    std::vector<int64_t> shape;
    for (const Expr& extent : buffer->shape) {
      if (const auto* var = dyn_cast<VarNode>(extent); var && bound_.insert(var).second) {
        analyzer_.Bind(Var(var), Const(var->dtype(), values_.at(bound_.size() - 1)));
      }
      shape.push_back(AsInt(analyzer_.Simplify(extent)).value());
    }
    return shape;
  }

 private:
  const std::vector<int64_t>& values_;
  std::set<const VarNode*> bound_;
  arith::Analyzer analyzer_;
};

// An element of `a` and of `b` that differ by more than the tolerance; empty when there is none.
std::string Difference(const NDArray& a, const NDArray& b, double tolerance) {
  for (int64_t i = 0; i < a.size(); ++i) {
    if (!a.dtype().is_float()) {
      if (a.GetInt(i) != b.GetInt(i)) return absl::StrCat("element ", i, ": ", a.GetInt(i), " and ", b.GetInt(i));
      continue;
    }
    const double x = a.Get(i), y = b.Get(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double bound = tolerance * std::max({1.0, std::abs(x), std::abs(y)});
    if (!(std::abs(x - y) <= bound)) return absl::StrCat("element ", i, ": ", x, " and ", y);
  }
  return "";
}

}  // namespace

Target TestedTarget() {
  const char* name = std::getenv("TILEWRIGHT_TESTED_TARGET");
  return NamedTarget(name == nullptr ? "host" : name).value();
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string CompareWithInterpreter(const Module& module, const ComparisonOptions& options) {
  auto compiled = CompileAndLoad(module, options.target, {.emulate = true});
  if (!compiled.ok()) return std::string(compiled.status().message());
  return CompareWithInterpreter(**compiled, module.Main(), options);
}

std::string CompareWithInterpreter(const CompiledModule& compiled, const Function& function,
                                   const ComparisonOptions& options) {
  auto interpreted = interp::Compile(options.original ? options.original : function);
  if (!interpreted.ok()) return absl::StrCat("interpreter: ", interpreted.status().message());

  ShapeEvaluator shapes(options.variables);
  std::vector<NDArray> compiled_arrays;
  std::vector<interp::Argument> interpreter_args;
  std::vector<runtime::Tensor> tensors;
  std::vector<TwTensor*> args;
  for (size_t i = 0; i < function->params.size(); ++i) {
    const Param& param = function->params[i];
    NDArray array(param.buffer ? param.buffer->dtype : param.var.dtype(),
                  param.buffer ? shapes.Evaluate(param.buffer) : std::vector<int64_t>());
    if (options.integers != 0) {
      FillIntegers(array, options.seed + i, options.integers);
    } else {
      FillUniform(array, options.seed + i, options.low, options.high);
    }
    compiled_arrays.push_back(array.Clone());
    tensors.push_back(runtime::Tensor::Borrow(compiled_arrays.back().data(), AbiType(array.dtype()), array.shape()));
    if (param.buffer) {
      interpreter_args.emplace_back(array);
    } else if (array.dtype().is_float()) {
      interpreter_args.emplace_back(array.Get(0));
    } else {
      interpreter_args.emplace_back(array.GetInt(0));
    }
  }
  for (runtime::Tensor& tensor : tensors) args.push_back(tensor.abi());
  absl::Status expected = interpreted->Run(interpreter_args);
  if (!expected.ok()) return absl::StrCat("interpreter: ", expected.message());
  runtime::ThreadPool pool({.num_threads = options.parallel ? 2 : 1});
  const TwParallelHook hook = pool.hook();
  absl::Status actual = compiled.Run(function->name, args, options.parallel ? &hook : nullptr);
  if (!actual.ok()) return std::string(actual.message());
  for (size_t i = 0; i < function->params.size(); ++i) {
    if (!function->params[i].buffer) continue;
    const double tolerance = options.tolerance >= 0 ? options.tolerance : ToleranceOf(compiled_arrays[i].dtype());
    const std::string difference = Difference(compiled_arrays[i], interpreter_args[i].array, tolerance);
    if (!difference.empty()) return absl::StrCat(function->params[i].buffer->name, ": ", difference);
  }
  return "";
}

std::vector<std::string> CompareAllWithInterpreter(const std::vector<Compared>& all) {
  std::vector<std::string> results;
  if (all.empty()) return results;
  Module together;
  std::vector<Function> named;
  for (size_t i = 0; i < all.size(); ++i) {
    FunctionNode::Fields fields = all[i].function->fields();
    fields.name = absl::StrCat("compared_", i);
    named.emplace_back(std::move(fields));
    together.Set(named.back());
  }
  const auto compiled = CompileAndLoad(together, all[0].options.target, {.emulate = true});
  for (size_t i = 0; i < all.size(); ++i) {
    ComparisonOptions options = all[i].options;
    if (!options.original) options.original = all[i].function;
    // What cannot be compiled with others is compiled alone, so that the right one has the error.
    results.push_back(compiled.ok() ? CompareWithInterpreter(**compiled, named[i], options)
                                    : CompareWithInterpreter(Module(all[i].function), options));
  }
  return results;
}

void Batch::Add(Compared compared, std::string text) {
  all_.push_back(std::move(compared));
  texts_.push_back(std::move(text));
  if (all_.size() == kTogether) Compare();
}

void Batch::Compare() {
  const std::vector<std::string> wrong = CompareAllWithInterpreter(all_);
  for (size_t i = 0; i < wrong.size(); ++i) EXPECT_EQ(wrong[i], "") << texts_[i];
  all_.clear();
  texts_.clear();
}

std::string CompareWithInterpreter(std::string_view script, const ComparisonOptions& options) {
  auto module = ParseModule(script);
  if (!module.ok()) return std::string(module.status().message());
  return CompareWithInterpreter(*module, options);
}

}  // namespace tilewright::testing
