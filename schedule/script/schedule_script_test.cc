#include "schedule/script/schedule_script.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/script/script_testing.h"
#include "schedule/script/trace_text.h"

namespace tilewright {
namespace {

using script_testing::Apply;
using script_testing::ErrorOf;
using script_testing::Matmul;

TEST(ScheduleScript, ReadsWhatPeersPrintAndPeopleWrite) {
  constexpr std::string_view kPrinted = R"(
# from tvm import tir
def apply_trace(sch: tir.Schedule) -> None:
  b0 = sch.get_block(name="C", func_name="main")
  sch.annotate(block_or_loop=b0, ann_key="hint", ann_val=1)
  l1, l2, l3 = sch.get_loops(block=b0)
  v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=64, decision=[4, 16])
  l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True)
  sch.reorder(l6, l2, l7, l3)
  sch.enter_postproc()
  sch.unannotate(block_or_loop=b0, ann_key="hint")
  b8 = sch.get_sblock(name="root", func_name="main")
  b9, = sch.get_output_blocks(block=b8)
)";
  constexpr std::string_view kWritten = R"(
import tvm
from tvm import tir
sch = tvm.s_tir.Schedule(Module)
i, j, k = sch.get_loops("C")
i, ii = sch.split(i, [None, 4 * 4])
order = [i, j, ii, k]
sch.reorder(*order)
sch.mod.show()
)";
  Schedule printed(Matmul()), written(Matmul());
  EXPECT_EQ(Apply(kPrinted, &printed), "");
  EXPECT_EQ(Apply(kWritten, &written), "");
  EXPECT_TRUE(StructuralEqual(printed.module(), written.module()));
  EXPECT_FALSE(StructuralEqual(printed.module(), Matmul()));
}

TEST(ScheduleScript, ReadsStarredNamesAndTypedNumbers) {
  Schedule typed(Matmul()), plain(Matmul());
  EXPECT_EQ(Apply(R"(
*outer, k = sch.get_loops("C")
k, kk = sch.split(k, factors=[None, T.int32(4)])
i, *_ = outer
sch.annotate(i, "hint", T.float32(0.5))
sch.transform_layout("C", ("write", 0), lambda m, n: [T.floordiv(m, 4), IndexMap.AXIS_SEPARATOR, n, m % T.int32(4)])
)",
                  &typed),
            "");
  EXPECT_EQ(Apply(R"(
i, j, k = sch.get_loops("C")
sch.split(k, factors=[None, 4])
sch.annotate(i, "hint", 0.5)
sch.transform_layout("C", ("write", 0), lambda m, n: (m // 4, n, m % 4))
)",
                  &plain),
            "");
  EXPECT_TRUE(StructuralEqual(typed.module(), plain.module()));
}

TEST(ScheduleScript, ReadsSlices) {
  Schedule sliced(Matmul()), plain(Matmul());
  EXPECT_EQ(Apply(R"(
loops = sch.get_loops("C")
j, k = loops[1:]
sch.reorder(*loops[-1:], *loops[:-2], *loops[5:], *loops[2:1], *loops[-9:0])
sch.unroll(loops[1:2][0])
)",
                  &sliced),
            "");
  EXPECT_EQ(Apply("i, j, k = sch.get_loops(\"C\")\nsch.reorder(k, i)\nsch.unroll(j)", &plain), "");
  EXPECT_TRUE(StructuralEqual(sliced.module(), plain.module()));
  EXPECT_EQ(
      ErrorOf("x = [1, 2, 3][\"a\":]\nsch.unroll(x)"),
      "s.py:2:12: error: the value of x is not known: line 1 is other Python (expected an integer)\nsch.unroll(x)\n    "
      "       ^");
}

TEST(ScheduleScript, ReadsConstantsOf64BitsInMapsOf32) {
  Schedule wide(Matmul()), plain(Matmul());
  EXPECT_EQ(Apply(R"(
sch.transform_layout("C", ("write", 0), lambda m, n: (T.floordiv(m, T.int64(4)), n, m % T.int64(4)))
)",
                  &wide),
            "");
  EXPECT_EQ(Apply("sch.transform_layout(\"C\", (\"write\", 0), lambda m, n: (m // 4, n, m % 4))", &plain), "");
  EXPECT_TRUE(StructuralEqual(wide.module(), plain.module()));
  // Not where 32 bits do not hold the value.
  EXPECT_EQ(
      ErrorOf("sch.transform_block_layout(\"C\", lambda i, *j: i + T.int64(2147483647) * T.int64(2))").substr(0, 52),
      "s.py:1:49: error: the operands have different types\n");
}

TEST(ScheduleScript, GivesNumbersAsPaddingTheTypeOfTheBuffer) {
  for (const char* zero : {"0", "0.0", "lambda a, b, c: T.float32(0)"}) {
    Schedule schedule(Matmul());
    EXPECT_EQ(Apply(std::string("sch.transform_layout(\"C\", (\"write\", 0), lambda m, n: (m // 48, n, m % 48), ") +
                        "pad_value=" + zero + ")",
                    &schedule),
              "");
  }
}

