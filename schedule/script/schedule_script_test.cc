#include "schedule/script/schedule_script.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/script/trace_text.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

Module Matmul() { return Module(testing::Matmul(64, 32, 16)); }

// The message of the script's error, or "" when all was applied.
std::string Apply(std::string_view text, Schedule* schedule) {
  auto error = ApplyScheduleScript(text, "s.py", schedule);
  return error ? error->diagnostic.ToString() : "";
}
std::string ErrorOf(std::string_view text) {
  Schedule schedule(Matmul());
  return Apply(text, &schedule);
}

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

// What both schedules give is the same.
void ExpectSame(std::string_view written, std::string_view plain) {
  Schedule a(Matmul()), b(Matmul());
  ASSERT_EQ(Apply(written, &a), "");
  ASSERT_EQ(Apply(plain, &b), "");
  EXPECT_TRUE(StructuralEqual(a.module(), b.module()));
}

TEST(ScheduleScript, RunsLoopsAndFunctions) {
  ExpectSame(R"(
def tile(sch, loop, factor=8, name="x"):
    outer, inner = sch.split(loop, factors=[None, factor])
    sch.annotate(inner, f"tile_{name}", factor if factor < 16 else 0)
    return outer, inner

b = sch.get_block("C")
i, j, k = sch.get_loops(b)
parts = [tile(sch, l, name=n) for l, n in zip([i, j], "ab")]
(i0, i1), (j0, j1) = parts
k0, k1 = tile(sch, k, factor=2 * 8)
sch.reorder(*[i0, j0], k0, *sch.get_loops(b)[1::2][:1], j1, k1)
for n, l in enumerate(sch.get_loops(b)):
    if n == 0:
        sch.parallel(l)
    elif n >= 4 and not n == 5:
        sch.unroll(l)
    else:
        continue
tiles = []
while len(tiles) < 3:
    tiles.append(len(tiles) + 1)
    if tiles[-1] == 2:
        break
sch.annotate(b, "tiles", tiles + [4] * 2)
settings = {"hint": -max(tiles)}
n = 1
n += settings["hint"]
assert n == -1
print("done", n)
sch.annotate(b, "n", n)
)",
             R"(
b = sch.get_block("C")
i, j, k = sch.get_loops(b)
i0, i1 = sch.split(i, [None, 8])
sch.annotate(i1, "tile_a", 8)
j0, j1 = sch.split(j, [None, 8])
sch.annotate(j1, "tile_b", 8)
k0, k1 = sch.split(k, [None, 16])
sch.annotate(k1, "tile_x", 0)
sch.reorder(i0, j0, k0, i1, j1, k1)
sch.parallel(i0)
sch.unroll(j1)
sch.annotate(b, "tiles", [1, 2, 4, 4])
sch.annotate(b, "n", -1)
)");
}

// Building, timing, printing, files: what people do with a schedule is not part of it.
TEST(ScheduleScript, PassesOverOtherPython) {
  ExpectSame(R"(
import tvm, math
import numpy as np
from helpers import *
parser = argparse.ArgumentParser(description="x")
target = tvm.target.Target("llvm -num-cores 2")

@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        for i in T.grid(4):
            A[i] = 0

def timed(func, *args):
    start = time.time()
    yield func(*args)

def run(sch, target):
    rt = tvm.build(sch.mod, target=target)
    return rt["main"].time_evaluator("main", dev=tvm.cpu())

sch = tvm.tir.Schedule(Module)
block = sch.get_block("C")
i, j, k = sch.get_loops(block)
print(sch.mod.script(), "%d" % 3, f"{sch.trace!r:>10}")
IPython.display.Code(sch.mod["main"].script(), language="python")
if __name__ == "__main__":
    sch.unroll(k)
    func = run(sch, target)
    with open("after.py", "w") as f:
        f.write(sch.mod.script())
try:
    rt = 1
except (ValueError, TypeError):
    pass
del rt
assert np.allclose(a, b), "wrong"
for _ in range(3):
    evaluator(a)
sch.trace.show()
)",
             "i, j, k = sch.get_loops(\"C\")\nsch.unroll(k)");
}

