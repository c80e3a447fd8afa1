#include "codegen/llvm/testing/programs.h"

#include "ir/builder.h"

namespace tilewright::testing {

Function MakeTiledMatmul(const TiledMatmul& s) {
  constexpr DataType kF32 = DataType::Float(32);
  const Expr rows = Expr(s.rows), columns = Expr(s.columns);
  const Expr m = Expr(s.m), n = Expr(s.n), k_extent = Expr(s.k);
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {m, k_extent}, kF32);
  Buffer b = f.Input("B", {Expr(s.n / s.columns), k_extent, columns}, kF32);
  Buffer c = f.Input("C", {m, n}, kF32);
  const Expr padded = Expr((s.m + s.rows - 1) / s.rows * s.rows);
  Buffer a_reg = f.Alloc("A_reg", {padded, k_extent}, kF32, Scope::Parse("register"));
  Buffer c_reg = f.Alloc("C_reg", {padded, n}, kF32, Scope::Parse("register"));
  const Expr zero = ConstFloat(kF32, 0);

  // for i1, j1 over the tile, with the block's iterators bound to the element's place in C.
  auto tile = [&](const Var& i0, const Var& j0, const char* name, bool cut,
                  const std::function<void(BlockBuilder&, Var, Var)>& body) {
    f.Loop(
        "i1", rows,
        [&](Var i1) {
          f.Loop(
              "j1", columns,
              [&](Var j1) {
                f.Block(name, [&](BlockBuilder& block) {
                  Var vi = block.Spatial(padded, i0 * rows + i1), vj = block.Spatial(n, j0 * columns + j1);
                  if (cut) block.Where(i0 * rows + i1 < m);
                  body(block, vi, vj);
                });
              },
              ForKind::kVectorized);
        },
        ForKind::kUnrolled);
  };

  f.Loop(
      "j0", Expr(s.n / s.columns),
      [&](Var j0) {
        f.Loop("i0", Expr((s.m + s.rows - 1) / s.rows), [&](Var i0) {
          tile(i0, j0, "init", false, [&](BlockBuilder&, Var vi, Var vj) { f.Store(c_reg, zero, {vi, vj}); });
          f.Loop("k", k_extent, [&](Var k) {
            f.Loop(
                "i1", rows,
                [&](Var i1) {
                  f.Block("A_reg", [&](BlockBuilder& block) {
                    Var vi = block.Spatial(padded, i0 * rows + i1), vk = block.Spatial(k_extent, k);
                    f.Store(a_reg, IfThenElse(vi < m, a(vi, vk), zero), {vi, vk});
                  });
                },
                ForKind::kUnrolled);
            tile(i0, j0, "update", false, [&](BlockBuilder& block, Var vi, Var vj) {
              Var vk = block.Reduce(k_extent, k);
              f.Store(c_reg, c_reg(vi, vj) + a_reg(vi, vk) * b(FloorDiv(vj, columns), vk, FloorMod(vj, columns)),
                      {vi, vj});
            });
          });
          tile(i0, j0, "write_back", true, [&](BlockBuilder&, Var vi, Var vj) { f.Store(c, c_reg(vi, vj), {vi, vj}); });
        });
      },
      ForKind::kParallel);
  return f.Build();
}

}  // namespace tilewright::testing
