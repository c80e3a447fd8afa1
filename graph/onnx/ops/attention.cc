// Attention: ONNX's own, and the forms without rotation that ONNX Runtime writes.
#include "graph/onnx/attention.h"

#include "base/status_macros.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/movement.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32);

// An element of a mask or bias that broadcasts to [batch, heads, queries, keys] at its last dimensions.
Expr LoadLast(const Buffer& mask, const ScoreAt& at) {
  const ops::Indices all = {at.batch, at.head, at.query, at.key};
  ops::Indices place;
  const size_t rank = mask->ndim();
  for (size_t d = 0; d < rank; ++d) {
    const Expr& index = all[4 - rank + d];
    const Expr& extent = mask->shape[d];
    // The last dimension is read within its extent only.
    if (d + 1 == rank && !IsInt(extent, 1)) {
      place.push_back(Min(index, extent - Const(extent.dtype(), 1)));
    } else if (AsInt(extent)) {
      place.push_back(IsInt(extent, 1) ? Expr(0) : index);
    } else {
      place.push_back(Select(extent == Const(extent.dtype(), 1), Const(index.dtype(), 0), index));
    }
  }
  return mask.Load(place);
}

// A mask broadcasts to the scores; its last dimension may be shorter than the keys are many.
absl::Status CheckMask(OnnxNode& n, size_t input, const Exprs& scores) {
  if (!n.Has(input)) return absl::OkStatus();
  TW_RETURN_IF_ERROR(n.RequireTensors(input, 1));
  const Exprs& shape = n.In(input).shape;
  if (shape.empty() || shape.size() > 4) return n.Error("a mask of rank ", shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const Expr& of_scores = scores[4 - shape.size() + d];
    const auto extent = AsInt(shape[d]), wanted = AsInt(of_scores);
    const bool last = d + 1 == shape.size();
    if (ops::SameExtent(of_scores, shape[d])) continue;
    if (!extent || !wanted) {
      // Checked when the model runs: a last dimension without elements has none to read.
      if (last) n.emit().builder().Assume(Min(AsExtent(of_scores), Extent(1)) <= AsExtent(shape[d]));
      if (!last) TW_RETURN_IF_ERROR(n.RequireBroadcast({{of_scores}, {shape[d]}}));
      continue;
    }
    if (*extent == 1 || (last && *extent < *wanted && *extent > 0)) continue;
    return n.Error("a mask's extent ", d, " is ", *extent, ", expected ", *wanted);
  }
  return absl::OkStatus();
}

// An operand of rank 4 with heads first, or of rank 3 in `heads` heads.
absl::StatusOr<HeadsOf> OperandOf(OnnxNode& n, size_t input, const char* heads) {
  const Item& x = n.In(input);
  if (x.rank() == 4) return HeadsOf{x, true};
  TW_ASSIGN_OR_RETURN(const int64_t size, HeadSize(n, x.shape.back(), n.Int(heads, 0)));
  return SplitHeads(n, x, 0, n.Int(heads, 0), size);
}

// What masks, lengths of keys, causality and windows do to a score. `past` is the extent of the cache. Without any of
// them it is null.
ScoreEdit OnnxEdit(OnnxNode& n, const Expr& past, Items* inputs) {
  const bool causal = n.Int("is_causal", 0) != 0, has_mask = n.Has(3), has_past = n.Has(4), has_lengths = n.Has(6);
  const int64_t left = n.Int("left_window_size", -1), right = n.Int("right_window_size", -1);
  if (!causal && !has_mask && !has_lengths && left < 0 && right < 0) return {};
  if (has_mask) inputs->push_back(n.In(3));
  if (has_lengths) inputs->push_back(n.In(6));
  // The extent of the cache is the difference of extents that the program knows.
  const size_t sequence = n.In(1).rank() == 4 ? 2 : 1;
  if (has_past && !AsInt(past)) inputs->push_back(n.In(1));
  return [=](const Expr& score, const ScoreAt& at, const Buffers& more) {
    const Expr none = ops::Lowest(kF32);
    const DataType type = at.key.dtype();
    Expr value = score, offset = Const(type, 0);
    if (has_mask) {
      const Buffer& mask = more[0];
      const Expr given = LoadLast(mask, at), &extent = mask->shape.back();
      value = mask->dtype.is_bool() ? Select(given, value, none) : value + CastTo(kF32, given);
      if (!IsInt(extent, 1) && !ops::SameExtent(extent, at.keys)) value = Select(at.key < extent, value, none);
    }
    if (has_lengths) {
      const Expr length = CastTo(type, more[has_mask ? 1 : 0](at.batch));
      if (!has_past) offset = length - CastTo(type, at.queries);
      value = Select(at.key < length, value, none);
    }
    if (has_past) {
      offset = AsInt(past) ? Const(type, *AsInt(past)) : CastTo(type, at.keys - more.back()->shape[sequence]);
    }
    const Expr place = CastTo(type, at.query) + offset;
    if (causal) value = Select(at.key <= place, value, none);
    if (left >= 0) value = Select(place - at.key <= Const(type, left), value, none);
    if (right >= 0) value = Select(at.key - place <= Const(type, right), value, none);
    return value;
  };
}

