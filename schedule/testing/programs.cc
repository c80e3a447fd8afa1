#include "schedule/testing/programs.h"

#include <string>

#include "base/check.h"
#include "ir/script/parse_or_die.h"
#include "schedule/program/loop_tree.h"

namespace tilewright::testing {

Function Matmul(int m, int n, int l, DataType dtype) {
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {m, l}, dtype), b = f.Input("B", {n, l}, dtype), c = f.Input("C", {m, n}, dtype);
  f.Loop("i", m, [&](Var i) {
    f.Loop("j", n, [&](Var j) {
      f.Loop("k", l, [&](Var k) {
        f.Block("C", [&](BlockBuilder& block) {
          Var vi = block.Spatial(m, i, "vi"), vj = block.Spatial(n, j, "vj"), vk = block.Reduce(l, k, "vk");
          block.Init([&] { f.Store(c, Const(dtype, 0), {vi, vj}); });
          f.Store(c, c(vi, vj) + a(vi, vk) * b(vj, vk), {vi, vj});
        });
      });
    });
  });
  return f.Build();
}

Function ElementwiseChain(int m, int n) {
  FunctionBuilder f("main");
  const DataType f32 = DataType::Float(32);
  Buffer a = f.Input("A", {m, n}, f32), c = f.Input("C", {m, n}, f32), b = f.Alloc("B", {m, n}, f32);
  auto stage = [&](const char* name, const Buffer& to, const std::function<Expr(Var, Var)>& value) {
    f.Loop("i", m, [&](Var i) {
      f.Loop("j", n, [&](Var j) {
        f.Block(name, [&](BlockBuilder& block) {
          Var vi = block.Spatial(m, i, "vi"), vj = block.Spatial(n, j, "vj");
          f.Store(to, value(vi, vj), {vi, vj});
        });
      });
    });
  };
  stage("B", b, [&](Var vi, Var vj) { return a(vi, vj) * Const(f32, 2); });
  stage("C", c, [&](Var vi, Var vj) { return b(vi, vj) + Const(f32, 1); });
  return f.Build();
}

Function ElementwiseInOneNest(int m, int n, int shift) {
  FunctionBuilder f("main");
  const DataType f32 = DataType::Float(32);
  Buffer a = f.Input("A", {m, n}, f32), c = f.Input("C", {m, n}, f32), b = f.Alloc("B", {m, n}, f32);
  f.Loop("i", m, [&](Var i) {
    f.Loop("j", n, [&](Var j) {
      f.Block("B", [&](BlockBuilder& block) {
        Var vi = block.Spatial(m, i, "vi"), vj = block.Spatial(n, j, "vj");
        f.Store(b, a(vi, vj) * Const(f32, 2), {vi, vj});
      });
      f.Block("C", [&](BlockBuilder& block) {
        Var vi = block.Spatial(m, i, "vi"), vj = block.Spatial(n, j, "vj");
        Expr value = shift == 0 ? b(vi, vj) : IfThenElse(vj >= shift, b(vi, Max(vj - shift, 0)), Const(f32, 0));
        f.Store(c, value + Const(f32, 1), {vi, vj});
      });
    });
  });
  return f.Build();
}

Function PartialCopy(std::string_view length) {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i in range(8):
        for j in range()" + std::string(length) +
                            R"():
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(8, j)
                C[vi, vj] = B[vi, vj]
)");
}

uint32_t BlockNamed(const Function& function, std::string_view name) {
  const std::vector<const BlockRealizeNode*> blocks = BlocksNamed(function, name);
  TW_CHECK(blocks.size() == 1) << blocks.size() << " blocks are named " << name;
  return blocks[0]->block->id;
}
std::vector<uint32_t> LoopsOf(const Function& function, std::string_view block_name) {
  return LoopsAbove(function, BlockNamed(function, block_name));
}
std::vector<std::string> LoopNamesOf(const Function& function, std::string_view block_name) {
  std::vector<std::string> names;
  for (uint32_t id : LoopsOf(function, block_name)) names.push_back(FindLoop(function, id)->var.name());
  return names;
}

}  // namespace tilewright::testing
