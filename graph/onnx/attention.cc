#include "graph/onnx/attention.h"

#include "base/status_macros.h"
#include "ir/ops/movement.h"
#include "ir/ops/reduction.h"
#include "ir/ops/row_ops.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32);

// An element of an operand in either layout.
Expr LoadHead(const Buffer& x, bool heads_first, const Expr& batch, const Expr& head, const Expr& at, const Expr& d) {
  return heads_first ? x(batch, head, at, d) : x(batch, at, head, d);
}
Expr HeadsIn(const Buffer& x, bool heads_first) { return x->shape[heads_first ? 1 : 2]; }
Expr SequenceOf(const Buffer& x, bool heads_first) { return x->shape[heads_first ? 2 : 1]; }

// Heads of q that share a head of k and v.
absl::StatusOr<int64_t> GroupOf(OnnxNode& n, const HeadsOf& q, const HeadsOf& k) {
  const auto all = AsInt(q.heads()), shared = AsInt(k.heads());
  if (!all || !shared) return n.Unsupported("a symbolic number of heads");
  if (*shared < 1 || *all % *shared != 0) return n.Error(*all, " heads of queries for ", *shared, " of keys");
  return *all / *shared;
}

Expr GroupHead(const Expr& head, int64_t group) {
  return group == 1 ? head : FloorDiv(head, Const(head.dtype(), group));
}

// Whether `extent` may be `least` or more: constants are, or are not; others are assumed to be, which is checked when
// the model runs.
bool RequireAtLeast(OnnxNode& n, const Expr& extent, int64_t least) {
  return n.RequireEqual(n.emit().Simplify(Min(AsExtent(extent), Extent(least))), Extent(least));
}

absl::StatusOr<Items> EmitScores(OnnxNode& n, const AttentionParts& parts, int64_t group, const AttentionWants& wants) {
  Items inputs = {parts.q.x, parts.k.x};
  inputs.insert(inputs.end(), parts.edit_inputs.begin(), parts.edit_inputs.end());
  return n.Program("attention_scores", inputs, [&](ProgramParts& p) {
    const Buffer &q = p.in[0], &k = p.in[1];
    const Buffers more(p.in.begin() + 2, p.in.end());
    const Expr queries = SequenceOf(q, parts.q.heads_first), keys = SequenceOf(k, parts.k.heads_first);
    tilewright::ReduceAxis d("d", q->shape[3]);
    const std::vector<Expr> shape = {q->shape[0], HeadsIn(q, parts.q.heads_first), queries, keys};
    Buffer scores = p.f.Compute("scores", shape, [&](Symbol b, Symbol h, Symbol i, Symbol j) {
      const Expr left = LoadHead(q, parts.q.heads_first, b, h, i, d);
      const Expr right = LoadHead(k, parts.k.heads_first, b, GroupHead(h, group), j, d);
      return tilewright::Sum(CastTo(kF32, left) * CastTo(kF32, right), d);
    });
    const auto scaled = [&](const Expr& score) { return score * ConstFloat(kF32, parts.scale); };
    const auto capped = [&](const Expr& score) {
      if (parts.softcap == 0) return score;
      return ConstFloat(kF32, parts.softcap) * ops::Unary("tanh", score * ConstFloat(kF32, 1 / parts.softcap));
    };
    Buffers results = {p.f.Compute("attention_mask", shape, [&](Symbol b, Symbol h, Symbol i, Symbol j) {
      const Expr score = capped(scaled(scores(b, h, i, j)));
      if (!parts.edit) return score;
      return parts.edit(score, {.batch = b, .head = h, .query = i, .key = j, .queries = queries, .keys = keys}, more);
    })};
    if (wants.raw) {
      results.push_back(ops::Map(p.f, "raw_scores", {scores}, [&](const Exprs& e) { return scaled(e[0]); }));
    }
    if (wants.capped) {
      results.push_back(ops::Map(p.f, "capped_scores", {scores}, [&](const Exprs& e) { return capped(scaled(e[0])); }));
    }
    return results;
  });
}