absl::Status CheckAttention(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  const size_t rank = n.In(0).rank();
  if ((rank != 3 && rank != 4) || n.In(1).rank() != rank || n.In(2).rank() != rank) {
    return n.Error("operands of ranks ", rank, ", ", n.In(1).rank(), " and ", n.In(2).rank());
  }
  if (n.Has(4) != n.Has(5)) return n.Error("a cache of keys without one of values, or the other way round");
  if (n.Has(4)) TW_RETURN_IF_ERROR(n.RequireTensors(4, 2));
  if (n.Has(4) && n.In(4).rank() != 4) return n.Error("a cache of rank ", n.In(4).rank());
  return n.RequireShape(6, {n.In(0).shape[0]});
}

// The scores that a node gives beside its result: as they are, behind softcap, behind the mask, or behind softmax.
absl::StatusOr<Item> ScoresOf(OnnxNode& n, const AttentionResults& results, int64_t mode) {
  const Item& scores = mode == 0   ? results.raw
                       : mode == 1 ? results.capped
                       : mode == 2 ? results.masked
                                   : results.weights;
  const DataType type = n.In(0).dtype;
  if (type == kF32) return scores;
  TW_ASSIGN_OR_RETURN(const Items narrow,
                      n.MapItems("narrow", {scores}, [&](const Exprs& e) { return CastTo(type, e[0]); }));
  return narrow[0];
}

// Inputs are q, k, v, mask, past key, past value, and (24) how many keys of each batch are there.
absl::Status ImportAttention(OnnxNode& n) {
  TW_RETURN_IF_ERROR(CheckAttention(n));
  TW_ASSIGN_OR_RETURN(const HeadsOf q, OperandOf(n, 0, "q_num_heads"));
  TW_ASSIGN_OR_RETURN(HeadsOf k, OperandOf(n, 1, "kv_num_heads"));
  TW_ASSIGN_OR_RETURN(HeadsOf v, OperandOf(n, 2, "kv_num_heads"));
  if (n.Has(4) || n.Wants(1) || n.Wants(2)) {
    TW_ASSIGN_OR_RETURN(k, BehindPast(n, n.In(4), k));
    TW_ASSIGN_OR_RETURN(v, BehindPast(n, n.In(5), v));
  }
  const auto size = AsInt(q.head());
  if (!size) return n.Unsupported("heads of a symbolic extent");
  TW_RETURN_IF_ERROR(CheckMask(n, 3, {q.batch(), q.heads(), q.sequence(), k.sequence()}));
  const bool by_heads = n.In(0).rank() == 4;
  AttentionParts parts{.q = q, .k = k, .v = v, .heads_first = by_heads};
  parts.scale = n.Float("scale", 1 / std::sqrt(static_cast<double>(*size)));
  parts.softcap = n.Float("softcap", 0);
  parts.edit = OnnxEdit(n, n.Has(4) ? n.In(4).shape[2] : Extent(0), &parts.edit_inputs);
  const int64_t mode = n.Int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return n.Error("qk_matmul_output_mode is ", mode);
  const bool wants = n.Wants(3);
  TW_ASSIGN_OR_RETURN(const AttentionResults results,
                      EmitAttention(n, parts, {.raw = wants && mode == 0, .capped = wants && mode == 1}));
  Items out = {results.result, n.Wants(1) ? k.x : Item(), n.Wants(2) ? v.x : Item()};
  if (!by_heads) {
    TW_ASSIGN_OR_RETURN(out[0], JoinHeads(n, results.result));
  }
  if (wants) {
    TW_ASSIGN_OR_RETURN(Item scores, ScoresOf(n, results, mode));
    out.push_back(std::move(scores));
  }
  return n.Out(std::move(out));
}

