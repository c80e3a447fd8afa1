#include "ir/changes/keep_values.h"

#include <gtest/gtest.h>

#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

constexpr char kParameters[] = R"(
@T.prim_func
def main(N: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), S: T.Buffer((8,), "float32")):
)";

Function Parse(const std::string& body) { return ParseFunctionOrDie(kParameters + body); }

// The program with names; "" where it is the same node.
std::string Kept(const std::string& body) {
  const Function function = Parse(body);
  const Function kept = KeepValues(function);
  return kept->body.same_as(function->body) ? "" : Print(kept);
}

// Whether the names of the second program are those that the first one gets.
void ExpectKept(const std::string& before, const std::string& after) { EXPECT_EQ(Kept(before), Print(Parse(after))); }

TEST(KeepValues, NamesAConditionThatItsStatementsChange) {
  ExpectKept(R"(
    if N[0] < 4:
        N[0] = N[0] + 3
        if N[0] < 4:
            S[0] = T.float32(1)
)",
             R"(
    with T.LetStmt(N[0] < 4) as condition:
        if condition:
            N[0] = N[0] + 3
            if N[0] < 4:
                S[0] = T.float32(1)
)");
}

TEST(KeepValues, PartsOfAConditionThatReadNoMemoryStayKnown) {
  ExpectKept(R"(
    for i in range(9):
        if i < 8 and N[i] < 4:
            N[i] = 5
)",
             R"(
    for i in range(9):
        with T.LetStmt(i < 8 and N[i] < 4) as condition:
            if i < 8 and condition:
                N[i] = 5
)");
}

TEST(KeepValues, NamesTheEndsOfALoop) {
  ExpectKept(R"(
    for i in range(N[0], N[0] + N[1]):
        N[0] = i
)",
             R"(
    with T.LetStmt(N[0]) as i_begin:
        with T.LetStmt(N[1]) as i_extent:
            for i in range(i_begin, i_begin + i_extent):
                N[0] = i
)");
}

TEST(KeepValues, NamesIteratorsUnderTheirPredicate) {
  ExpectKept(R"(
    for i in range(8):
        with T.block("push"):
            vi = T.axis.opaque(8, i)
            vp = T.axis.opaque(8, N[i + 1])
            T.where(i < 7)
            N[vi + 1] = 0
            S[vp] = T.float32(1)
)",
             R"(
    for i in range(8):
        if i < 7:
            with T.LetStmt(N[i + 1]) as vp_value:
                with T.block("push"):
                    vi = T.axis.opaque(8, i)
                    vp = T.axis.opaque(8, vp_value)
                    N[vi + 1] = 0
                    S[vp] = T.float32(1)
)");
}

TEST(KeepValues, ProgramsWithoutSuchValuesAreTheSame) {
  EXPECT_EQ(Kept(R"(
    for i in range(B[0]):
        if B[i] < N[i]:
            with T.block("push"):
                vi = T.axis.opaque(8, B[i])
                S[vi] = T.float32(1)
)"),
            "");
}

// ---- What may change

// Whether the condition of the first `if` may change in its branch.
bool Changes(const std::string& body) {
  const Function function = Parse(body);
  const Pointers pointers(function->body);
  std::optional<bool> changes;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* branch = dyn_cast<IfNode>(s);
    if (branch != nullptr && !changes) changes = MayChange(branch->condition, branch->then_case, &pointers);
    return true;
  });
  return changes.value();
}

TEST(MayChange, ByStoresToTheSameMemory) {
  EXPECT_TRUE(Changes("    if N[0] < 4:\n        N[1] = 0\n"));
  EXPECT_FALSE(Changes("    if N[0] < 4:\n        B[0] = 0\n"));
  EXPECT_FALSE(Changes("    if N[0] < 4:\n        S[N[0]] = T.float32(0)\n"));
}

TEST(MayChange, ByStoresThroughViewsAndSubBuffers) {
  EXPECT_TRUE(Changes(R"(
    V = T.decl_buffer((4,), "int64", data=N.data)
    if N[0] < 4:
        V[0] = T.int64(0)
)"));
  EXPECT_TRUE(Changes(R"(
    with T.block("outer"):
        V = T.match_buffer(N[0:4], (4,), "int32")
        if N[0] < 4:
            V[0] = 0
)"));
  EXPECT_TRUE(Changes(R"(
    if N[0] < 4:
        with T.block("inner"):
            V = T.match_buffer(N[0:4], (4,), "int32")
            V[0] = 0
)"));
}

TEST(MayChange, ByCallsThatAreGivenAPointer) {
  EXPECT_TRUE(Changes("    if N[0] < 4:\n        T.evaluate(T.call_extern(\"void\", \"f\", N.data))\n"));
  EXPECT_TRUE(Changes("    if N[0] < 4:\n        T.evaluate(T.call_extern(\"void\", \"f\", T.address_of(N[1])))\n"));
  EXPECT_FALSE(Changes("    if N[0] < 4:\n        T.evaluate(T.call_extern(\"void\", \"f\", B.data))\n"));
  // What a call returns is another value each time.
  EXPECT_TRUE(Changes("    if T.call_extern(\"int32\", \"f\") < 4:\n        B[0] = 0\n"));
}

}  // namespace
}  // namespace tilewright
