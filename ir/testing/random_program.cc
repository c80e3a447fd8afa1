#include "ir/testing/random_program.h"

#include <algorithm>
#include <random>

#include "base/math.h"
#include "ir/builder.h"

namespace tilewright {
namespace {

// Beyond this, floats are no longer exact for sure.
constexpr int64_t kMaxMagnitude = 1 << 22;

struct Known {
  Buffer buffer;
  int64_t magnitude;  // of its elements
};
struct Bounded {
  Expr value;
  int64_t magnitude;
};
struct Index {
  Expr var;
  int64_t extent;
};

class Generator {
 public:
  Generator(uint64_t seed, const RandomProgramOptions& options) : random_(seed), options_(options) {}

  Function Generate() {
    dtype_ = Chance(50) ? DataType::Float(32) : DataType::Int(32);
    const int inputs = static_cast<int>(Pick(1, 2));
    for (int i = 0; i < inputs; ++i) {
      known_.push_back({f_.Input("in" + std::to_string(i), Exprs(Shape()), dtype_), 4});
    }
    const int64_t stages = Pick(1, options_.max_stages);
    std::vector<Buffer> outputs;
    for (int64_t i = 0; i < stages; ++i) {
      const std::string name = "s" + std::to_string(i);
      Known stage = options_.all_constructs && Chance(60) ? Construct(name) : Computed(name);
      if (i + 1 == stages || Chance(25)) outputs.push_back(stage.buffer);
      known_.push_back(std::move(stage));
    }
    return f_.Build(outputs);
  }

 private:
  int64_t Pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Pick(1, 100) <= percent; }

  std::vector<int64_t> Shape() {
    std::vector<int64_t> shape;
    const int64_t dims = Pick(1, 3);
    while (static_cast<int64_t>(shape.size()) < dims) shape.push_back(Pick(1, options_.max_extent));
    return shape;
  }
  static std::vector<Expr> Exprs(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }
  static std::vector<Index> Indices(const std::vector<Var>& vars, const std::vector<int64_t>& extents) {
    std::vector<Index> indices;
    for (size_t i = 0; i < extents.size(); ++i) indices.push_back({vars[i], extents[i]});
    return indices;
  }

  // An index of [0, extent) made of the given variables.
  Expr IndexInto(int64_t extent, const std::vector<Index>& vars) {
    if (extent == 1 && Chance(50)) return Expr(0);
    if (vars.empty() || Chance(8)) return Expr(Pick(0, extent - 1));
    const Index& v = vars[static_cast<size_t>(Pick(0, static_cast<int64_t>(vars.size()) - 1))];
    const Index& w = vars[static_cast<size_t>(Pick(0, static_cast<int64_t>(vars.size()) - 1))];
    switch (Pick(0, 5)) {
      case 0:
        if (v.extent <= extent) return Expr(extent - 1) - v.var;
        break;
      case 1:
        if (v.extent + w.extent - 1 <= extent) return v.var + w.var;
        break;
      case 2:
        if (v.extent < extent) return v.var + Expr(Pick(1, extent - v.extent));
        break;
      case 3:
        if ((v.extent - 1) * 2 < extent) return v.var * 2;
        break;
      case 4:
        if ((v.extent + 1) / 2 <= extent) return FloorDiv(v.var, Expr(2));
        break;
      default:
        break;
    }
    return v.extent <= extent ? v.var : FloorMod(v.var, Expr(extent));
  }

  Bounded Element(const std::vector<Index>& vars) {
    const Known& known = known_[static_cast<size_t>(Pick(0, static_cast<int64_t>(known_.size()) - 1))];
    std::vector<Expr> at;
    for (const Expr& extent : known.buffer->shape) at.push_back(IndexInto(*AsInt(extent), vars));
    return {known.buffer.Load(at), known.magnitude};
  }

