#include "schedule/fuzz/oracle.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/ndarray.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "verify/verify.h"

namespace tilewright::fuzz {
namespace {

constexpr double kRounding = 1e-4;  // relative, of sums of a few float32 numbers and of exp

std::vector<interp::Argument> MakeArguments(const Function& function, int64_t size, uint64_t seed) {
  const auto value = [&](const Expr& extent) {
    const Expr known = arith::Simplify(
        RewriteExpr(extent, [&](const Expr& e) { return isa<VarNode>(e) ? Const(e.dtype(), size) : e; }));
    return *AsInt(known);
  };
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    if (!param.buffer) {
      arguments.emplace_back(size);
      continue;
    }
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(value(extent));
    NDArray array(param.buffer->dtype, std::move(shape));
    FillIntegers(array, seed * 1000 + arguments.size());
    arguments.emplace_back(std::move(array));
  }
  return arguments;
}

// Programs go to the compiler of candidates as text, and records hold them so.
std::string WhyTextDiffers(const Module& module) {
  const absl::StatusOr<Module> again = ParseModule(Print(module), "printed");
  if (!again.ok()) return absl::StrCat("its text is refused: ", again.status().message());
  return StructuralHash(*again) == StructuralHash(module) ? "" : "its text reads back as another program";
}

// In any order.
std::multiset<std::string> Findings(const VerifyResult& result) {
  std::multiset<std::string> findings;
  for (const Diagnostic& d : result.diagnostics) findings.insert(absl::StrCat(d.check, ": ", d.object, ": ", d.reason));
  return findings;
}

const std::string& NameOf(const Param& param) { return param.buffer ? param.buffer->name : param.var.name(); }

std::vector<interp::Argument> Copy(const std::vector<interp::Argument>& arguments, const Function& function) {
  std::vector<interp::Argument> copy = arguments;
  for (size_t i = 0; i < copy.size(); ++i) {
    if (function->params[i].buffer) copy[i].array = copy[i].array.Clone();
  }
  return copy;
}

// Tensors by their names; those that only the new functions have are made, holding nothing.
class Tensors {
 public:
  Tensors(const Function& function, const std::vector<interp::Argument>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) by_name_.emplace(NameOf(function->params[i]), arguments[i]);
  }
  absl::Status Run(const Function& function) {
    TW_ASSIGN_OR_RETURN(const interp::Program program, interp::Compile(function, interp::CompileOptions::AllChecks()));
    std::vector<interp::Argument> arguments;
    for (const Param& param : function->params) {
      auto known = by_name_.find(NameOf(param));
      if (known == by_name_.end()) {
        std::vector<int64_t> shape;
        for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value_or(0));
        interp::Argument fresh(NDArray(param.buffer->dtype, std::move(shape)));
        fresh.uninitialized = true;
        known = by_name_.emplace(NameOf(param), std::move(fresh)).first;
      }
      arguments.push_back(known->second);
      known->second.uninitialized = false;
    }
    return program.Run(arguments);
  }

 private:
  std::map<std::string, interp::Argument> by_name_;
};

}  // namespace

Oracle::Oracle(const Function& before, bool rounds) : before_(before), rounds_(rounds) {
  const absl::StatusOr<interp::Program> program = interp::Compile(before);
  TW_CHECK(program.ok()) << program.status().ToString();
  for (const int64_t size : {7, 5}) {
    Inputs inputs{MakeArguments(before, size, static_cast<uint64_t>(size)), {}};
    inputs.expected = Copy(inputs.arguments, before);
    const absl::Status status = program->Run(inputs.expected);
    TW_CHECK(status.ok()) << status.ToString();
    inputs_.push_back(std::move(inputs));
  }
}

std::string Oracle::WhyWrong(const Module& after, const Inputs& inputs) const {
  const std::vector<interp::Argument> actual = Copy(inputs.arguments, before_);
  Tensors tensors(before_, actual);
  const Function main = after.Main();
  for (const Function& function : after.functions()) {
    if (function.same_as(main)) continue;
    if (const absl::Status status = tensors.Run(function); !status.ok()) return status.ToString();
  }
  if (const absl::Status status = tensors.Run(main); !status.ok()) return status.ToString();
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!before_->params[i].buffer || BitEqual(inputs.expected[i].array, actual[i].array)) continue;
    const ArrayError error = MaxError(inputs.expected[i].array, actual[i].array);
    if (rounds_ && (error.max_rel <= kRounding || error.max_abs <= kRounding)) continue;
    return absl::StrCat("element ", error.position, " of ", before_->params[i].buffer->name, " is ",
                        actual[i].array.Get(error.position), ", before ", inputs.expected[i].array.Get(error.position));
  }
  return "";
}

Judgement Oracle::Judge(const Module& after, uint64_t inputs) const {
  Judgement judgement;
  judgement.accepted = true;
  for (const Function& function : after.functions()) {
    const VerifyResult verified = VerifyProgram(function);
    const VerifyResult again = VerifyProgram(function, nullptr, &proven_);
    TW_CHECK(Findings(verified) == Findings(again))
        << "of what was proven before, verify says something else: " << Render(verified, function)
        << Render(again, function);
    for (const Diagnostic& diagnostic : verified.diagnostics) {
      if (diagnostic.verdict != Verdict::kRefuted || !judgement.accepted) continue;
      judgement.accepted = false;
      judgement.check = diagnostic.check;
      judgement.reason = diagnostic.reason;
    }
  }
  // What is not well formed has no meaning.
  judgement.wrong =
      judgement.check == "well-formedness" ? judgement.reason : WhyWrong(after, inputs_[inputs % inputs_.size()]);
  if (judgement.wrong.empty()) judgement.wrong = WhyTextDiffers(after);
  judgement.right = judgement.wrong.empty();
  return judgement;
}

}  // namespace tilewright::fuzz
