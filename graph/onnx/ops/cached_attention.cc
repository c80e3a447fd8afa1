// Attention with a cache whose sequences have lengths of their own.
#include "base/status_macros.h"
#include "graph/onnx/attention.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/indexing.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32), kI64 = DataType::Int(64);

// A cache of which a part is replaced along `axis`: each element by its indices. Nothing is known of that iterator, so
// that the program is joined to no other and its result has the order of its operand. Otherwise it could not be run in
// place (graph/executor/in_place.h).
Buffer Replaced(tilewright::FunctionBuilder& f, const std::string& name, const std::vector<Expr>& shape, DataType dtype,
                size_t axis, const std::function<Expr(const std::vector<Symbol>&)>& element) {
  Buffer y = f.Alloc(name, shape, dtype);
  f.Grid(shape, [&](const std::vector<Symbol>& loops) {
    f.Block(name, [&](tilewright::BlockBuilder& block) {
      std::vector<Symbol> at;
      for (size_t d = 0; d < shape.size(); ++d) {
        at.push_back(d == axis ? block.Opaque(shape[d], loops[d]) : block.Spatial(shape[d], loops[d]));
      }
      f.Store(y, element(at), {at.begin(), at.end()});
    });
  });
  return y;
}

// com.microsoft's GroupQueryAttention. Queries follow a cache in each sequence: one of batch b holds `past[b]` keys,
// and query i stands at position past[b] + i. Inputs: q, k, v (or all in q), past key and value, lengths, the greatest
// length, cosines, sines, positions, a bias of scores, a score for each head that has no value.
class GroupQuery {
 public:
  explicit GroupQuery(OnnxNode& n) : n_(n) {}

  absl::Status Import() {
    TW_RETURN_IF_ERROR(Check());
    TW_RETURN_IF_ERROR(EmitPast());
    TW_ASSIGN_OR_RETURN(const HeadsOf q, PartOf(n_.In(0), 0, heads_, true));
    const bool packed = !n_.Has(1);
    const int64_t keys_at = packed ? heads_ * size_ : 0, values_at = packed ? (heads_ + shared_) * size_ : 0;
    TW_ASSIGN_OR_RETURN(const HeadsOf k, PartOf(n_.In(packed ? 0 : 1), keys_at, shared_, true));
    TW_ASSIGN_OR_RETURN(const HeadsOf v, PartOf(n_.In(packed ? 0 : 2), values_at, shared_, false));
    TW_ASSIGN_OR_RETURN(const HeadsOf all_k, Present(n_.In(3), k));
    TW_ASSIGN_OR_RETURN(const HeadsOf all_v, Present(n_.In(4), v));
    AttentionParts parts{.q = q, .k = all_k, .v = all_v};
    parts.scale = n_.Float("scale", 0);
    if (parts.scale == 0) parts.scale = 1 / std::sqrt(static_cast<double>(size_));
    parts.softcap = n_.Float("softcap", 0);
    SetEdit(&parts);
    const int64_t wanted = n_.Int("qk_output", 0);
    TW_ASSIGN_OR_RETURN(AttentionResults results, EmitAttention(n_, parts));
    TW_ASSIGN_OR_RETURN(Item joined, JoinHeads(n_, results.result));
    Item scores = wanted == 1 ? results.masked : results.weights;
    if (n_.Wants(3)) {
      TW_ASSIGN_OR_RETURN(scores, Shown(scores));
    }
    return n_.Out(Items{joined, all_k.x, all_v.x, scores});
  }

