// Quasi-affine iterator maps: index expressions as sums of splits of iterators.
//
//   // i in [0, 8), j in [0, 16)
//   (i * 16 + j) // 4,  (i * 16 + j) % 4
//
// A *mark* is an iterator: a loop variable, or several iterators fused into one (i * 16 + j). A *split* is a part of a
// mark: `mark % (lower_factor * extent) // lower_factor`, scaled. An index is a *sum* of splits plus a base. With
// every index in this form it can be decided whether the map from loops to indices is
//   surjective   the indices run over the whole box of their extents, independently of each other;
//   bijective    besides, every combination of indices comes from exactly one iteration.
// Bindings of blocks must be surjective; layouts and inverses want bijective maps.
//
// Predicates bound fused iterators: under `i * 12 + j < 1024` the fused i * 12 + j is one iterator of extent 1024.
// Where a split does not divide an iterator, the iterator is padded: allowed at level kNone only.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/arith/monomial.h"
#include "ir/expr.h"
#include "ir/index_map.h"

namespace tilewright::arith {

struct IterMark;

struct IterSplit {
  std::shared_ptr<const IterMark> source;
  Monomial lower_factor, extent, scale;  // extent is rounded up where the split does not divide its source
};

struct IterSum {
  std::vector<IterSplit> args;  // largest scale first
  Expr base;                    // without iterators
};

struct IterMark {
  Var var;          // an iterator that counts from 0; null when fused
  IterSum sum;      // of a fused mark: contiguous, the last scale is 1; base is what it counts from
  Monomial extent;  // the number of its values
};

enum class IterMapLevel { kBijective, kSurjective, kNone };

struct IterMap {
  struct Iterator {
    std::shared_ptr<const IterMark> mark;
    Expr value;  // its variable as an expression of the domain's variables
  };
  std::vector<IterSum> indices;   // each contiguous: scale of an argument = scale of the next * extent of the next
  std::vector<Monomial> extents;  // number of steps of each index: base + [0, extent) * scale of its last argument
  // Usually the domain's variables. A loop that does not start at 0, and loops that a predicate bounds together, are
  // represented by a new variable.
  std::vector<Iterator> iterators;
  std::vector<Expr> domain;  // the domain's variables as expressions of the iterators' variables
  bool padded = false;       // some iterator had to be padded (kNone only): indices exist that no iteration has
  bool injective = false;    // no two iterations have the same indices
};

// Why a map was refused; `index` is the position of the index at fault.
struct IterMapError {
  enum class Code {
    kNotAffine,       // `expr` is not a split of an iterator
    kNotContiguous,   // the splits of the index overlap or leave gaps
    kNotIndependent,  // `expr` is used by two indices, or twice
    kNotSurjective,   // a split does not divide its iterator `expr`: some indices are never reached
    kNotBijective,    // part of the iterator `expr` is not used
    kPredicate,       // the predicate `expr` bounds no fused iterator
  };
  Code code = Code::kNotAffine;
  size_t index = 0;
  Expr expr;                        // may be null
  std::string_view Reason() const;  // one sentence, without the expression
};

// `predicate` may be null. Extents of the domain may be symbolic; what is known of them is taken from the analyzer, and
// of an extent that is a product of variables each is taken to be positive.
std::optional<IterMap> DetectIterMap(const std::vector<Expr>& indices, const Domain& domain, const Expr& predicate,
                                     IterMapLevel level, Analyzer* analyzer, IterMapError* error = nullptr);

// Back to expressions of the domain's variables.
Expr ToExpr(const IterSum& sum, const IterMap& map, Analyzer* analyzer);

// The indices simplified under the domain and the predicate.
std::vector<Expr> IterMapSimplify(const std::vector<Expr>& indices, const Domain& domain, const Expr& predicate,
                                  Analyzer* analyzer);

// index = outer * inner_extent + inner, where inner uses only iterators of the inner loops and outer none of them.
struct DividedIndex {
  Expr outer, inner;
  Expr outer_extent, inner_extent;
};
struct SubspaceDivision {
  std::vector<DividedIndex> indices;
  Expr outer_predicate, inner_predicate;  // never null
};
// Divides bindings by loops: `domain` holds outer and inner loops, the last `inner_count` are inner. The index map
// must be surjective.
std::optional<SubspaceDivision> SubspaceDivide(const std::vector<Expr>& indices, const Domain& domain,
                                               size_t inner_count, const Expr& predicate, Analyzer* analyzer,
                                               IterMapError* error = nullptr);

// The domain's variables as expressions of the values of the indices (in the order of the domain). The map must be
// bijective, or padded: then they are right wherever the values come from an iteration.
std::vector<Expr> InverseIterMap(const IterMap& map, const std::vector<Expr>& values, Analyzer* analyzer);

// ---- Index maps over shapes

// Extents of the results of `map` over `shape`, rounded up where the map pads. Nothing when the map is not affine.
std::optional<std::vector<Expr>> MapShape(const IndexMap& map, const std::vector<Expr>& shape, Analyzer* analyzer);

// The inverse of a map that is bijective over `shape`; nothing when it is not, or not known to be.
std::optional<IndexMap> InverseIndexMap(const IndexMap& map, const std::vector<Expr>& shape, Analyzer* analyzer,
                                        IterMapError* error = nullptr);

// The inverse of an injective map that may pad: `lambda i: (i // 4, i % 4)` over [14] has the inverse
// `lambda a, b: a * 4 + b`, results [4, 4], and elements with `a * 4 + b >= 14` are padding.
struct PaddedInverse {
  IndexMap inverse;
  std::vector<Expr> shape;  // of the map's results
  Expr padding;             // over inverse->inputs: true for elements that no index maps to; never null
};
std::optional<PaddedInverse> PaddedInverseIndexMap(const IndexMap& map, const std::vector<Expr>& shape,
                                                   Analyzer* analyzer, IterMapError* error = nullptr);

}  // namespace tilewright::arith
