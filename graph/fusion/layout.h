// AssignLayouts: in which order of dimensions each value is stored.
//
//   y[n, o, i, j] += x[n, c, i + r, j + s] * w[o, c, r, s]  ->   y[n, i, j, o] += x[n, i + r, j + s, c] * w[r, s, c, o]
//
// Products whose output channel is not the last dimension run several times as long as with channels last, because
// neither operand has a contiguous dimension to share with the output. Values that such a product reads or writes form
// a component with all values that the same position ties to them: through elementwise programs, pools, padding,
// concatenations, reshapes of the positions. A component with such a product is stored channels last as a whole, its
// weights are constants in a new order, and every other program reads and writes it by new indices, so that an explicit
// transpose becomes a copy or less. Only what nobody can read in another order (results of the function, operators
// without a program) is a transposed copy. Which programs these are follows from their index expressions.
//
// Products with zeros between the elements of an image (transposed convolutions) ask for it where there are more
// channels than positions in a row: such rows are poor vectors, longer ones good ones.
//
// A component without such a product is stored channels last too where transposes alone lead into it and out of it, as
// those around a pool of images whose channels come last: they become copies.
#pragma once

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/fusion/program_form.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

// What a program's index expressions say about layouts.
struct LayoutForm {
  // By parameter: whether its dimensions are (batch, channel, positions...) as those of the result are.
  std::vector<bool> image;
  // By parameter: the order in which a product with an image reads it best; empty where that is not asked.
  std::vector<Permutation> weights;
  // Temporaries that are images.
  std::vector<const BufferNode*> temporaries;
  bool wants_channels_last = false;
  // A transpose: (batch, positions..., channel) becomes (batch, channel, positions...), or the other way round.
  bool from_channels_last = false, to_channels_last = false;
  // A product that is not a convolution: it reads its operands in the order of their types.
  bool reads_plain = false;
};
LayoutForm LayoutFormOf(const PrimFunc& program);

// (0, 2, ..., rank - 1, 1)
Permutation ChannelsLast(int rank);

absl::StatusOr<GraphModule> AssignLayouts(const GraphModule& module, const OpTable& ops);

}  // namespace tilewright::graph