TEST(ScheduleScript, CallsBackAfterEachCall) {
  Schedule schedule(Matmul());
  std::vector<std::string> calls;
  ScheduleScriptOptions options;
  options.after_call = [&](std::string_view call, int line, const Schedule&) {
    calls.push_back(std::to_string(line) + " " + std::string(call));
  };
  EXPECT_FALSE(ApplyScheduleScript("b = sch.get_block('C')\n\nl = sch.get_loops(b)", "s.py", &schedule, options));
  EXPECT_EQ(calls, (std::vector<std::string>{"1 b = sch.get_block('C')", "3 l = sch.get_loops(b)"}));
}

TEST(ScheduleScript, CallsBackForWhatIsPassedOver) {
  Schedule schedule(Matmul());
  std::vector<int> lines;
  ScheduleScriptOptions options;
  options.passed_over = [&](int line, std::string_view) { lines.push_back(line); };
  EXPECT_FALSE(ApplyScheduleScript("import os\nos.system('x')\nb = sch.get_block('C')\nx = foo(3)\nprint(b)\n", "s.py",
                                   &schedule, options));
  EXPECT_EQ(lines, (std::vector<int>{2, 4}));
}

TEST(ScheduleScript, ErrorsNameLineAndColumn) {
  EXPECT_EQ(ErrorOf("b = sch.get_block(\"D\")"),
            "s.py:1:5: error: get_block: there is no block named D; did you mean C?\nb = sch.get_block(\"D\")\n    ^");
  auto starts = [](std::string_view text, std::string_view expected) {
    const std::string error = ErrorOf(text);
    EXPECT_EQ(error.substr(0, error.find('\n')), expected);
  };
  starts("i, j = sch.get_loops(\"C\")", "s.py:1:1: error: there are 2 names for 3 values");
  starts("sch.spilt(1)", "s.py:1:1: error: there is no primitive spilt; did you mean split?");
  starts("x = foo(1)\nsch.unroll(x)",
         "s.py:2:12: error: the value of x is not known: line 1 is other Python (expected a call of a primitive of the "
         "schedule)");
  starts("foo(sch)", "s.py:1:1: error: expected a call of a primitive of the schedule");
  starts("shc.unroll(i)", "s.py:1:1: error: expected a call of a primitive of the schedule");
  starts("sch.split(i, [1 2])", "s.py:1:17: error: expected ',' or ']', found '2'");
  starts("if x:\n  sch.split(i, [1, 2])", "s.py:1:4: error: the name x is not defined");
  starts("for i in range(3):\n  raise ValueError()", "s.py:2:3: error: the schedule raises an error here");
  starts("def apply(sch, n):\n  sch.get_block(\"C\")",
         "s.py:1:1: error: nothing calls this function, and it takes more than the schedule");
  starts("sch.split(i, [1, 2])", "s.py:1:11: error: the name i is not defined");
  starts("l = sch.get_loops(\"C\")\nsch.split(l[3], [1, 2])", "s.py:2:13: error: the list has 3 elements");
  starts("l = sch.get_loops(\"C\")\nsch.split(l[0], [1, 2])",
         "s.py:2:1: error: split: the product 2 of the factors is not known to reach the extent 64 of loop i"
         "; 64 is divided by 2, 4, 8, 16, 32, 64, and None stands for the factor that is left");
  starts("l = sch.get_loops(\"C\")\nsch.split(l[0], factor=[1, 2])",
         "s.py:2:17: error: split has no argument factor; did you mean factors?");
  starts("l = sch.get_loops(\"C\")\nsch.split(l[0])", "s.py:2:1: error: split wants the argument factors");
  starts("l = sch.get_loops(\"C\")\nsch.split(l[0], [8, 8], loop=l[0])",
         "s.py:2:25: error: the argument loop is given twice");
  starts("l = sch.get_loops(\"C\")\nsch.split(l[0], 8)",
         "s.py:2:1: error: split: the argument factors must be a list of integers or None");
  starts(
      "l = sch.get_loops(\"C\")\nsch.sample_perfect_tile(l[0], 2, 16, decision=[3, 5])",
      "s.py:2:1: error: sample_perfect_tile: factor 3 of the decision does not divide the extent 64 of loop i in its "
      "turn");
  starts("sch.transform_layout(\"C\", (\"write\", 0), lambda i, j: (1.5, j))",
         "s.py:1:1: error: transform_layout: the argument index_map must be an index map");
  starts("sch.cache_read(\"C\", 4294967296, \"local\")",
         "s.py:1:1: error: cache_read: the argument read_buffer_index must be an integer, (\"read\" or \"write\", "
         "integer) "
         "or name");
  starts("with f(sch):\n    pass", "s.py:1:6: error: this statement is not part of a schedule");
  starts("sch = 1", "s.py:1:1: error: sch is the schedule");
  starts("sch.get(1)", "s.py:1:1: error: get takes one result of a call");
  starts("x = 1 // 0", "s.py:1:10: error: division by zero");
  starts("sch.transform_block_layout(\"C\", lambda i: j)", "s.py:1:43: error: j is not a parameter of the lambda");
}

