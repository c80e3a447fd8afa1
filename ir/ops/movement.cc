#include "ir/ops/movement.h"

#include "base/check.h"
#include "ir/arith/analyzer.h"

namespace tilewright::ops {
namespace {

Expr Zero(const Expr& like) { return Const(like.dtype(), 0); }
Expr One(const Expr& like) { return Const(like.dtype(), 1); }
Expr Simple(const Expr& e) { return arith::Simplify(e); }

// How many elements a constant pad takes away.
Expr Dropped(const Expr& pad) {
  const auto value = AsInt(pad);
  return Const(pad.dtype(), value && *value < 0 ? -*value : 0);
}

}  // namespace

Buffer Move(FunctionBuilder& f, const std::string& name, const Buffer& x, std::vector<Expr> shape,
            const std::function<Indices(const Indices&)>& source) {
  return f.Compute(name, std::move(shape),
                   [&](const std::vector<Var>& v) { return x.Load(source(Indices(v.begin(), v.end()))); });
}

Buffer Transpose(FunctionBuilder& f, const Buffer& x, const std::vector<int>& permutation) {
  std::vector<Expr> shape;
  for (int axis : permutation) shape.push_back(x->shape[static_cast<size_t>(axis)]);
  return Move(f, "transpose", x, shape, [&](const Indices& at) {
    Indices source(at.size());
    for (size_t i = 0; i < at.size(); ++i) source[static_cast<size_t>(permutation[i])] = at[i];
    return source;
  });
}

Expr Flatten(const std::vector<Expr>& shape, const Indices& at) {
  Expr position = 0;
  for (size_t i = 0; i < shape.size(); ++i) position = position * shape[i] + at[i];
  return Simple(position);
}

Indices Unflatten(const std::vector<Expr>& shape, const Expr& position) {
  Indices at(shape.size());
  Expr rest = position;
  for (size_t i = shape.size(); i-- > 0;) {
    at[i] = i == 0 ? rest : FloorMod(rest, shape[i]);
    if (i != 0) rest = FloorDiv(rest, shape[i]);
  }
  return at;
}

namespace {

// Neighbouring dimensions [begin, end) of two shapes that hold the same number of elements.
struct ReshapedPart {
  size_t from_begin, from_end, to_begin, to_end;
};

// From the last dimensions on, in parts as small as the constant extents allow; what is left at the front is one part.
std::vector<ReshapedPart> ReshapedParts(const std::vector<Expr>& from, const std::vector<Expr>& to) {
  std::vector<ReshapedPart> parts;
  size_t i = from.size(), j = to.size();
  while (i > 0 && j > 0) {
    size_t a = i - 1, b = j - 1;
    Expr left = from[a], right = to[b];
    while (!SameExtent(left, right)) {
      const auto of_left = AsInt(left), of_right = AsInt(right);
      if (!of_left || !of_right || (*of_left < *of_right ? a : b) == 0) {
        a = b = 0;
        break;
      }
      if (*of_left < *of_right) {
        left = Simple(left * from[--a]);
      } else {
        right = Simple(right * to[--b]);
      }
    }
    parts.push_back({a, i, b, j});
    i = a;
    j = b;
  }
  if (i > 0 || j > 0) parts.push_back({0, i, 0, j});
  return parts;
}

}  // namespace

Buffer Reshape(FunctionBuilder& f, const Buffer& x, std::vector<Expr> shape) {
  const std::vector<Expr> extents = shape;
  const std::vector<ReshapedPart> parts = ReshapedParts(x->shape, extents);
  return Move(f, "reshape", x, std::move(shape), [&](const Indices& at) {
    Indices source(x->ndim(), Expr(0));
    for (const ReshapedPart& part : parts) {
      const auto slice = [](const auto& all, size_t begin, size_t end) {
        return std::vector<Expr>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                 all.begin() + static_cast<std::ptrdiff_t>(end));
      };
      const Expr position = Flatten(slice(extents, part.to_begin, part.to_end), slice(at, part.to_begin, part.to_end));
      const Indices inner = Unflatten(slice(x->shape, part.from_begin, part.from_end), position);
      std::copy(inner.begin(), inner.end(), source.begin() + static_cast<std::ptrdiff_t>(part.from_begin));
    }
    return source;
  });
}

Buffer Slice(FunctionBuilder& f, const Buffer& x, const std::vector<SliceRange>& ranges) {
  std::vector<Expr> shape;
  for (const SliceRange& range : ranges) shape.push_back(range.extent);
  return Move(f, "slice", x, shape, [&](const Indices& at) {
    Indices source;
    for (size_t i = 0; i < at.size(); ++i) {
      const Expr step = Const(at[i].dtype(), ranges[i].step);
      source.push_back(Simple(ranges[i].start + at[i] * step));
    }
    return source;
  });
}

Buffer Concat(FunctionBuilder& f, const std::vector<Buffer>& parts, int axis) {
  const size_t a = static_cast<size_t>(axis);
  std::vector<Expr> shape = parts[0]->shape;
  std::vector<Expr> begins = {Expr(0)};
  for (const Buffer& part : parts) begins.push_back(Simple(begins.back() + part->shape[a]));
  shape[a] = begins.back();
  return f.Compute("concat", shape, [&](const std::vector<Var>& v) {
    Expr value;
    for (size_t p = parts.size(); p-- > 0;) {
      Indices at(v.begin(), v.end());
      if (p > 0) at[a] = at[a] - begins[p];
      const Expr element = parts[p].Load(at);
      value = value ? IfThenElse(v[a] < begins[p + 1], element, value) : element;
    }
    return value;
  });
}

