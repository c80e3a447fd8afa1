#include "tools/peer/meaning.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "verify/regions/declared_regions.h"

namespace tilewright {
namespace {

constexpr uint64_t kMaxSteps = 1 << 24;

std::vector<int64_t> ShapeFor(const Buffer& buffer, int64_t size) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) {
    const Expr known = arith::Simplify(
        RewriteExpr(extent, [&](const Expr& e) { return isa<VarNode>(e) ? Const(e.dtype(), size) : e; }));
    shape.push_back(AsInt(known).value_or(0));
  }
  return shape;
}

// Integers may be indices, so they are not negative.
std::vector<interp::Argument> MakeArguments(const Function& function, int64_t size) {
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    if (!param.buffer) {
      arguments.emplace_back(size);
      continue;
    }
    NDArray array(param.buffer->dtype, ShapeFor(param.buffer, size));
    const uint64_t seed = size * 1000 + arguments.size();
    array.dtype().is_int() ? FillUniform(array, seed, 0, 4) : FillIntegers(array, seed);
    arguments.emplace_back(std::move(array));
  }
  return arguments;
}

bool SameParameters(const Function& a, const Function& b, int64_t size) {
  if (a->params.size() != b->params.size()) return false;
  for (size_t i = 0; i < a->params.size(); ++i) {
    const Buffer &left = a->params[i].buffer, &right = b->params[i].buffer;
    if (!left != !right) return false;
    if (left && (left->dtype != right->dtype || ShapeFor(left, size) != ShapeFor(right, size))) return false;
  }
  return true;
}

std::vector<interp::Argument> Copy(std::vector<interp::Argument> arguments) {
  for (interp::Argument& argument : arguments) {
    if (argument.array.data() != nullptr) argument.array = argument.array.Clone();
  }
  return arguments;
}

absl::Status Run(const Function& function, const interp::CompileOptions& options,
                 const std::vector<interp::Argument>& arguments) {
  TW_ASSIGN_OR_RETURN(const interp::Program program, interp::Compile(function, options));
  return program.Run(arguments, {.max_steps = kMaxSteps});
}

// The checks that the function passes; none: it does not run at all.
std::optional<interp::CompileOptions> Passes(const Function& function, const std::vector<interp::Argument>& arguments) {
  interp::CompileOptions options = interp::CompileOptions::AllChecks();
  for (bool* check : {&options.check_regions, &options.check_races, &options.check_uninitialized}) {
    if (Run(function, options, Copy(arguments)).ok()) return options;
    *check = false;
  }
  if (Run(function, options, Copy(arguments)).ok()) return options;
  return std::nullopt;
}

// Sums of numbers of few bits depend on their order.
bool Rounds(const Function& function) {
  bool rounds = false;
  RewriteExprs(function->body, [&](const Expr& e) {
    rounds |= e.dtype().is_float() && e.dtype().bits() < 32;
    return e;
  });
  return rounds;
}

// A region may name an element of an index buffer (A[J[i]]), which the interpreter reads before the block has begun.
class RegionsOfElements : public Visitor {
 public:
  bool found = false;

 protected:
  void VisitBlock(const BlockNode* op) override {
    for (const std::vector<BufferRegion>* regions : {&op->reads, &op->writes}) {
      for (const BufferRegion& region : *regions) {
        for (const Range& range : region.region) {
          Loads loads;
          loads.Visit(range.min);
          found |= loads.found;
        }
      }
    }
    Visitor::VisitBlock(op);
  }

 private:
  class Loads : public Visitor {
   public:
    bool found = false;

   protected:
    void VisitLoad(const LoadNode*) override { found = true; }
  };
};

// A block that touches a buffer of which it declares nothing.
std::string Undeclared(const Function& function) {
  for (const Diagnostic& diagnostic : CheckDeclaredRegions(function)) {
    const bool absent = diagnostic.reason.find("does not declare") != std::string::npos;
    if (diagnostic.verdict == Verdict::kRefuted && absent) return diagnostic.reason;
  }
  return "";
}

std::string WhyWrong(const Function& before, const Function& after, int64_t size) {
  if (!SameParameters(before, after, size)) return "";
  const std::vector<interp::Argument> inputs = MakeArguments(before, size);
  std::optional<interp::CompileOptions> options = Passes(before, inputs);
  if (!options) return "";
  RegionsOfElements elements;
  elements.Visit(after->body);
  options->check_regions &= !elements.found;
  const std::vector<interp::Argument> expected = Copy(inputs), actual = Copy(inputs);
  if (!Run(before, *options, expected).ok()) return "";
  if (const absl::Status status = Run(after, *options, actual); !status.ok()) {
    const bool unknown = absl::IsUnimplemented(status) || absl::IsResourceExhausted(status);
    return unknown ? "" : std::string(status.message());
  }
  const double rounding = Rounds(before) ? 1e-2 : 1e-4;
  for (size_t i = 0; i < actual.size(); ++i) {
    const Buffer& buffer = before->params[i].buffer;
    if (!buffer) continue;
    const ArrayError error = MaxError(expected[i].array, actual[i].array);
    if (error.max_rel <= rounding || error.max_abs <= rounding) continue;
    return absl::StrCat("element ", error.position, " of ", buffer->name, " is ", actual[i].array.Get(error.position),
                        ", before ", expected[i].array.Get(error.position));
  }
  return "";
}

}  // namespace

std::string WhyWrong(const Module& before, const Module& after) {
  for (const Function& function : before.functions()) {
    const Function now = after.Find(function->name);
    if (!now) return "";
    if (Undeclared(function).empty()) {
      if (std::string undeclared = Undeclared(now); !undeclared.empty()) return undeclared;
    }
    for (const int64_t size : {7, 5}) {
      std::string wrong = WhyWrong(function, now, size);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace tilewright
