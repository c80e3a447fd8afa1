// Faults planted into schedules of chains: what corrects running sums is left out, done twice, or made with a value
// that masked keys make infinite. The result is wrong then; that of the schedule itself is right.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/match.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "autoschedule/sketch/gpu/chained/chained_gpu_testing.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using testing::ChainedVariant;

// A change of statements, which counts where it was made.
using Fault = std::function<Stmt(const Stmt& body, int* planted)>;

bool Is(const Buffer& buffer, const char* what) { return absl::StrContains(buffer->name, what); }

// Each load of a buffer whose name contains `what` becomes something else.
Fault Loads(const char* what, const std::function<Expr(const Expr&)>& by) {
  return [=](const Stmt& body, int* planted) {
    return RewriteExprs(body, [&](const Expr& e) -> Expr {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || !Is(load->buffer, what)) return e;
      ++*planted;
      return by(e);
    });
  };
}

// What is stored to the reference is the running value as it is: -inf where all keys so far are masked.
Stmt WithoutReference(const Stmt& body, int* planted) {
  Buffer running;
  PreOrder(body, [&](const Stmt& s) {
    const auto* store = dyn_cast<StoreNode>(s);
    if (store != nullptr && Is(store->buffer, "_running")) running = store->buffer;
    return true;
  });
  return RewriteStmt(body, [&](const Stmt& s) -> Stmt {
    const auto* store = dyn_cast<StoreNode>(s);
    if (store == nullptr || !running || !Is(store->buffer, "_reference")) return s;
    ++*planted;
    return Store(store->buffer, running.Load(store->indices), store->indices);
  });
}

std::string Compared(const Function& program, const Function& scheduled, const Target& target) {
  return testing::CompareWithInterpreter(Module(scheduled), {.target = target, .original = program, .tolerance = 1e-4});
}

// The first block of keys shows nothing to anyone.
ChainedVariant LateKeys() {
  return {.rows = 16,
          .keys = 192,
          .heads = 1,
          .key_heads = 1,
          .score = "T.if_then_else(vj >= 70, P[vh, vi, vj] * T.float32(0.125), T.float32(\"-inf\"))",
          .start = testing::kInfinity};
}

void ExpectReported(const Fault& fault, const ChainedVariant& variant) {
  const Target target = *NamedTarget("cuda-sm80");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Function program = ParseFunctionOrDie(TextOf(variant));
  const Function scheduled = testing::Scheduled(program, target, intrins, "chained_tiles").schedule.module().Main();
  ASSERT_EQ(Compared(program, scheduled, target), "");
  int planted = 0;
  FunctionNode::Fields fields = scheduled->fields();
  fields.body = fault(scheduled->body, &planted);
  EXPECT_GT(planted, 0);
  EXPECT_NE(Compared(program, Function(std::move(fields)), target), "");
}

// `fault` for the chain of one array of values, of two, and in float64.
void ExpectReportedInAll(const Fault& fault) {
  for (int kind = 0; kind < 3; ++kind) {
    SCOPED_TRACE(kind);
    ChainedVariant variant = LateKeys();
    variant.two_values = kind == 1;
    if (kind == 2) variant.type = "float64";
    ExpectReported(fault, variant);
  }
}

TEST(ChainedFaults, ACorrectionThatIsLeftOutIsReported) {
  ExpectReportedInAll(Loads("_rescale", [](const Expr& e) { return ConstFloat(e.dtype(), 1); }));
}

TEST(ChainedFaults, ACorrectionThatIsMadeTwiceIsReported) {
  ExpectReportedInAll(Loads("_rescale", [](const Expr& e) { return e * e; }));
}

TEST(ChainedFaults, AReferenceThatIsNotANumberIsReported) { ExpectReportedInAll(WithoutReference); }

// Each of two products is corrected by itself.
TEST(ChainedFaults, ACorrectionOfOneProductAloneIsReported) {
  ChainedVariant variant = LateKeys();
  variant.two_values = true;
  for (const char* sums : {"O", "N"}) {
    SCOPED_TRACE(sums);
    const Fault of_one = [&](const Stmt& body, int* planted) {
      return RewriteStmt(body, [&](const Stmt& s) -> Stmt {
        const auto* store = dyn_cast<StoreNode>(s);
        if (store == nullptr || !Is(store->buffer, sums)) return s;
        return Loads("_rescale", [](const Expr& e) { return ConstFloat(e.dtype(), 1); })(s, planted);
      });
    };
    ExpectReported(of_one, variant);
  }
}

}  // namespace
}  // namespace tilewright