Buffer Tile(FunctionBuilder& f, const Buffer& x, const std::vector<Expr>& times) {
  std::vector<Expr> shape;
  for (size_t i = 0; i < times.size(); ++i) shape.push_back(Simple(x->shape[i] * times[i]));
  return Move(f, "tile", x, shape, [&](const Indices& at) {
    Indices source;
    for (size_t i = 0; i < at.size(); ++i) {
      source.push_back(IsInt(times[i], 1) ? at[i] : FloorMod(at[i], x->shape[i]));
    }
    return source;
  });
}

Buffer PadAround(FunctionBuilder& f, const Buffer& x, const std::vector<Expr>& before, const std::vector<Expr>& after,
                 PadMode mode, const Expr& fill) {
  std::vector<Expr> shape;
  for (size_t i = 0; i < x->ndim(); ++i) shape.push_back(Simple(before[i] + x->shape[i] + after[i]));
  return f.Compute("pad", shape, [&](const std::vector<Var>& v) {
    Expr inside = True();
    Indices source;
    for (size_t i = 0; i < v.size(); ++i) {
      // Elements that negative pads take away are neither repeated nor mirrored.
      const Expr first = Dropped(before[i]);
      Expr at = Simple(v[i] - before[i] - first);
      const Expr extent = Simple(x->shape[i] - first - Dropped(after[i]));
      if (IsInt(before[i], 0) && IsInt(after[i], 0)) {
        source.push_back(v[i]);
        continue;
      }
      switch (mode) {
        case PadMode::kConstant:
          inside = And(inside, And(at >= Zero(at), at < extent));
          break;
        case PadMode::kEdge:
          at = Max(Min(at, extent - One(extent)), Zero(at));
          break;
        case PadMode::kWrap:
          at = FloorMod(at, extent);
          break;
        case PadMode::kReflect: {
          // A zigzag of period 2 (extent - 1); one element is repeated.
          const Expr last = extent - One(extent);
          const Expr period = Max(last * Const(last.dtype(), 2), One(last));
          const Expr phase = FloorMod(at, period);
          at = Min(phase, Max(period - phase, Zero(phase)));
          if (!AsInt(extent) || *AsInt(extent) <= 1) at = Min(at, last);
          break;
        }
      }
      source.push_back(Simple(at + first));
    }
    return mode == PadMode::kConstant ? IfThenElse(Simple(inside), x.Load(source), fill) : x.Load(source);
  });
}

Buffer Triangle(FunctionBuilder& f, const Buffer& x, const Expr& k, bool upper) {
  const DataType i64 = DataType::Int(64);
  return f.Compute("triangle", x->shape, [&](const std::vector<Var>& v) {
    const Expr distance = CastTo(i64, v[v.size() - 1]) - CastTo(i64, v[v.size() - 2]);
    return Select(upper ? distance >= k : distance <= k, x.Load({v.begin(), v.end()}), Const(x->dtype, 0));
  });
}

Buffer ReverseSequence(FunctionBuilder& f, const Buffer& x, const Buffer& lengths, int time, int batch) {
  return f.Compute("reverse_sequence", x->shape, [&](const std::vector<Var>& v) {
    Indices at(v.begin(), v.end());
    const Expr t = at[static_cast<size_t>(time)];
    // A length beyond the dimension, which the format does not allow, reverses all of it.
    const Expr extent = CastTo(t.dtype(), x->shape[static_cast<size_t>(time)]);
    const Expr length = Min(CastTo(t.dtype(), lengths(at[static_cast<size_t>(batch)])), extent);
    Indices mirrored = at;
    mirrored[static_cast<size_t>(time)] = length - One(t) - t;
    return IfThenElse(t < length, x.Load(mirrored), x.Load(at));
  });
}

Buffer DepthToSpace(FunctionBuilder& f, const Buffer& x, int64_t block, bool channels_first) {
  const std::vector<Expr>& in = x->shape;
  const Expr b = Expr(block), channels = Simple(FloorDiv(in[1], Expr(block * block)));
  return Move(f, "depth_to_space", x, {in[0], channels, Simple(in[2] * b), Simple(in[3] * b)}, [&](const Indices& at) {
    const Expr place = FloorMod(at[2], b) * b + FloorMod(at[3], b);
    const Expr channel = channels_first ? at[1] * Expr(block * block) + place : place * channels + at[1];
    return Indices{at[0], channel, FloorDiv(at[2], b), FloorDiv(at[3], b)};
  });
}

Buffer SpaceToDepth(FunctionBuilder& f, const Buffer& x, int64_t block) {
  const std::vector<Expr>& in = x->shape;
  const Expr b = Expr(block);
  const std::vector<Expr> shape = {in[0], Simple(in[1] * Expr(block * block)), Simple(FloorDiv(in[2], b)),
                                   Simple(FloorDiv(in[3], b))};
  return Move(f, "space_to_depth", x, shape, [&](const Indices& at) {
    const Expr place = FloorDiv(at[1], in[1]);
    return Indices{at[0], FloorMod(at[1], in[1]), at[2] * b + FloorDiv(place, b), at[3] * b + FloorMod(place, b)};
  });
}

}  // namespace tilewright::ops
