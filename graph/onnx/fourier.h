// Discrete Fourier transforms as programs.
//
//   const FourierTables tables = TablesOf(n.emit(), form, window);
//   ... n.Program("dft", {x, tables.items...}, [&](ProgramParts& p) {
//     Buffer sums = FourierSums(p, form, tables, outer_shape, [&](outer, i, from) { return ...; });
//
// Factors of a known length are constants: a transform is a product by a table. Where the table would be large, the
// length is divided: with length = first * second, i = second * i1 + i2 and k = k1 + first * k2,
//
//   columns[k1, i2] = sum of x[i1, i2] exp(-2 pi sqrt(-1) i1 k1 / first)        over i1
//   turned[k1, i2] = columns[k1, i2] exp(-2 pi sqrt(-1) i2 k1 / length)
//   y[k1, k2] = sum of turned[k1, i2] exp(-2 pi sqrt(-1) i2 k2 / second)        over i2
//
// which takes first + second products for each result in place of first * second, and tables of their squares.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/onnx/emitter.h"

namespace tilewright::graph {

// A sum over x[i] exp(-2 pi sqrt(-1) k i / length) for each k, in float64.
struct FourierForm {
  Expr length, used, bins;  // of k i, of i, of k
  int parts = 1;            // of x: 2 where it is complex
  int results = 2;          // 1: the real part alone
  bool inverse = false;
  bool doubled = false;  // each i stands for its conjugate too, but for the first and the one at half of an even length
};

// Operands of a transform's program besides the signal.
struct FourierTables {
  Items items;                    // none: factors are computed in place; [i, from, k, to]; or those of three steps
  int64_t first = 1, second = 1;  // the factors of the length of three steps
};

// `window`: what each i of the signal is multiplied by; where the length is divided, the signal has it already.
FourierTables TablesOf(Emitter& emit, const FourierForm& form, const std::optional<std::vector<double>>& window = {});

// Whether the window that the tables were made with is in them.
inline bool HasWindow(const FourierTables& tables) { return tables.items.size() == 1; }

// Element i, part `from`, of the signal at `outer`, in float64.
using FourierSignal = std::function<Expr(const std::vector<Symbol>& outer, const Expr& i, const Expr& from)>;

// The sums [outer, k, to] of a program whose last operands are the tables. The extents of the form are the program's.
Buffer FourierSums(ProgramParts& p, const FourierForm& form, const FourierTables& tables, std::vector<Expr> outer,
                   const FourierSignal& signal);

}  // namespace tilewright::graph