 private:
  absl::Status Check() {
    TW_RETURN_IF_ERROR(n_.RequireTensors(0, 1));
    TW_RETURN_IF_ERROR(n_.RequireTensors(5, 2));
    TW_RETURN_IF_ERROR(n_.RequireFloat());
    if (n_.Has(1) != n_.Has(2)) return n_.Error("keys without values, or the other way round");
    if (n_.Has(3) != n_.Has(4)) return n_.Error("a cache of keys without one of values, or the other way round");
    for (size_t i = 12; i < n_.in().size(); ++i) {
      if (n_.Has(i)) return n_.Unsupported("input ", i, ", of a quantized cache");
    }
    heads_ = n_.Int("num_heads", 0);
    shared_ = n_.Int("kv_num_heads", 0);
    if (n_.Int("causal", 1) == 0 && n_.Int("local_window_size", -1) > 0) {
      return n_.Error("a window in both directions");
    }
    if (heads_ < 1 || shared_ < 1) return n_.Error("num_heads and kv_num_heads are ", heads_, " and ", shared_);
    const Item& q = n_.In(0);
    if (q.rank() != 3) return n_.Error("its queries have rank ", q.rank());
    TW_ASSIGN_OR_RETURN(size_, HeadSize(n_, q.shape[2], n_.Has(1) ? heads_ : heads_ + 2 * shared_));
    if (n_.Has(1)) {
      TW_RETURN_IF_ERROR(n_.RequireTensors(1, 2));
      TW_RETURN_IF_ERROR(n_.RequireSameType(0, 3));
      const Exprs shape = {q.shape[0], q.shape[1], Extent(shared_ * size_)};
      TW_RETURN_IF_ERROR(n_.RequireShape(1, shape));
      TW_RETURN_IF_ERROR(n_.RequireShape(2, shape));
    }
    for (size_t i = 3; i < 5; ++i) {
      if (!n_.Has(i)) continue;
      TW_RETURN_IF_ERROR(n_.RequireTensors(i, 1));
      if (n_.In(i).rank() != 4 || n_.In(i).dtype != q.dtype) return n_.Unsupported("a cache of another rank or type");
      TW_RETURN_IF_ERROR(n_.RequireShape(i, {q.shape[0], Extent(shared_), n_.In(3).shape[2], Extent(size_)}));
    }
    for (const size_t i : {10, 11}) {
      if (n_.Has(i)) TW_RETURN_IF_ERROR(n_.RequireTensors(i, 1));
    }
    TW_RETURN_IF_ERROR(n_.RequireShape(11, {Extent(heads_)}));
    if (n_.Has(10)) {
      // A bias broadcasts to batches and heads.
      const Exprs& bias = n_.In(10).shape;
      if (bias.size() != 4) return n_.Error("a bias of rank ", bias.size());
      const auto one_or = [](const Expr& extent, const Expr& all) { return IsInt(extent, 1) ? extent : all; };
      TW_RETURN_IF_ERROR(
          n_.RequireShape(10, {one_or(bias[0], q.shape[0]), one_or(bias[1], Extent(heads_)), q.shape[1], bias[3]}));
      n_.emit().builder().Assume(Extent(0) < AsExtent(bias[3]));
    }
    return CheckRotation();
  }

  absl::Status CheckRotation() {
    rotates_ = n_.Int("do_rotary", 0) != 0;
    if (!rotates_) return absl::OkStatus();
    TW_RETURN_IF_ERROR(n_.RequireTensors(7, 2));
    if (n_.In(7).rank() != 2 || n_.In(8).rank() != 2) return n_.Error("cosines or sines of another rank than 2");
    const auto pairs = AsInt(n_.In(7).shape[1]);
    if (!pairs || *pairs < 1 || 2 * *pairs > size_) return n_.Error("the pairs of cosines do not fit a head");
    TW_RETURN_IF_ERROR(n_.RequireShape(8, n_.In(7).shape));
    rotation_ = {*pairs, n_.Int("rotary_interleaved", 0) != 0};
    return n_.RequireShape(9, {n_.In(0).shape[0], n_.In(0).shape[1]});
  }

  // How many keys of the cache each sequence has: none where the prompt is all that there is.
  absl::Status EmitPast() {
    TW_ASSIGN_OR_RETURN(const Exprs total, n_.Values(6));
    if (total.size() != 1) return n_.Error("the greatest length is not one number");
    const Expr queries = n_.In(0).shape[1];
    TW_ASSIGN_OR_RETURN(lengths_, n_.emit().View(n_.In(5), {n_.In(0).shape[0]}));
    total_ = n_.emit().Simplify(total[0]);
    is_prompt_ = n_.emit().builder().analyzer().Simplify(queries == total_);
    TW_ASSIGN_OR_RETURN(const Items past, n_.Program("past_lengths", {lengths_}, [&](ProgramParts& p) {
      const Expr prompt = IsPrompt(p);
      const Expr count = CastTo(kI64, p.local(queries)), none = Const(kI64, 0);
      return Buffers{p.f.Compute("past_lengths", p.in[0]->shape, [&](Symbol b) {
        const Expr before = Max(CastTo(kI64, p.in[0](b)) + Const(kI64, 1) - count, none);
        return Select(prompt, none, before);
      })};
    }));
    past_ = past[0];
    return absl::OkStatus();
  }

  // Whether the cache is empty: the queries are a first prompt.
  Expr IsPrompt(ProgramParts& p) const {
    if (const auto known = AsInt(is_prompt_)) return *known != 0 ? True() : False();
    return p.local(n_.In(0).shape[1]) == p.local(total_);
  }

