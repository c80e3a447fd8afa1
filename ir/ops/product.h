// Sums of products over any number of dimensions: matrix multiplication with batches that broadcast, and Einstein sums.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

// NumPy's matmul: operands of rank one are a row (a) or a column (b) whose dimension the result lacks; leading
// dimensions broadcast. `type` is the result's and that of the sums. `left` and `right` convert the elements (a cast by
// default); they also get the indices of the element in its operand.
using Operand = std::function<Expr(const Expr& element, const Indices& at)>;
Buffer Product(FunctionBuilder& f, const Buffer& a, const Buffer& b, DataType type, const Operand& left = {},
               const Operand& right = {});

// How a product is written, where somebody looks for that.
struct ProductForm {
  std::string block = "matmul";
  std::vector<std::string> loops;  // names of the result's dimensions
  bool transposed = false;         // the last two dimensions of b change places: [n, k]
};
Buffer Product(FunctionBuilder& f, const Buffer& a, const Buffer& b, DataType type, const ProductForm& form,
               const Operand& left = {}, const Operand& right = {});
// The shape that Product gives; nothing where the operands do not fit.
std::optional<std::vector<Expr>> ProductShape(const std::vector<Expr>& a, const std::vector<Expr>& b);

// An Einstein sum: labels are numbers; a label that the output lacks is summed over. `ellipsis` dimensions broadcast,
// so an operand's extent of one is repeated.
struct EinsumLabels {
  std::vector<std::vector<int>> operands;
  std::vector<int> output;
};
// "ij,jk->ik", with "..." and without "->", for operands of these ranks; nothing for text that is not an equation of
// that many operands.
std::optional<EinsumLabels> ParseEinsum(const std::string& equation, const std::vector<int>& ranks);
// The extent of each label; nothing where two constants differ.
std::optional<std::vector<Expr>> EinsumExtents(const EinsumLabels& labels,
                                               const std::vector<std::vector<Expr>>& shapes);
// The extents are those of EinsumExtents.
Buffer Einsum(FunctionBuilder& f, const EinsumLabels& labels, const std::vector<Expr>& extents,
              const std::vector<Buffer>& operands);

}  // namespace tilewright::ops
