// What schedule scripts may use of Python: loops, functions, classes, and extents.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/script/script_testing.h"

namespace tilewright {
namespace {

using script_testing::Apply;
using script_testing::ErrorOf;
using script_testing::Matmul;

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

}  // namespace
}  // namespace tilewright