  // A value no larger than `limit`.
  Bounded Value(int depth, const std::vector<Index>& vars, int64_t limit) {
    if (depth == 0 || Chance(20)) {
      if (Chance(15)) return {Const(dtype_, Pick(-3, 3)), 3};
      return Limit(Element(vars), limit);
    }
    const Bounded a = Value(depth - 1, vars, limit), b = Value(depth - 1, vars, limit);
    switch (Pick(0, 6)) {
      case 0:
        if (a.magnitude + b.magnitude <= limit) return {a.value + b.value, a.magnitude + b.magnitude};
        break;
      case 1:
        if (a.magnitude + b.magnitude <= limit) return {a.value - b.value, a.magnitude + b.magnitude};
        break;
      case 2:
      case 3:
        if (a.magnitude * b.magnitude <= limit) return {a.value * b.value, a.magnitude * b.magnitude};
        break;
      case 4:
        return {Min(a.value, b.value), std::max(a.magnitude, b.magnitude)};
      case 5:
        if (!vars.empty()) {
          const Index& v = vars[static_cast<size_t>(Pick(0, static_cast<int64_t>(vars.size()) - 1))];
          const Expr condition = v.var < Expr(Pick(0, v.extent));
          const int64_t magnitude = std::max(a.magnitude, b.magnitude);
          return {Chance(50) ? Select(condition, a.value, b.value) : IfThenElse(condition, a.value, b.value),
                  magnitude};
        }
        break;
      default:
        break;
    }
    return {Max(a.value, b.value), std::max(a.magnitude, b.magnitude)};
  }

  Bounded Limit(Bounded value, int64_t limit) {
    if (value.magnitude <= limit) return value;
    return {Max(Min(value.value, Const(dtype_, limit)), Const(dtype_, -limit)), limit};
  }

  // A stage as Compute makes it.
  Known Computed(const std::string& name) {
    const std::vector<int64_t> shape = Shape();
    int64_t magnitude = 0;
    const bool reduce = Chance(45);
    std::vector<ReduceAxis> axes;
    std::vector<int64_t> reduced;
    for (int64_t i = reduce ? Pick(1, 2) : 0; i > 0; --i) {
      reduced.push_back(Pick(1, options_.max_extent));
      axes.emplace_back("k" + std::to_string(i), Expr(reduced.back()));
    }
    Buffer buffer = f_.Compute(name, Exprs(shape), [&](const std::vector<Var>& v) -> ComputeBody {
      std::vector<Index> vars = Indices(v, shape);
      int64_t terms = 1;
      for (size_t i = 0; i < axes.size(); ++i) {
        vars.push_back({axes[i], reduced[i]});
        terms *= reduced[i];
      }
      if (!reduce && Chance(25)) return Padded(shape, v, &magnitude);
      const Bounded value = Value(2, vars, kMaxMagnitude / terms);
      magnitude = value.magnitude;
      if (!reduce) return value.value;
      if (Chance(20)) return MaxOver(value.value, axes);
      if (Chance(20)) return MinOver(value.value, axes);
      magnitude *= terms;
      return Sum(value.value, axes);
    });
    return {buffer, magnitude};
  }

  // A known buffer in the middle of zeros, as far as the shapes allow.
  ComputeBody Padded(const std::vector<int64_t>& shape, const std::vector<Var>& v, int64_t* magnitude) {
    const Known& known = known_[static_cast<size_t>(Pick(0, static_cast<int64_t>(known_.size()) - 1))];
    Expr inside;
    std::vector<Expr> at;
    for (size_t i = 0; i < known.buffer->ndim(); ++i) {
      if (i >= shape.size()) {
        at.emplace_back(0);
        continue;
      }
      const int64_t before = Pick(0, 2), extent = *AsInt(known.buffer->shape[i]);
      const Expr condition = And(Expr(before) <= v[i], v[i] < Expr(before + extent));
      inside = inside ? And(inside, condition) : condition;
      at.push_back(before == 0 ? Expr(v[i]) : v[i] - Expr(before));
    }
    *magnitude = known.magnitude;
    return IfThenElse(inside, known.buffer.Load(at), Const(dtype_, 0));
  }

