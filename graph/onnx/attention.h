// The blocks that every form of attention becomes.
//
//   scores[b, h, i, j]  = sum over d of q[b, h, i, d] * k[b, h / group, j, d]
//   masked              = edit(scale * scores)                     what the operator says of caps, masks and biases
//   weights             = softmax of masked over j                 0 where a row is masked as a whole
//   attention           = sum over j of weights[b, h, i, j] * v[b, h / group, j, d]
//
// Each line is a program of its own, so that a model with Attention and one that spells it out in plain operators are
// the same graph, and what makes one kernel of the four finds both.
#pragma once

#include <functional>
#include <optional>

#include "graph/onnx/node.h"

namespace tilewright::graph {

// An operand by heads: [batch, heads, sequence, head], or [batch, sequence, heads, head].
struct HeadsOf {
  Item x;
  bool heads_first = false;

  const Expr& batch() const { return x.shape[0]; }
  const Expr& heads() const { return x.shape[heads_first ? 1 : 2]; }
  const Expr& sequence() const { return x.shape[heads_first ? 2 : 1]; }
  const Expr& head() const { return x.shape[3]; }
};

// The place of a score.
struct ScoreAt {
  Expr batch, head, query, key;
  Expr queries, keys;  // how many there are
};
// A score, scaled, as the operator changes it. `more` are the items of `edit_inputs` that are present, in their order.
using ScoreEdit = std::function<Expr(const Expr& score, const ScoreAt& at, const Buffers& more)>;
// A number for each head that takes part in the softmax as one more score, without a value; null where there is none.
using SinkOf = std::function<Expr(const Expr& head, const Buffers& more)>;

struct AttentionParts {
  HeadsOf q, k, v;
  double scale = 1;
  double softcap = 0;  // softcap * tanh(score / softcap), before the edit; 0: none
  ScoreEdit edit;
  SinkOf sink;
  Items edit_inputs;
  bool heads_first = false;  // the result's layout
};
struct AttentionResults {
  Item result;   // [batch, sequence, heads, head], or with heads first, in the type of q
  Item raw;      // scale * scores, f32
  Item capped;   // behind softcap
  Item masked;   // behind the edit
  Item weights;  // behind softmax
};
// Scores beside the masked ones are computed where they are asked for.
struct AttentionWants {
  bool raw = false, capped = false;
};
absl::StatusOr<AttentionResults> EmitAttention(OnnxNode& n, const AttentionParts& parts,
                                               const AttentionWants& wants = {});

// Columns [first, first + heads * head) of [batch, sequence, width], by heads, with the same columns of a bias (a
// vector of the same width; absent: none).
absl::StatusOr<HeadsOf> SplitHeads(OnnxNode& n, const Item& x, int64_t first, int64_t heads, int64_t head,
                                   const Item& bias = {});
// [batch, sequence, heads * head] of [batch, sequence, heads, head].
absl::StatusOr<Item> JoinHeads(OnnxNode& n, const Item& x);
// Heads come first: what caches hold.
absl::StatusOr<HeadsOf> HeadsFirst(OnnxNode& n, const HeadsOf& x);
// `past` [batch, heads, sequence, head] and behind it x, in the same layout.
absl::StatusOr<HeadsOf> BehindPast(OnnxNode& n, const Item& past, const HeadsOf& x);

// How many elements a head has: a width in `heads` parts. Errors: it is symbolic, or does not divide.
absl::StatusOr<int64_t> HeadSize(OnnxNode& n, const Expr& width, int64_t heads);

// The pair of an element of a head and how it is turned.
struct Rotation {
  int64_t pairs = 0;
  bool interleaved = false;  // neighbours are a pair; else one element of each half of the first 2 * pairs elements
};
// Element j of a head, turned. `element(j)` is one of the head as it is, f32; cosine and sine are those of pair p.
Expr RotatedElement(const Rotation& rotation, int64_t head, const Expr& j,
                    const std::function<Expr(const Expr& j)>& element,
                    const std::function<std::pair<Expr, Expr>(const Expr& pair)>& angle);

}  // namespace tilewright::graph
