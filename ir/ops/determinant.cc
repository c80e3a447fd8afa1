#include "ir/ops/determinant.h"

#include <vector>

namespace tilewright::ops {
namespace {

// Elimination in one matrix. Rows that begin with a larger element than row k are exchanged with it one after the
// other, so that it is the one with the largest, and no row is chosen by a number from memory.
class Elimination {
 public:
  Elimination(FunctionBuilder& f, const Buffer& m, const Buffer& result)
      : f_(f), m_(m), result_(result), n_(m->shape[0]) {}

  void Run() {
    f_.Store(result_, ConstFloat(DataType::Float(64), 1), {Zero()});
    f_.Loop("k", n_, [&](const Var& k) {
      // Nothing follows a pivot of 0.
      f_.If(result_.Load({Zero()}) != ConstFloat(DataType::Float(64), 0), [&] {
        RowsBelow(k, [&](const Expr& i) { PutLargerFirst(k, i); });
        f_.Store(result_, result_.Load({Zero()}) * m_.Load({k, k}), {Zero()});
        f_.If(m_.Load({k, k}) != ConstFloat(DataType::Float(64), 0),
              [&] { RowsBelow(k, [&](const Expr& i) { Subtract(k, i); }); });
      });
    });
  }

 private:
  Expr Zero() const { return Const(n_.dtype(), 0); }
  static Expr Magnitude(const Expr& e) { return Call(e.dtype(), "abs", {e}); }

  template <class Body>
  void RowsBelow(const Var& k, Body body) {
    const Expr next = k + Const(n_.dtype(), 1);
    f_.Loop("i", n_ - next, [&](const Var& i) { body(i + next); });
  }
  // Columns before k hold what has been eliminated.
  template <class Body>
  void ColumnsFrom(const Expr& first, Body body) {
    f_.Loop("j", n_ - first, [&](const Var& j) { body(j + first); });
  }

  void PutLargerFirst(const Var& k, const Expr& i) {
    f_.If(Magnitude(m_.Load({i, k})) > Magnitude(m_.Load({k, k})), [&] {
      f_.Store(result_, ConstFloat(DataType::Float(64), 0) - result_.Load({Zero()}), {Zero()});
      // Column k last: it decides.
      ColumnsFrom(k, [&](const Expr& j) {
        const Var above("above", DataType::Float(64));
        f_.Add(
            LetStmt(above, m_.Load({k, j}), Sequence({Store(m_, m_.Load({i, j}), {k, j}), Store(m_, above, {i, j})})));
      });
    });
  }
  void Subtract(const Var& k, const Expr& i) {
    const Var factor("factor", DataType::Float(64));
    const Stmt row = f_.Collect([&] {
      ColumnsFrom(k + Const(n_.dtype(), 1),
                  [&](const Expr& j) { f_.Store(m_, m_.Load({i, j}) - factor * m_.Load({k, j}), {i, j}); });
    });
    f_.Add(LetStmt(factor, Div(m_.Load({i, k}), m_.Load({k, k})), row));
  }

  FunctionBuilder& f_;
  const Buffer m_, result_;
  const Expr n_;
};

}  // namespace

Buffer Determinant(FunctionBuilder& f, const Buffer& x) {
  const std::vector<Expr> lines(x->shape.begin(), x->shape.end() - 2);
  const Expr n = x->shape.back();
  const Buffer out = f.Alloc("determinant", lines, x->dtype);
  f.Grid(lines, [&](const std::vector<Var>& loops) {
    f.Block("determinant", [&](BlockBuilder& block) {
      std::vector<Expr> line;
      for (size_t i = 0; i < loops.size(); ++i) line.push_back(block.Spatial(lines[i], loops[i]));
      const Buffer m = f.Alloc("m", {n, n}, DataType::Float(64));
      const Buffer result = f.Alloc("result", {Const(n.dtype(), 1)}, DataType::Float(64));
      f.Grid({n, n}, [&](const std::vector<Var>& at) {
        std::vector<Expr> element = line;
        element.insert(element.end(), at.begin(), at.end());
        f.Store(m, CastTo(DataType::Float(64), x.Load(element)), {at[0], at[1]});
      });
      Elimination(f, m, result).Run();
      f.Store(out, CastTo(x->dtype, result.Load({Const(n.dtype(), 0)})), line);
    });
  });
  return out;
}

}  // namespace tilewright::ops