  // A stage of another form.
  Known Construct(const std::string& name) {
    switch (Pick(0, 4)) {
      case 0:
        return Split(name);
      case 1:
        return Nested(name);
      case 2:
        return Vector(name);
      case 3:
        return Control(name);
      default:
        return Threads(name);
    }
  }

  Buffer NewBuffer(const std::string& name, std::vector<int64_t> shape) { return f_.Alloc(name, Exprs(shape), dtype_); }

  // A loop of a random kind, split where its factor does not divide the extent.
  Known Split(const std::string& name) {
    const int64_t extent = Pick(1, 2 * options_.max_extent), factor = Pick(1, 5);
    Buffer out = NewBuffer(name, {extent});
    int64_t magnitude = 0;
    constexpr ForKind kKinds[] = {ForKind::kSerial, ForKind::kParallel, ForKind::kUnrolled, ForKind::kVectorized};
    const ForKind outer = kKinds[Pick(0, 2)], inner = kKinds[Pick(0, 3)];
    f_.Loop(
        "o", Expr(CeilDiv(extent, factor)),
        [&](Var o) {
          f_.Loop(
              "i", Expr(factor),
              [&](Var i) {
                f_.Block(name, [&](BlockBuilder& block) {
                  const Expr at = o * Expr(factor) + i;
                  Var v = block.Spatial(Expr(extent), at);
                  if (extent % factor != 0) block.Where(at < Expr(extent));
                  if (Chance(50)) block.Annotate("hint", MakeAnnotation(Expr(Pick(0, 9))));
                  const Bounded value = Value(2, {{v, extent}}, kMaxMagnitude);
                  magnitude = value.magnitude;
                  f_.Store(out, value.value, {v});
                });
              },
              inner);
        },
        outer);
    return {out, magnitude};
  }

  // An outer block over rows; inside, a temporary, a reduction into it, and a copy through a sub-buffer.
  Known Nested(const std::string& name) {
    const int64_t rows = Pick(1, options_.max_extent), columns = Pick(1, options_.max_extent);
    const int64_t reduced = Pick(1, options_.max_extent);
    Buffer out = NewBuffer(name, {rows, columns});
    int64_t magnitude = 0;
    f_.Loop("r", Expr(rows), [&](Var r) {
      f_.Block(name + "_o", [&](BlockBuilder& outer) {
        Var vr = outer.Spatial(Expr(rows), r, "vr");
        Buffer row = f_.Alloc(name + "_row", {Expr(columns)}, dtype_);
        f_.Grid({Expr(columns), Expr(reduced)}, [&](const std::vector<Var>& v) {
          f_.Block(name + "_sum", [&](BlockBuilder& block) {
            Var vc = block.Spatial(Expr(columns), v[0], "vc"), vk = block.Reduce(Expr(reduced), v[1], "vk");
            const Bounded value = Value(1, {{vr, rows}, {vc, columns}, {vk, reduced}}, kMaxMagnitude / reduced);
            magnitude = value.magnitude * reduced;
            block.Init([&] { f_.Store(row, Const(dtype_, 0), {vc}); });
            f_.Store(row, row(vc) + value.value, {vc});
          });
        });
        BufferNode::Fields part;
        part.name = name + "_part";
        part.dtype = dtype_;
        part.shape = {columns};
        part.strides = {Var(name + "_stride")};
        part.elem_offset = Var(name + "_offset");
        Buffer window{part};
        f_.Block(name + "_copy", [&](BlockBuilder& block) {
          Var v = block.Spatial(Expr(rows), vr, "v");
          const BufferRegion region{out, {{v, 1}, {0, columns}}};
          block.Match(window, region);
          block.Reads({BufferRegion::Full(row)});
          block.Writes({region});
          f_.Loop("c", Expr(columns), [&](Var c) { f_.Store(window, row(c), {c}); });
        });
      });
    });
    return {out, magnitude};
  }