// The keys that a node adds to its cache.
struct NewKeys {
  bool as_many_as_queries = true;
  Item past;  // where they are not: the cache [batch, heads, sequence, head], if there is one
};

// com.microsoft: what the integers of a mask say.
enum class MaskKind { kNone, kLengths, kEndsAndStarts, kKeys, kQueriesAndKeys };
absl::StatusOr<MaskKind> MaskKindOf(OnnxNode& n, size_t mask, const HeadsOf& q, const HeadsOf& k) {
  if (!n.Has(mask)) return MaskKind::kNone;
  TW_RETURN_IF_ERROR(n.RequireTensors(mask, 1));
  const Item& given = n.In(mask);
  MaskKind kind = MaskKind::kNone;
  if (!given.dtype.is_integer()) return n.Error("its mask is not of integers");
  if (given.rank() == 1) {
    const Expr with_sums = n.emit().Simplify(q.batch() * Extent(3) + Extent(2));
    if (ops::SameExtent(given.shape[0], q.batch()) || ops::SameExtent(given.shape[0], with_sums)) {
      // Running sums of queries and keys may follow the lengths; they say nothing new of batches that are not packed.
      kind = MaskKind::kLengths;
    } else if (ops::SameExtent(given.shape[0], n.emit().Simplify(q.batch() * Extent(2)))) {
      kind = MaskKind::kEndsAndStarts;
    } else {
      return n.Error("a mask of one dimension that is not of lengths, of ends and starts, or of lengths and sums");
    }
  } else if (given.rank() == 2) {
    kind = MaskKind::kKeys;
    TW_RETURN_IF_ERROR(n.RequireShape(mask, {q.batch(), k.sequence()}));
  } else if (given.rank() == 3) {
    kind = MaskKind::kQueriesAndKeys;
    TW_RETURN_IF_ERROR(n.RequireShape(mask, {q.batch(), q.sequence(), k.sequence()}));
  } else {
    return n.Unsupported("a mask of rank ", given.rank());
  }
  return kind;
}

// com.microsoft: which keys are masked, and how.
absl::StatusOr<ScoreEdit> MicrosoftEdit(OnnxNode& n, size_t mask, size_t bias, const HeadsOf& q, const HeadsOf& k,
                                        const NewKeys& added, Items* inputs) {
  const double filter = n.Float("mask_filter_value", -10000);
  const bool causal = n.Int("unidirectional", 0) != 0, has_mask = n.Has(mask), has_bias = n.Has(bias);
  TW_ASSIGN_OR_RETURN(const MaskKind kind, MaskKindOf(n, mask, q, k));
  if (has_mask) inputs->push_back(n.In(mask));
  if (has_bias) {
    TW_RETURN_IF_ERROR(CheckMask(n, bias, {q.batch(), q.heads(), q.sequence(), k.sequence()}));
    inputs->push_back(n.In(bias));
  }
  if (!has_mask && !has_bias && !causal) return ScoreEdit();
  const bool is_square = added.as_many_as_queries, has_past = causal && !is_square && added.past.present();
  if (has_past) inputs->push_back(added.past);
  return ScoreEdit([=](const Expr& score, const ScoreAt& at, const Buffers& more) {
    Expr value = has_bias ? score + CastTo(kF32, LoadLast(more[has_mask ? 1 : 0], at)) : score;
    if (has_mask) {
      const Buffer& given = more[0];
      const auto number = [&](const Expr& e) { return CastTo(at.key.dtype(), e); };
      Expr shown = True();
      if (kind == MaskKind::kLengths) {
        shown = at.key < number(given(at.batch));
      } else if (kind == MaskKind::kEndsAndStarts) {
        const Expr batches = FloorDiv(given->shape[0], Const(given->shape[0].dtype(), 2));
        shown = And(at.key < number(given(at.batch)), at.key >= number(given(at.batch + batches)));
      } else if (kind == MaskKind::kKeys) {
        shown = given(at.batch, at.key) > Const(given->dtype, 0);
      } else {
        shown = given(at.batch, at.query, at.key) > Const(given->dtype, 0);
      }
      value = Select(shown, value, value + ConstFloat(kF32, filter));
    }
    if (!causal) return value;
    const DataType type = at.key.dtype();
    const Expr query = CastTo(type, at.query);
    Expr shown = at.key <= query + CastTo(type, at.keys - at.queries);
    // The last query sees all keys, those before it the cache and as many new keys as there are queries up to them.
    if (!is_square) {
      const Expr past = has_past ? CastTo(type, more.back()->shape[2]) : Const(type, 0);
      shown = Or(at.key <= query + past, query == CastTo(type, at.queries) - Const(type, 1));
    }
    return Select(shown, value, ops::Lowest(kF32));
  });
}