  // The position of query i of a batch. In a first prompt it is that of the first query of all, plus i.
  Expr PositionOf(ProgramParts& p, const Expr& batch, const Expr& i) const {
    const Buffer& given = p.in[1];
    if (!n_.Has(9)) return given(batch) + CastTo(kI64, i);
    const Expr zero(0), of_prompt = given(zero, zero) + CastTo(given->dtype, i), own = given(batch, i);
    const auto known = AsInt(is_prompt_);
    return known ? (*known != 0 ? of_prompt : own) : Select(IsPrompt(p), of_prompt, own);
  }

  // Columns of x by heads, turned where the operator turns them.
  absl::StatusOr<HeadsOf> PartOf(const Item& x, int64_t first, int64_t heads, bool turns) {
    if (!rotates_ || !turns) return SplitHeads(n_, x, first, heads, size_);
    TW_ASSIGN_OR_RETURN(
        Items turned,
        n_.Program("rotate_heads", {x, n_.Has(9) ? n_.In(9) : past_, n_.In(7), n_.In(8)}, [&](ProgramParts& p) {
          const std::vector<Expr> shape = {p.in[0]->shape[0], p.in[0]->shape[1], Expr(heads), Expr(size_)};
          return Buffers{p.f.Compute("rotate_heads", shape, [&](Symbol b, Symbol i, Symbol h, Symbol d) {
            const auto element = [&](const Expr& j) {
              return CastTo(kF32, p.in[0](b, i, Expr(first) + h * Expr(size_) + j));
            };
            const Expr row = ops::WrapIndex(PositionOf(p, b, i), p.in[2]->shape[0]);
            const auto angle = [&](const Expr& pair) {
              return std::pair(CastTo(kF32, p.in[2](row, pair)), CastTo(kF32, p.in[3](row, pair)));
            };
            return CastTo(x.dtype, RotatedElement(rotation_, size_, d, element, angle));
          })};
        }));
    return HeadsOf{std::move(turned[0])};
  }

  // The cache with the new elements behind those that each sequence has. Behind these it is as it was, or 0: with room
  // for more keys it is the cache itself but for the new elements, so that a run may write these alone
  // (graph/executor/in_place.h).
  absl::StatusOr<HeadsOf> Present(const Item& past, const HeadsOf& fresh) {
    const bool has_past = past.present() && !IsInt(past.shape[2], 0);
    const Expr extent = has_past ? n_.emit().Simplify(Max(past.shape[2], total_)) : total_;
    Items inputs = {fresh.x, past_};
    if (has_past) inputs.push_back(past);
    TW_ASSIGN_OR_RETURN(Items present, n_.Program("present", inputs, [&](ProgramParts& p) {
      const std::vector<Expr>& s = p.in[0]->shape;
      const std::vector<Expr> shape = {s[0], s[2], p.local(extent), s[3]};
      return Buffers{Replaced(p.f, "present", shape, fresh.x.dtype, 2, [&](const std::vector<Symbol>& v) {
        const Symbol &b = v[0], &h = v[1], &j = v[2], &d = v[3];
        const Expr at = CastTo(kI64, j), zero = Const(kI64, 0), one = Const(kI64, 1);
        const Expr count = CastTo(kI64, s[1]), place = at - p.in[1](b);
        const Expr added = p.in[0](b, CastTo(s[1].dtype(), Max(Min(place, count - one), zero)), h, d);
        const Expr none = Const(added.dtype(), 0);
        const Expr old = has_past ? IfThenElse(j < p.in[2]->shape[2], p.in[2](b, h, j, d), none) : none;
        return Select(And(place >= zero, place < count), added, old);
      })};
    }));
    return HeadsOf{std::move(present[0]), true};
  }

  // Scores of the keys up to the greatest length, in the type of the queries, 0 where they are masked.
  absl::StatusOr<Item> Shown(const Item& scores) {
    const DataType type = n_.In(0).dtype;
    TW_ASSIGN_OR_RETURN(const Items shown, n_.Program("shown_scores", {scores}, [&](ProgramParts& p) {
      std::vector<Expr> shape = p.in[0]->shape;
      shape[3] = p.local(total_);
      return Buffers{p.f.Compute("shown_scores", shape, [&](Symbol b, Symbol h, Symbol i, Symbol j) {
        const Expr score = p.in[0](b, h, i, j);
        return CastTo(type, Select(score == ops::Lowest(kF32), Const(kF32, 0), score));
      })};
    }));
    return shown[0];
  }