TEST(ScheduleScript, ReturnsSchedules) {
  constexpr std::string_view kPlain = "i, j, k = sch.get_loops(\"C\")\nj, jj = sch.split(j, [None, 8])\nsch.unroll(jj)";
  ExpectSame(R"(
def apply(sch: tvm.tir.Schedule, width) -> tvm.tir.Schedule:
    i, j, k = sch.get_loops("C")
    j, jj = sch.split(j, factors=[None, width])
    sch.unroll(jj)
    return sch

sch = tvm.tir.Schedule(Module)
sch = apply(sch, 8)
)",
             kPlain);
  for (const char* result : {"sch", "sch.mod", "sch.mod[\"main\"]", "sch.mod[\"main\"].with_attr(\"x\", 1)"}) {
    ExpectSame(R"(
def get(mod):
    sch = tvm.tir.Schedule(mod)
    i, j, k = sch.get_loops("C")
    j, jj = sch.split(j, factors=[None, 8])
    sch.unroll(jj)
    return )" + std::string(result),
               kPlain);
  }
}

TEST(ScheduleScript, KnowsExtents) {
  ExpectSame(R"(
block = sch.get_block("C")
loops = sch.get_loops(block)
first = last = sch.get(loops[0]).extent
if first % 8 == 0 and sch.get(loops[0]).loop_var.name in ("i", "x") and None is None:
    io, ii = sch.split(loops[0], factors=[None, 8])
jo, ji = sch.split(loops[1], factors=[int(sch.get(loops[1]).extent) // 8, None])
assert sch.get(loops[2]).extent.value == 16
assert len(sch.get(block).iter_vars) == 3 and sch.get(block).name_hint == "C"
assert [int(v.dom.extent) for v in sch.get(block).iter_vars if v.iter_type == 0] == [64, 32]
assert sch.get(block).writes[0].buffer.shape[1] == 32
assert any([last == 64, False]) and sorted([3, 1, 2]) == [1, 2, 3] and not (5 not in [5])
assert math.ceil(math.log2(60)) == 6 and math.gcd(12, 18) == 6 and math.prod([2, 3]) == 6
assert 7 / 2 == 3.5 and 2 ** 10 == 1 << 10 and 7 & 3 == 3 and math.inf > 1
)",
             "i, j, k = sch.get_loops(\"C\")\nsch.split(i, [None, 8])\nsch.split(j, [4, None])");
}

TEST(ScheduleScript, ReadsIndexMapsByName) {
  ExpectSame(R"(
WIDTH = 8

def tiles(i, j):
    """Tiles."""
    outer = i // WIDTH
    return outer, j, i % WIDTH

def columns(*index):
    i, j = index
    return [*index[:1], j // 4, index[-1] % 4]

half = lambda *i: (i[1], i[0])
sch.transform_layout("C", ("read", 0), tiles)
sch.transform_layout("C", ("write", 0), index_map=columns)
sch.transform_layout("C", "B", tvm.tir.IndexMap.from_func(lambda i, j: (T.Cast("int64", j), i), inverse_index_map=lambda j, i: (i, j)))
)",
             R"(
sch.transform_layout("C", ("read", 0), lambda i, j: (i // 8, j, i % 8))
sch.transform_layout("C", ("write", 0), lambda i, j: (i, j // 4, j % 4))
sch.transform_layout("C", "B", lambda i, j: (j, i))
)");
  EXPECT_EQ(ErrorOf("def f(i, j):\n  if i:\n    return j\nsch.transform_layout(\"C\", (\"read\", 0), f)").substr(0, 87),
            "s.py:2:3: error: expected NAME = value or return in a function that is an index map\n  i");
  EXPECT_EQ(ErrorOf("def f(i, j):\n  x = j\nsch.transform_layout(\"C\", (\"read\", 0), f)").substr(0, 50),
            "s.py:1:1: error: this function returns no indices\n");
  EXPECT_EQ(ErrorOf("sch.transform_layout(\"C\", (\"read\", 0), lambda *i: i[3])").substr(0, 40),
            "s.py:1:53: error: there are 2 indices\nsc");
}

TEST(ScheduleScript, HasClasses) {
  ExpectSame(R"(
class Config:
    TILE = 8
    kind: str = "x"

class Tiler:
    def __init__(self, sch, width=Config.TILE):
        self.sch = sch
        self.width = width
        self.device = tvm.cuda(0)

    @staticmethod
    def twice(n):
        return n * 2

    def split(self, loop):
        return self.sch.split(loop, factors=[None, self.width])

    def apply(self, block):
        i, j, k = self.sch.get_loops(block)
        outer, inner = self.split(k)
        self.sch.annotate(inner, Config.kind, Tiler.twice(self.width))

Tiler(sch, width=4).apply("C")
sch.annotate(sch.get_loops("C")[0], "tile", Config(TILE=3).TILE)
)",
             R"(
i, j, k = sch.get_loops("C")
k, kk = sch.split(k, [None, 4])
sch.annotate(kk, "x", 8)
sch.annotate(i, "tile", 3)
)");
}

TEST(ScheduleScript, SaysWhatIsWrongInLoopsAndFunctions) {
  EXPECT_EQ(ErrorOf("while True:\n  n = 1\n"), "s.py:2:3: error: the schedule runs for too long\n  n = 1\n  ^");
  EXPECT_EQ(ErrorOf("def f(n):\n  return f(n)\nf(1)\n"),
            "s.py:2:10: error: the functions call each other too deep\n  return f(n)\n         ^");
  EXPECT_EQ(ErrorOf("def f(n, m):\n  return n\nf(1)\n"), "s.py:3:1: error: f wants the argument m\nf(1)\n^");
  EXPECT_EQ(ErrorOf("def f(n):\n  return n\nf(1, 2)\n"), "s.py:3:1: error: f takes fewer arguments\nf(1, 2)\n^");
  EXPECT_EQ(ErrorOf("def f(n):\n  return n\nf(m=1)\n"), "s.py:3:1: error: f has no parameter m\nf(m=1)\n^");
  EXPECT_EQ(ErrorOf("for n in 3:\n  n\n"), "s.py:1:10: error: expected a list\nfor n in 3:\n         ^");
  EXPECT_EQ(ErrorOf("n = [1, 2][::0]\n"), "s.py:1:12: error: the step is 0\nn = [1, 2][::0]\n           ^");
  EXPECT_EQ(ErrorOf("n = range(100000000)\n"), "s.py:1:5: error: the range is too long\nn = range(100000000)\n    ^");
  EXPECT_EQ(ErrorOf("n = 'ab'\nwhile True:\n  n = f'{n}{n}'\n"),
            "s.py:3:3: error: the value of n is too large\n  n = f'{n}{n}'\n  ^");
  EXPECT_EQ(ErrorOf("n = []\nwhile True:\n  n = [n, n]\n"),
            "s.py:3:3: error: the value of n is too large\n  n = [n, n]\n  ^");
  EXPECT_EQ(ErrorOf("n = []\nwhile True:\n  n = [n]\n"),
            "s.py:3:3: error: the value of n is too large\n  n = [n]\n  ^");
  EXPECT_EQ(ErrorOf("n = [1]\nwhile True:\n  n.append(n)\n"),
            "s.py:3:3: error: the list is too long\n  n.append(n)\n  ^");
  EXPECT_EQ(ErrorOf("assert 1 > 2\n"), "s.py:1:1: error: the assertion does not hold\nassert 1 > 2\n^");
  EXPECT_EQ(ErrorOf("n = {\"a\": 1}[\"b\"]\n"),
            "s.py:1:14: error: the dictionary has no such key\nn = {\"a\": 1}[\"b\"]\n             ^");
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