absl::StatusOr<AttentionResults> MicrosoftAttention(OnnxNode& n, size_t mask, size_t bias, const HeadsOf& q,
                                                    const HeadsOf& k, const HeadsOf& v, const NewKeys& added,
                                                    const AttentionWants& wants) {
  const auto size = AsInt(q.head());
  if (!size) return n.Unsupported("heads of a symbolic extent");
  AttentionParts parts{.q = q, .k = k, .v = v};
  parts.scale = n.Float("scale", 0);
  if (parts.scale == 0) parts.scale = 1 / std::sqrt(static_cast<double>(*size));
  TW_ASSIGN_OR_RETURN(parts.edit, MicrosoftEdit(n, mask, bias, q, k, added, &parts.edit_inputs));
  return EmitAttention(n, parts, wants);
}

// Row `which` of a dimension of three or two, [batch, sequence, heads, count, head], by heads.
absl::StatusOr<HeadsOf> Unpacked(OnnxNode& n, const Item& x, int64_t which, int64_t count) {
  if (!IsInt(x.shape[3], count)) return n.Error("packed operands whose fourth extent is not ", count);
  TW_ASSIGN_OR_RETURN(Items part, n.Program("unpack", {x}, [&](ProgramParts& p) {
    const std::vector<Expr>& s = p.in[0]->shape;
    return Buffers{p.f.Compute("unpack", {s[0], s[1], s[2], s[4]}, [&](Symbol b, Symbol i, Symbol h, Symbol d) {
      return p.in[0](b, i, h, Expr(which), d);
    })};
  }));
  return HeadsOf{std::move(part[0])};
}