  void SetEdit(AttentionParts* parts) {
    const int64_t window = n_.Int("local_window_size", -1);
    const bool has_bias = n_.Has(10), has_sink = n_.Has(11);
    const bool causal = n_.Int("causal", 1) != 0;
    parts->edit_inputs = {causal ? past_ : lengths_};
    if (has_bias) parts->edit_inputs.push_back(n_.In(10));
    if (has_sink) parts->edit_inputs.push_back(n_.In(11));
    parts->edit = [=](const Expr& score, const ScoreAt& at, const Buffers& more) {
      Expr value = score;
      if (has_bias) {
        const Buffer& bias = more[1];
        const auto place = [&](size_t d, const Expr& index) { return IsInt(bias->shape[d], 1) ? Expr(0) : index; };
        const Expr last = bias->shape[3] - Const(bias->shape[3].dtype(), 1);
        value = value + CastTo(kF32, bias(place(0, at.batch), place(1, at.head), at.query, Min(at.key, last)));
      }
      const Expr key = CastTo(kI64, at.key), number = CastTo(kI64, more[0](at.batch));
      // Without a direction all keys of a sequence are shown, of which its length is the last.
      const Expr query = causal ? number + CastTo(kI64, at.query) : number;
      Expr shown = key <= query;
      if (window > 0) shown = And(shown, query - key < Const(kI64, window));
      return Select(shown, value, ops::Lowest(kF32));
    };
    if (has_sink) {
      parts->sink = [=](const Expr& head, const Buffers& more) { return CastTo(kF32, more.back()(head)); };
    } else if (n_.Int("smooth_softmax", 0) > 0) {
      parts->sink = [](const Expr&, const Buffers&) { return Const(kF32, 0); };
    }
  }

  OnnxNode& n_;
  int64_t heads_ = 0, shared_ = 0, size_ = 0;
  bool rotates_ = false;
  Rotation rotation_;
  Item lengths_;  // the last key of each sequence
  Item past_;     // keys in the cache, int64, one a sequence
  Expr total_;    // the greatest length with the new keys
  Expr is_prompt_;
};

absl::Status ImportGroupQueryAttention(OnnxNode& n) { return GroupQuery(n).Import(); }

// Writes `update` [batch, ..., new, ...] into a cache at `axis`, from a place of each batch on.
absl::Status ImportTensorScatter(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireSameType(0, 2));
  const Item &cache = n.In(0), &update = n.In(1);
  if (cache.rank() < 2 || update.rank() != cache.rank())
    return n.Error("operands of ranks ", cache.rank(), " and ", update.rank());
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", -2), cache.rank()));
  if (axis == 0) return n.Error("its axis is that of batches");
  const auto a = static_cast<size_t>(axis);
  Exprs wanted = cache.shape;
  wanted[a] = update.shape[a];
  TW_RETURN_IF_ERROR(n.RequireShape(1, wanted));
  TW_RETURN_IF_ERROR(n.RequireShape(2, {cache.shape[0]}));
  const std::string mode = n.String("mode", "linear");
  if (mode != "linear" && mode != "circular") return n.Error("the mode is \"", mode, "\"");
  return n.Out(n.Program("tensor_scatter", n.in(), [&](ProgramParts& p) {
    return Buffers{Replaced(p.f, "tensor_scatter", p.in[0]->shape, cache.dtype, a, [&](const std::vector<Symbol>& v) {
      ops::Indices at(v.begin(), v.end());
      const Expr zero = Const(kI64, 0), one = Const(kI64, 1);
      const Expr extent = CastTo(kI64, p.in[0]->shape[a]), count = CastTo(kI64, p.in[1]->shape[a]);
      Expr place = CastTo(kI64, v[a]);
      if (p.in.size() > 2) place = place - CastTo(kI64, p.in[2](v[0]));
      if (mode == "circular") place = FloorMod(place, extent);
      const Expr old = p.in[0].Load(at);
      at[a] = CastTo(p.in[1]->shape[a].dtype(), Max(Min(place, count - one), zero));
      return Select(And(place >= zero, place < count), p.in[1].Load(at), old);
    })};
  }));
}

}  // namespace

OnnxOperators CachedAttentionOperators() {
  return {
      {"GroupQueryAttention",
       1,
       ImportGroupQueryAttention,
       {.integers = Inputs({5, 6, 9}),
        .required = "num_heads kv_num_heads",
        .only = "sliding_window_cache=0 k_quant_type=NONE v_quant_type=NONE"},
       kMicrosoft},
      {"TensorScatter", 24, ImportTensorScatter, {.integers = Inputs({2})}},
  };
}

}  // namespace tilewright::graph