  // Whole vectors at once.
  Known Vector(const std::string& name) {
    const int lanes = 1 << Pick(1, 3);
    const int64_t count = Pick(1, 3);
    Buffer out = NewBuffer(name, {count * lanes});
    const Known& known = known_[static_cast<size_t>(Pick(0, static_cast<int64_t>(known_.size()) - 1))];
    f_.Loop("i", Expr(count), [&](Var i) {
      f_.Block(name, [&](BlockBuilder& block) {
        Var v = block.Spatial(Expr(count), i);
        std::vector<Expr> at;
        for (const Expr& extent : known.buffer->shape) at.push_back(IndexInto(*AsInt(extent), {{v, count}}));
        const Expr numbers = CastTo(dtype_.with_lanes(lanes), Ramp(v, 1, lanes));
        block.Writes({{out, {{v * lanes, lanes}}}});
        f_.Add(Store(out, Broadcast(known.buffer.Load(at), lanes) + numbers, {Ramp(v * lanes, 1, lanes)}));
      });
    });
    return {out, known.magnitude + count + lanes};
  }

  // A loop written with `while`, a `let` and an `if`, in an opaque block.
  Known Control(const std::string& name) {
    const int64_t extent = Pick(1, options_.max_extent);
    Buffer out = NewBuffer(name, {extent});
    int64_t magnitude = 0;
    f_.Block(name, [&](BlockBuilder& block) {
      Var once = block.Opaque(1, 0, "once");
      Buffer counter = f_.Alloc(name + "_i", {1}, DataType::Int(32), Scope::Parse("local"));
      f_.Store(counter, once, {0});
      f_.While(counter(0) < Expr(extent), [&] {
        Var at("at");
        f_.Add(LetStmt(at, counter(0), f_.Collect([&] {
          const Bounded yes = Value(1, {}, kMaxMagnitude), no = Value(1, {}, kMaxMagnitude);
          magnitude = std::max(yes.magnitude, no.magnitude);
          f_.If(FloorMod(at, 2) == 0, [&] { f_.Store(out, yes.value, {at}); }, [&] { f_.Store(out, no.value, {at}); });
          f_.Store(counter, at + 1, {0});
        })));
      });
      block.Writes({BufferRegion::Full(out)});
    });
    return {out, magnitude};
  }

  // Threads hand their elements to each other through shared memory.
  Known Threads(const std::string& name) {
    const int64_t blocks = Pick(1, 3), threads = Pick(1, options_.max_extent);
    Buffer out = NewBuffer(name, {blocks, threads});
    int64_t magnitude = 0;
    f_.Loop(
        "bx", Expr(blocks),
        [&](Var bx) {
          f_.Block(name, [&](BlockBuilder& block) {
            Var v = block.Spatial(Expr(blocks), bx);
            Buffer shared = f_.Alloc(name + "_shared", {Expr(threads)}, dtype_, Scope::Parse("shared"));
            f_.Loop(
                "tx", Expr(threads),
                [&](Var tx) {
                  const Bounded value = Value(1, {{v, blocks}, {tx, threads}}, kMaxMagnitude);
                  magnitude = value.magnitude;
                  f_.Store(shared, value.value, {tx});
                  f_.Add(Ref<SyncNode>(new SyncNode(SyncKind::kBarrier, Scope::Parse("shared"), OwnerLevel::kBlock)));
                  f_.Store(out, shared(Expr(threads - 1) - tx), {v, tx});
                },
                ForKind::kThreadBound, "threadIdx.x");
          });
        },
        ForKind::kThreadBound, "blockIdx.x");
    return {out, magnitude};
  }

  std::mt19937_64 random_;
  const RandomProgramOptions options_;
  FunctionBuilder f_;
  DataType dtype_;
  std::vector<Known> known_;
};

}  // namespace

Function RandomProgram(uint64_t seed, const RandomProgramOptions& options) {
  return Generator(seed, options).Generate();
}

}  // namespace tilewright