// Inputs are q, k, v, a bias of all three, a mask of keys, a bias of scores, past key and value.
absl::Status ImportMultiHeadAttention(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const int64_t heads = n.Int("num_heads", 0);
  if (n.Has(8) || n.Has(9)) return n.Unsupported("a shared cache of beams");
  const Item &q_in = n.In(0), &k_in = n.In(1), &v_in = n.In(2), &bias = n.In(3);
  HeadsOf q, k, v;
  if (q_in.rank() == 5) {
    TW_ASSIGN_OR_RETURN(q, Unpacked(n, q_in, 0, 3));
    TW_ASSIGN_OR_RETURN(k, Unpacked(n, q_in, 1, 3));
    TW_ASSIGN_OR_RETURN(v, Unpacked(n, q_in, 2, 3));
    if (bias.present()) return n.Unsupported("a bias of packed queries, keys and values");
  } else {
    if (q_in.rank() != 3 || !n.Has(1)) return n.Error("queries of rank ", q_in.rank());
    TW_ASSIGN_OR_RETURN(const int64_t size, HeadSize(n, q_in.shape[2], heads));
    // Parts of the bias lie one after the other.
    const auto part_of_bias = [&](int64_t first, int64_t width) -> absl::StatusOr<Item> {
      if (!bias.present()) return Item();
      if (!bias.is_tensor() || bias.rank() != 1) return n.Error("its bias is not a row");
      const Expr end = Extent(first + width);
      if (!n.RequireEqual(n.emit().Simplify(Min(AsExtent(bias.shape[0]), end)), end)) {
        return n.Error("its bias has less than ", first + width, " elements");
      }
      TW_ASSIGN_OR_RETURN(Items part, n.Program("bias_part", {bias}, [&](ProgramParts& p) {
        return Buffers{p.f.Compute("bias_part", {Expr(width)}, [&](Symbol i) { return p.in[0](Expr(first) + i); })};
      }));
      return part[0];
    };
    TW_ASSIGN_OR_RETURN(const Item q_bias, part_of_bias(0, heads * size));
    TW_ASSIGN_OR_RETURN(q, SplitHeads(n, q_in, 0, heads, size, q_bias));
    if (k_in.rank() == 5) {
      if (bias.present()) return n.Unsupported("a bias of packed keys and values");
      TW_ASSIGN_OR_RETURN(k, Unpacked(n, k_in, 0, 2));
      TW_ASSIGN_OR_RETURN(v, Unpacked(n, k_in, 1, 2));
    } else {
      TW_RETURN_IF_ERROR(n.RequireTensors(1, 2));
      if (k_in.rank() == 4) {
        k = HeadsOf{k_in, true};
        v = HeadsOf{v_in, true};
      } else {
        if (k_in.rank() != 3 || v_in.rank() != 3) return n.Error("keys or values of another rank than queries");
        TW_RETURN_IF_ERROR(n.RequireShape(1, {q_in.shape[0], k_in.shape[1], Extent(heads * size)}));
        TW_ASSIGN_OR_RETURN(const int64_t value_size, HeadSize(n, v_in.shape.back(), heads));
        TW_ASSIGN_OR_RETURN(const Item k_bias, part_of_bias(heads * size, heads * size));
        TW_ASSIGN_OR_RETURN(const Item v_bias, part_of_bias(2 * heads * size, heads * value_size));
        TW_ASSIGN_OR_RETURN(k, SplitHeads(n, k_in, 0, heads, size, k_bias));
        TW_ASSIGN_OR_RETURN(v, SplitHeads(n, v_in, 0, heads, value_size, v_bias));
      }
    }
  }
  const NewKeys added{.as_many_as_queries = ops::SameExtent(k.sequence(), q.sequence()), .past = n.In(6)};
  if (n.Has(6) || n.Wants(1) || n.Wants(2)) {
    TW_ASSIGN_OR_RETURN(k, BehindPast(n, n.In(6), k));
    TW_ASSIGN_OR_RETURN(v, BehindPast(n, n.In(7), v));
  }
  TW_ASSIGN_OR_RETURN(AttentionResults results, MicrosoftAttention(n, 4, 5, q, k, v, added, {.raw = n.Wants(3)}));
  TW_ASSIGN_OR_RETURN(Item joined, JoinHeads(n, results.result));
  return n.Out(Items{joined, n.Wants(1) ? k.x : Item(), n.Wants(2) ? v.x : Item(), results.raw});
}