// A row that is -inf as a whole has no weights: all are 0.
absl::StatusOr<Items> EmitWeights(OnnxNode& n, const AttentionParts& parts, const Item& masked) {
  Items inputs = {masked};
  if (parts.sink) inputs.insert(inputs.end(), parts.edit_inputs.begin(), parts.edit_inputs.end());
  return n.Program("attention_softmax", inputs, [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    if (!parts.edit && !parts.sink) return Buffers{ops::SoftmaxOver(p.f, x, {3})};
    const Buffers more(p.in.begin() + 1, p.in.end());
    const Expr zero = Const(kF32, 0), least = ops::Lowest(kF32);
    Buffer largest = ops::Reduce(p.f, "softmax_max", ops::Reduction::kMaxNumber, x, {3}, true);
    const auto top = [&](const Expr& b, const Expr& h, const Expr& i) {
      const Expr of_row = largest(b, h, i, Expr(0));
      return parts.sink ? Max(of_row, parts.sink(h, more)) : of_row;
    };
    Buffer powers = p.f.Compute("softmax_exp", x->shape, [&](Symbol b, Symbol h, Symbol i, Symbol j) {
      const Expr score = x(b, h, i, j);
      const Expr power = ops::Unary("exp", score - top(b, h, i));
      return parts.edit ? Select(score == least, zero, power) : power;
    });
    Buffer sums = ops::Reduce(p.f, "softmax_sum", ops::Reduction::kSum, powers, {3}, true);
    return Buffers{p.f.Compute("softmax", x->shape, [&](Symbol b, Symbol h, Symbol i, Symbol j) {
      Expr sum = sums(b, h, i, Expr(0));
      if (parts.sink) sum = sum + ops::Unary("exp", parts.sink(h, more) - top(b, h, i));
      const Expr weight = Div(powers(b, h, i, j), sum);
      return parts.edit ? Select(sum == zero, zero, weight) : weight;
    })};
  });
}

absl::StatusOr<Items> EmitValues(OnnxNode& n, const AttentionParts& parts, int64_t group, const Item& weights) {
  const DataType type = parts.q.x.dtype;
  return n.Program("attention_values", {weights, parts.v.x}, [&](ProgramParts& p) {
    const Buffer &w = p.in[0], &v = p.in[1];
    tilewright::ReduceAxis j("j", w->shape[3]);
    std::vector<Expr> shape = {w->shape[0], w->shape[1], w->shape[2], v->shape[3]};
    if (!parts.heads_first) std::swap(shape[1], shape[2]);
    Buffer product = p.f.Compute("attention", shape, [&](Symbol b, Symbol second, Symbol third, Symbol d) {
      const Expr h = parts.heads_first ? second : third, i = parts.heads_first ? third : second;
      const Expr value = LoadHead(v, parts.v.heads_first, b, GroupHead(h, group), j, d);
      return tilewright::Sum(w(b, h, i, j) * CastTo(kF32, value), j);
    });
    if (type == kF32) return Buffers{product};
    return Buffers{ops::Map(p.f, "narrow", {product}, [&](const Exprs& e) { return CastTo(type, e[0]); })};
  });
}

}  // namespace

absl::StatusOr<AttentionResults> EmitAttention(OnnxNode& n, const AttentionParts& parts, const AttentionWants& wants) {
  for (const HeadsOf* operand : {&parts.q, &parts.k, &parts.v}) {
    if (operand->x.rank() != 4) return n.Error("an operand of attention has rank ", operand->x.rank());
    if (!operand->x.dtype.is_float()) return n.Error("an operand of attention is ", operand->x.dtype.ToString());
  }
  const auto same = [&](const char* what, const Expr& a, const Expr& b) -> absl::Status {
    if (ops::SameExtent(a, b)) return absl::OkStatus();
    const auto x = AsInt(a), y = AsInt(b);
    if (x && y) return n.Error(what, " are ", *x, " and ", *y);
    n.emit().builder().Assume(a == b);
    return absl::OkStatus();
  };
  TW_RETURN_IF_ERROR(same("batches of queries and keys", parts.q.batch(), parts.k.batch()));
  TW_RETURN_IF_ERROR(same("batches of keys and values", parts.k.batch(), parts.v.batch()));
  TW_RETURN_IF_ERROR(same("extents of heads of queries and keys", parts.q.head(), parts.k.head()));
  TW_RETURN_IF_ERROR(same("numbers of keys and values", parts.k.sequence(), parts.v.sequence()));
  TW_RETURN_IF_ERROR(same("heads of keys and values", parts.k.heads(), parts.v.heads()));
  TW_ASSIGN_OR_RETURN(const int64_t group, GroupOf(n, parts.q, parts.k));
  TW_ASSIGN_OR_RETURN(const Items scores, EmitScores(n, parts, group, wants));
  TW_ASSIGN_OR_RETURN(const Items weights, EmitWeights(n, parts, scores[0]));
  TW_ASSIGN_OR_RETURN(const Items values, EmitValues(n, parts, group, weights[0]));
  AttentionResults results{.result = values[0], .masked = scores[0], .weights = weights[0]};
  size_t next = 1;
  if (wants.raw) results.raw = scores[next++];
  if (wants.capped) results.capped = scores[next++];
  return results;
}

