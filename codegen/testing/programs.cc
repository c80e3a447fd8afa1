#include "codegen/testing/programs.h"

#include "base/math.h"
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
  const Expr padded = Expr(RoundUp(s.m, s.rows));
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
        f.Loop("i0", Expr(CeilDiv(s.m, s.rows)), [&](Var i0) {
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

Function MakeTiledConv(const TiledConv& s) {
  constexpr DataType kF32 = DataType::Float(32);
  const Expr size = Expr(s.size), in = Expr(s.in), out = Expr(s.out), kernel = Expr(s.kernel);
  const Expr pixels = Expr(s.pixels), columns = Expr(s.columns), pad = Expr(s.kernel / 2);
  const Expr zero = ConstFloat(kF32, 0);
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {size, size, in}, kF32);
  Buffer weight = f.Input("W", {Expr(s.out / s.columns), kernel, kernel, in, columns}, kF32);
  Buffer c = f.Input("C", {size, size, out}, kF32);
  Buffer a_reg = f.Alloc("A_reg", {size, size, kernel, kernel, in}, kF32, Scope::Parse("register"));
  Buffer c_reg = f.Alloc("C_reg", {size, size, out}, kF32, Scope::Parse("register"));

  auto tile = [&](const Var& co, const Var& h, const Var& w0, const char* name,
                  const std::function<void(BlockBuilder&, Var, Var, Var)>& body) {
    f.Loop(
        "w1", pixels,
        [&](Var w1) {
          f.Loop(
              "c1", columns,
              [&](Var c1) {
                f.Block(name, [&](BlockBuilder& block) {
                  Var vh = block.Spatial(size, h), vw = block.Spatial(size, w0 * pixels + w1);
                  body(block, vh, vw, block.Spatial(out, co * columns + c1));
                });
              },
              ForKind::kVectorized);
        },
        ForKind::kUnrolled);
  };
  auto nest = [&](Var co, Var h, Var w0) {
    tile(co, h, w0, "init", [&](BlockBuilder&, Var vh, Var vw, Var vc) { f.Store(c_reg, zero, {vh, vw, vc}); });
    f.Grid({kernel, kernel, in}, [&](const std::vector<Var>& k) {
      f.Loop(
          "w1", pixels,
          [&](Var w1) {
            f.Block("A_reg", [&](BlockBuilder& block) {
              Var vh = block.Spatial(size, h), vw = block.Spatial(size, w0 * pixels + w1);
              Var kh = block.Spatial(kernel, k[0]), kw = block.Spatial(kernel, k[1]), ci = block.Spatial(in, k[2]);
              Expr row = vh + kh - pad, column = vw + kw - pad;
              Expr inside = And(And(Expr(0) <= row, row < size), And(Expr(0) <= column, column < size));
              f.Store(a_reg, IfThenElse(inside, a(row, column, ci), zero), {vh, vw, kh, kw, ci});
            });
          },
          ForKind::kUnrolled);
      tile(co, h, w0, "update", [&](BlockBuilder& block, Var vh, Var vw, Var vc) {
        Var kh = block.Reduce(kernel, k[0]), kw = block.Reduce(kernel, k[1]), ci = block.Reduce(in, k[2]);
        Expr product = a_reg(vh, vw, kh, kw, ci) * weight(FloorDiv(vc, columns), kh, kw, ci, FloorMod(vc, columns));
        f.Store(c_reg, c_reg(vh, vw, vc) + product, {vh, vw, vc});
      });
    });
    tile(co, h, w0, "write_back",
         [&](BlockBuilder&, Var vh, Var vw, Var vc) { f.Store(c, c_reg(vh, vw, vc), {vh, vw, vc}); });
  };
  f.Loop(
      "co", Expr(s.out / s.columns),
      [&](Var co) {
        f.Grid({size, Expr(s.size / s.pixels)}, [&](const std::vector<Var>& i) { nest(co, i[0], i[1]); });
      },
      ForKind::kParallel);
  return f.Build();
}

}  // namespace tilewright::testing
