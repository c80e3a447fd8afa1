#include "graph/onnx/fourier.h"

#include <cmath>
#include <complex>
#include <utility>

#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
using tilewright::ReduceAxis;
constexpr DataType kF64 = DataType::Float(64), kInt64 = DataType::Int(64);

// Elements of a table among a model's constants; those from which on the length is divided where it can be.
constexpr int64_t kMostFactors = int64_t{1} << 20, kManyFactors = int64_t{1} << 16;
// A length is divided by no less, where its table is not too large.
constexpr int64_t kLeastDivisor = 8;

Expr Real(double value) { return ConstFloat(kF64, value); }

// Cosine and sine of -2 pi k i / length, or of the other sign. The product k i is taken modulo the length first: large
// angles lose nothing.
std::pair<Expr, Expr> Turned(const Expr& k, const Expr& i, const Expr& length, bool inverse) {
  const Expr turns = FloorMod(CastTo(kInt64, k) * CastTo(kInt64, i), CastTo(kInt64, length));
  const Expr angle = Div(CastTo(kF64, turns) * Real(inverse ? 2 * M_PI : -2 * M_PI), CastTo(kF64, length));
  return {ops::Unary("cos", angle), ops::Unary("sin", angle)};
}

// What part `from` of x[i] adds to part `to` of the sum at k, computed in place. `from` and `to` are indices.
Expr FactorInPlace(const FourierForm& form, const Expr& i, const Expr& from, const Expr& k, const Expr& to) {
  const auto [c, s] = Turned(k, i, form.length, form.inverse);
  const Expr real = from == Const(from.dtype(), 0), same = CastTo(kInt64, from) == CastTo(kInt64, to);
  Expr factor = Select(same, c, Select(real, s, -s));
  if (form.doubled) {
    const Expr alone = Or(i < Const(i.dtype(), 1), i * Const(i.dtype(), 2) == CastTo(i.dtype(), form.length));
    factor = Select(alone, factor, factor + factor);
  }
  return form.inverse ? Div(factor, CastTo(kF64, form.length)) : factor;
}

using Complex = std::complex<double>;

// exp(sign 2 pi sqrt(-1) t / length) for each t below the length.
std::vector<Complex> Roots(int64_t length, bool inverse) {
  std::vector<Complex> roots;
  const double turn = (inverse ? 2 : -2) * M_PI / static_cast<double>(length);
  for (int64_t t = 0; t < length; ++t) roots.push_back(std::polar(1.0, turn * static_cast<double>(t)));
  return roots;
}

const Complex& RootAt(const std::vector<Complex>& roots, int64_t i, int64_t k) {
  return roots[static_cast<size_t>(i * k % std::ssize(roots))];
}

// The real (0) or the imaginary part of a root that part `from` of a signal is multiplied by.
double PartOf(const Complex& root, int64_t from, int64_t to) {
  const Complex turned = from == 0 ? root : root * Complex(0, 1);
  return to == 0 ? turned.real() : turned.imag();
}

NDArray WholeTable(const FourierForm& form, int64_t length, int64_t used, int64_t bins,
                   const std::optional<std::vector<double>>& window) {
  const std::vector<Complex> roots = Roots(length, form.inverse);
  NDArray table(kF64, {used, form.parts, bins, form.results});
  int64_t at = 0;
  for (int64_t i = 0; i < used; ++i) {
    double scale = form.doubled && i > 0 && 2 * i != length ? 2 : 1;
    if (form.inverse) scale /= static_cast<double>(length);
    if (window) scale *= (*window)[static_cast<size_t>(i)];
    for (int64_t from = 0; from < form.parts; ++from) {
      for (int64_t k = 0; k < bins; ++k) {
        for (int64_t to = 0; to < form.results; ++to) table.Set(at++, scale * PartOf(RootAt(roots, i, k), from, to));
      }
    }
  }
  return table;
}

// [i1, from, to, k1]
NDArray ColumnTable(const FourierForm& form, int64_t first) {
  const std::vector<Complex> roots = Roots(first, form.inverse);
  NDArray table(kF64, {first, form.parts, 2, first});
  int64_t at = 0;
  for (int64_t i = 0; i < first; ++i) {
    for (int64_t from = 0; from < form.parts; ++from) {
      for (int64_t to = 0; to < 2; ++to) {
        for (int64_t k = 0; k < first; ++k) table.Set(at++, PartOf(RootAt(roots, i, k), from, to));
      }
    }
  }
  return table;
}

// [part, i2, k1], and the scale of an inverse.
NDArray TurnTable(const FourierForm& form, int64_t first, int64_t second) {
  const std::vector<Complex> roots = Roots(first * second, form.inverse);
  const double scale = form.inverse ? 1.0 / static_cast<double>(first * second) : 1.0;
  NDArray table(kF64, {2, second, first});
  int64_t at = 0;
  for (int64_t part = 0; part < 2; ++part) {
    for (int64_t i = 0; i < second; ++i) {
      for (int64_t k = 0; k < first; ++k) table.Set(at++, scale * PartOf(RootAt(roots, i, k), 0, part));
    }
  }
  return table;
}