absl::StatusOr<HeadsOf> SplitHeads(OnnxNode& n, const Item& x, int64_t first, int64_t heads, int64_t head,
                                   const Item& bias) {
  if (x.rank() != 3) return n.Error("an operand that is split into heads has rank ", x.rank());
  const int64_t columns = first + heads * head;
  if (!RequireAtLeast(n, x.shape[2], columns))
    return n.Error("an operand of heads has less than ", columns, " columns");
  if (bias.present()) {
    if (!bias.is_tensor() || bias.rank() != 1 || bias.dtype != x.dtype) {
      return n.Error("a bias of heads that is not a row of the same type");
    }
    if (!RequireAtLeast(n, bias.shape[0], columns))
      return n.Error("a bias of heads has less than ", columns, " elements");
  }
  const Exprs shape = {x.shape[0], x.shape[1], Extent(heads), Extent(head)};
  if (!bias.present() && first == 0 && IsInt(x.shape[2], heads * head)) {
    TW_ASSIGN_OR_RETURN(Item view, n.emit().View(x, shape));
    return HeadsOf{std::move(view)};
  }
  Items inputs = {x};
  if (bias.present()) inputs.push_back(bias);
  TW_ASSIGN_OR_RETURN(Items split, n.Program("split_heads", inputs, [&](ProgramParts& p) {
    return Buffers{p.f.Compute("split_heads", {p.in[0]->shape[0], p.in[0]->shape[1], Expr(heads), Expr(head)},
                               [&](Symbol b, Symbol i, Symbol h, Symbol d) {
                                 const Expr column = Expr(first) + h * Expr(head) + d;
                                 const Expr value = p.in[0](b, i, column);
                                 return p.in.size() > 1 ? value + p.in[1](column) : value;
                               })};
  }));
  return HeadsOf{std::move(split[0])};
}

absl::StatusOr<Item> JoinHeads(OnnxNode& n, const Item& x) {
  return n.emit().View(x, {x.shape[0], x.shape[1], n.emit().Simplify(x.shape[2] * x.shape[3])});
}

absl::StatusOr<HeadsOf> HeadsFirst(OnnxNode& n, const HeadsOf& x) {
  if (x.heads_first) return x;
  TW_ASSIGN_OR_RETURN(Items moved, n.Program("transpose", {x.x}, [](ProgramParts& p) {
    return Buffers{ops::Transpose(p.f, p.in[0], {0, 2, 1, 3})};
  }));
  return HeadsOf{std::move(moved[0]), true};
}

absl::StatusOr<HeadsOf> BehindPast(OnnxNode& n, const Item& past, const HeadsOf& x) {
  TW_ASSIGN_OR_RETURN(const HeadsOf first, HeadsFirst(n, x));
  if (!past.present() || (past.rank() == 4 && IsInt(past.shape[2], 0))) return first;
  if (past.rank() != 4 || past.dtype != x.x.dtype) return n.Error("a cache of another rank or type than the new keys");
  for (const size_t d : {0, 1, 3}) {
    if (n.RequireEqual(past.shape[d], first.x.shape[d])) continue;
    return n.Error("extent ", d, " of a cache is ", *AsInt(past.shape[d]), ", expected ", *AsInt(first.x.shape[d]));
  }
  TW_ASSIGN_OR_RETURN(Items joined, n.Program("concat", {past, first.x},
                                              [](ProgramParts& p) { return Buffers{ops::Concat(p.f, p.in, 2)}; }));
  return HeadsOf{std::move(joined[0]), true};
}

absl::StatusOr<int64_t> HeadSize(OnnxNode& n, const Expr& width, int64_t heads) {
  const auto all = AsInt(width);
  if (!all) return n.Unsupported("a symbolic width of heads");
  if (heads < 1 || *all % heads != 0) return n.Error(*all, " elements in ", heads, " heads");
  return *all / heads;
}

Expr RotatedElement(const Rotation& rotation, int64_t head, const Expr& j,
                    const std::function<Expr(const Expr& j)>& element,
                    const std::function<std::pair<Expr, Expr>(const Expr& pair)>& angle) {
  const auto number = [&](int64_t value) { return Const(j.dtype(), value); };
  // Only the first elements are turned, so none behind them is read for that.
  const Expr half = number(rotation.pairs), zero = number(0), last = number(2 * rotation.pairs - 1);
  const bool interleaved = rotation.interleaved;
  const Expr pair = FloorMod(interleaved ? FloorDiv(j, number(2)) : j, half);
  const Expr is_first = interleaved ? FloorMod(j, number(2)) == zero : j < half;
  const auto [cosine, sine] = angle(pair);
  const Expr own = element(j);
  Expr behind, before;
  if (interleaved) {
    const Expr other = FloorDiv(j, number(2)) * number(2) + number(1) - FloorMod(j, number(2));
    behind = before = element(head % 2 == 0 ? other : Min(other, last));
  } else {
    behind = element(Min(j + half, last));
    before = element(Max(j - half, zero));
  }
  const Expr value = Select(is_first, own * cosine - behind * sine, own * cosine + before * sine);
  return head == 2 * rotation.pairs ? value : Select(j < number(2 * rotation.pairs), value, own);
}

}  // namespace tilewright::graph