// Attention of queries, keys and values that lie side by side in [batch, sequence, widths]. Further inputs are a mask,
// a cache of keys and values in one, and a bias of scores.
absl::Status AttentionOfJoined(OnnxNode& n, const Item& all, const Item& bias, const Int64s& widths, size_t mask,
                               size_t past, size_t scores) {
  const int64_t heads = n.Int("num_heads", 0);
  if (n.Int("do_rotary", 0) != 0) return n.Unsupported("a rotation inside of Attention");
  std::vector<HeadsOf> parts;
  int64_t first = 0;
  for (const int64_t width : widths) {
    TW_ASSIGN_OR_RETURN(const int64_t size, HeadSize(n, Extent(width), heads));
    TW_ASSIGN_OR_RETURN(HeadsOf part, SplitHeads(n, all, first, heads, size, bias));
    parts.push_back(std::move(part));
    first += width;
  }
  Item present;
  if (n.Has(past) || n.Wants(1)) {
    for (int64_t i = 0; i < 2; ++i) {
      Item old;
      if (n.Has(past)) {
        if (n.In(past).rank() != 5) return n.Error("a cache of rank ", n.In(past).rank());
        if (!n.RequireEqual(n.In(past).shape[0], Extent(2))) return n.Error("a cache that is not of keys and values");
        TW_ASSIGN_OR_RETURN(Items taken, n.Program("past_part", {n.In(past)}, [&](ProgramParts& p) {
          const std::vector<Expr>& s = p.in[0]->shape;
          return Buffers{
              p.f.Compute("past_part", {s[1], s[2], s[3], s[4]},
                          [&](Symbol b, Symbol h, Symbol j, Symbol d) { return p.in[0](Expr(i), b, h, j, d); })};
        }));
        old = taken[0];
      }
      auto& part = parts[static_cast<size_t>(1 + i)];
      TW_ASSIGN_OR_RETURN(part, BehindPast(n, old, part));
    }
    if (n.Wants(1)) {
      if (!n.RequireEqual(parts[1].head(), parts[2].head())) return n.Error("a cache of heads of two extents");
      TW_ASSIGN_OR_RETURN(Items stacked, n.Program("present", {parts[1].x, parts[2].x}, [&](ProgramParts& p) {
        std::vector<Expr> shape = p.in[0]->shape;
        shape.insert(shape.begin(), Expr(2));
        return Buffers{p.f.Compute("present", shape, [&](Symbol which, Symbol b, Symbol h, Symbol j, Symbol d) {
          return Select(which == Const(which.dtype(), 0), p.in[0](b, h, j, d), p.in[1](b, h, j, d));
        })};
      }));
      present = stacked[0];
    }
  }
  TW_ASSIGN_OR_RETURN(AttentionResults results,
                      MicrosoftAttention(n, mask, scores, parts[0], parts[1], parts[2], {}, {}));
  TW_ASSIGN_OR_RETURN(Item joined, JoinHeads(n, results.result));
  return n.Out(Items{joined, present});
}

absl::StatusOr<Int64s> WidthsOf(OnnxNode& n, const Item& weights) {
  const auto all = weights.rank() == 2 ? AsInt(weights.shape.back()) : std::nullopt;
  if (!all) return n.Unsupported("weights of symbolic extents");
  const Int64s widths = n.Ints("qkv_hidden_sizes").value_or(Int64s{*all / 3, *all / 3, *all / 3});
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != *all) return n.Error("qkv_hidden_sizes do not fit");
  return widths;
}

// Inputs are x, weights, bias, mask, past, a bias of scores.
absl::Status ImportMicrosoftAttention(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  if (n.Has(6)) return n.Unsupported("a shared cache");
  TW_ASSIGN_OR_RETURN(const Int64s widths, WidthsOf(n, n.In(1)));
  TW_ASSIGN_OR_RETURN(Items product, n.Call("MatMul", 13, {n.In(0), n.In(1)}));
  return AttentionOfJoined(n, product[0], n.In(2), widths, 3, 4, 5);
}

// Inputs are x, weights, bias, the scales of x and weights, mask, the zero points of x and weights, past.
absl::Status ImportQAttention(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 5));
  TW_ASSIGN_OR_RETURN(const Int64s widths, WidthsOf(n, n.In(1)));
  Items operands = {n.In(0), n.In(1), n.In(3), n.In(4), n.In(6), n.In(7)};
  TW_ASSIGN_OR_RETURN(Items product, n.Call("MatMulIntegerToFloat", 1, operands, {}, 1, kMicrosoft));
  return AttentionOfJoined(n, product[0], n.In(2), widths, 5, 8, SIZE_MAX);
}

}  // namespace

OnnxOperators AttentionOperators() {
  return {
      {"Attention", 23, ImportAttention, {.elements = Elements::kFloats, .integers = Inputs({6})}},
      {"Attention", 1, ImportMicrosoftAttention, {.required = "num_heads"}, kMicrosoft},
      {"MultiHeadAttention", 1, ImportMultiHeadAttention, {.required = "num_heads"}, kMicrosoft},
      {"QAttention", 1, ImportQAttention, {.required = "num_heads"}, kMicrosoft},
  };
}

}  // namespace tilewright::graph