// [to, k2, from, i2]
NDArray RowTable(const FourierForm& form, int64_t second, int64_t bins) {
  const std::vector<Complex> roots = Roots(second, form.inverse);
  NDArray table(kF64, {2, bins, 2, second});
  int64_t at = 0;
  for (int64_t to = 0; to < 2; ++to) {
    for (int64_t k = 0; k < bins; ++k) {
      for (int64_t from = 0; from < 2; ++from) {
        for (int64_t i = 0; i < second; ++i) table.Set(at++, PartOf(RootAt(roots, i, k), from, to));
      }
    }
  }
  return table;
}

// The divisor of the length that is closest to its root, from below.
int64_t DivisorNearRoot(int64_t length) {
  int64_t best = 1;
  for (int64_t d = 1; d * d <= length; ++d) best = length % d == 0 ? d : best;
  return best;
}

Buffer SumsInSteps(ProgramParts& p, const FourierForm& form, const FourierTables& tables,
                   const std::vector<Expr>& outer, const FourierSignal& signal) {
  const Buffer* const table = &p.in[p.in.size() - 3];
  const size_t rank = outer.size();
  const auto with = [](std::vector<Expr> shape, std::initializer_list<Expr> more) {
    shape.insert(shape.end(), more);
    return shape;
  };
  const Expr first(tables.first), second(tables.second), rows = table[2]->shape[1];
  const ReduceAxis i1("i1", first), from("from", Expr(form.parts)), i2("i2", second), part("part", Expr(2));
  using Symbols = std::vector<Symbol>;
  // Each of v[rank..]: to, i2, k1.
  Buffer columns = p.f.Compute("fourier_columns", with(outer, {Expr(2), second, first}), [&](const Symbols& v) {
    const Expr element = signal({v.begin(), v.begin() + static_cast<std::ptrdiff_t>(rank)},
                                i1 * Const(v[rank + 1].dtype(), tables.second) + v[rank + 1], from);
    return tilewright::Sum(element * table[0](i1, from, v[rank], v[rank + 2]), {i1, from});
  });
  Buffer turned = p.f.Compute("fourier_turned", columns->shape, [&](const Symbols& v) {
    const auto element = [&](int to) {
      std::vector<Expr> at(v.begin(), v.end());
      at[rank] = Expr(to);
      return columns.Load(at);
    };
    const auto turn = [&](int of) { return table[1](Expr(of), v[rank + 1], v[rank + 2]); };
    const Expr real = element(0) * turn(0) - element(1) * turn(1);
    const Expr imaginary = element(0) * turn(1) + element(1) * turn(0);
    return Select(v[rank] == Const(v[rank].dtype(), 0), real, imaginary);
  });
  // Each of v[rank..]: to, k2, k1.
  Buffer sums = p.f.Compute("fourier_rows", with(outer, {Expr(2), rows, first}), [&](const Symbols& v) {
    std::vector<Expr> at(v.begin(), v.end());
    at[rank] = part;
    at[rank + 1] = i2;
    return tilewright::Sum(table[2](v[rank], v[rank + 1], part, i2) * turned.Load(at), {part, i2});
  });
  return p.f.Compute("fourier_sums", with(outer, {form.bins, Expr(2)}), [&](const Symbols& v) {
    std::vector<Expr> at(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(rank));
    const Expr by = Const(v[rank].dtype(), tables.first);
    at.insert(at.end(), {v[rank + 1], FloorDiv(v[rank], by), FloorMod(v[rank], by)});
    return sums.Load(at);
  });
}

}  // namespace

FourierTables TablesOf(Emitter& emit, const FourierForm& form, const std::optional<std::vector<double>>& window) {
  int64_t extents[3];
  const Expr* const given[] = {&form.length, &form.used, &form.bins};
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<int64_t> value = AsInt(emit.Simplify(*given[i]));
    if (!value || *value < 1 || *value > kMostFactors) return {};
    extents[i] = *value;
  }
  const auto [length, used, bins] = extents;
  const int64_t factors = used * form.parts * bins * form.results;
  const int64_t first = used == length && !form.doubled ? DivisorNearRoot(length) : 1;
  if (factors <= kManyFactors || (factors <= kMostFactors && first < kLeastDivisor)) {
    return {.items = {emit.FromArray(WholeTable(form, length, used, bins, window))}};
  }
  const int64_t second = length / first;
  if (first == 1 || second * second * 4 > kMostFactors) return {};
  return {.items = {emit.FromArray(ColumnTable(form, first)), emit.FromArray(TurnTable(form, first, second)),
                    emit.FromArray(RowTable(form, second, (bins + first - 1) / first))},
          .first = first,
          .second = second};
}

Buffer FourierSums(ProgramParts& p, const FourierForm& form, const FourierTables& tables, std::vector<Expr> outer,
                   const FourierSignal& signal) {
  if (tables.items.size() > 1) return SumsInSteps(p, form, tables, outer, signal);
  const size_t rank = outer.size();
  outer.insert(outer.end(), {form.bins, Expr(form.results)});
  const ReduceAxis i("i", form.used), from("from", Expr(form.parts));
  return p.f.Compute("fourier_sums", outer, [&](const std::vector<Symbol>& v) {
    const Expr factor = tables.items.empty() ? FactorInPlace(form, i, from, v[rank], v[rank + 1])
                                             : p.in.back()(i, from, v[rank], v[rank + 1]);
    const Expr element = signal({v.begin(), v.begin() + static_cast<std::ptrdiff_t>(rank)}, i, from);
    return tilewright::Sum(element * factor, {i, from});
  });
}

}  // namespace tilewright::graph