TEST(ScheduleScript, AsksWhetherPaddingCanBeDecomposedAndForgetsResults) {
  const Module module = ParseOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((20,), "float32"), Z: T.Buffer((20,), "float32")):
          for i in range(20):
              with T.block("Y"):
                  vi = T.axis.spatial(20, i)
                  Y[vi] = T.if_then_else(2 <= vi and vi < 18, X[vi - 2], T.float32(0))
          for i in range(20):
              with T.block("Z"):
                  vi = T.axis.spatial(20, i)
                  Z[vi] = Y[vi])");
  Schedule schedule(module);
  EXPECT_EQ(Apply(R"(
y, z = sch.get_loops("Y"), sch.get_loops("Z")
sch.annotate(y[0], "yes", sch.can_decompose_padding("Y", y[0]))
sch.annotate(y[0], "no", sch.can_decompose_padding(block="Z", loop=z[0]))
sch.annotate(y[0], "elsewhere", sch.can_decompose_padding("Y", z[0]))
sch.remove_rv(z[0])
sch.unroll(y[0]))",
                  &schedule),
            "");
  const ForNode& loop = *FindLoop(schedule.module().Main(), schedule.Get(Rv{1}).As<LoopRef>()->id);
  EXPECT_TRUE(IsInt(std::get<Expr>(loop.annotations.at("yes").value), 1));
  EXPECT_TRUE(IsInt(std::get<Expr>(loop.annotations.at("no").value), 0));
  EXPECT_TRUE(IsInt(std::get<Expr>(loop.annotations.at("elsewhere").value), 0));
  for (const Instruction& instruction : schedule.trace().instructions) {
    EXPECT_STRNE(instruction.primitive->name, "decompose_padding");
  }
  auto last = [&](std::string_view text) {
    Schedule other(module);
    const std::string error =
        Apply(std::string("l = sch.get_loops('Y')\nsch.remove_rv(l[0])\n") + std::string(text), &other);
    return error.substr(0, error.find('\n'));
  };
  EXPECT_EQ(last("sch.unroll(l[0])"), "s.py:3:1: error: unroll: an argument is not a random variable of this schedule");
  EXPECT_EQ(last("sch.remove_rv(rv=l[0])"),
            "s.py:3:1: error: remove_rv: the argument is not a random variable of this schedule");
  EXPECT_EQ(last("sch.remove_rv(3)"), "s.py:3:1: error: remove_rv: the argument is not a result of a call");
  EXPECT_EQ(last("sch.remove_rv()"), "s.py:3:1: error: remove_rv takes one result");
}

TEST(ScheduleScript, WorksOnAFunction) {
  Module module = Matmul();
  FunctionNode::Fields fields = module.Main()->fields();
  fields.name = "other";
  module.Set(Function(std::move(fields)));
  Schedule schedule(module);
  EXPECT_EQ(Apply("sch.work_on(\"other\")\nl = sch.get_loops(\"C\")\nsch.unroll(l[0])", &schedule), "");
  EXPECT_TRUE(StructuralEqual(schedule.module().Find("main"), module.Find("main")));
  EXPECT_FALSE(StructuralEqual(schedule.module().Find("other"), module.Find("other")));
  EXPECT_EQ(Apply("sch.work_on(\"none\")", &schedule).substr(0, 49),
            "s.py:1:1: error: work_on: there is no function no");
}

// A locale whose decimal point is a comma, made where the system has none by that name; false where that cannot be.
bool UseDecimalComma() {
  const std::string folder = ::testing::TempDir();
  const std::string command = "localedef -i de_DE -f UTF-8 " + folder + "/comma > /dev/null 2>&1";
  if (std::system(command.c_str()) != 0) return false;
  setenv("LOCPATH", folder.c_str(), /*overwrite=*/1);
  return setlocale(LC_ALL, "comma") != nullptr && std::string_view(localeconv()->decimal_point) == ",";
}

TEST(ScheduleScript, NumbersAreTheSameInEveryLocale) {
  constexpr std::string_view kScript = "sch.annotate(sch.get_block(\"C\"), \"weight\", 0.1)\n";
  Schedule schedule(Matmul());
  ASSERT_EQ(Apply(kScript, &schedule), "");
  const std::string text = ToText(schedule.trace());
  ASSERT_NE(text.find("0.1"), std::string::npos) << text;
  if (!UseDecimalComma()) GTEST_SKIP() << "no locale with a decimal comma can be made";
  EXPECT_EQ(ToText(schedule.trace()), text);
  Schedule again(Matmul());
  EXPECT_EQ(Apply(text, &again), "");
  setlocale(LC_ALL, "C");
  EXPECT_EQ(ToText(again.trace()), text);
}

}  // namespace
}  // namespace tilewright
