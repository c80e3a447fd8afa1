#include "schedule/fuzz/moves.h"

#include <algorithm>

#include "verify/regions/declared_regions.h"
#include "verify/threads/thread_launch.h"

namespace tilewright::fuzz {

const char kFuzzIntrinsics[] = R"(
@T.prim_func
def mac_2x2_desc(A: T.Buffer((2, 2), "float32"), B: T.Buffer((2, 2), "float32"), C: T.Buffer((2, 2), "float32")):
    with T.block("root"):
        T.reads(C[0:2, 0:2], A[0:2, 0:2], B[0:2, 0:2])
        T.writes(C[0:2, 0:2])
        for i, j, k in T.grid(2, 2, 2):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

@T.prim_func
def mac_2x2_impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, (2, 2), "float32", offset_factor=1, strides=[sa, 1])
    B = T.match_buffer(b, (2, 2), "float32", offset_factor=1, strides=[sb, 1])
    C = T.match_buffer(c, (2, 2), "float32", offset_factor=1, strides=[sc, 1])
    with T.block("root"):
        T.reads(C[0:2, 0:2], A[0:2, 0:2], B[0:2, 0:2])
        T.writes(C[0:2, 0:2])
        for k, i in T.grid(2, 2):
            for j in T.vectorized(2):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
)";

namespace {

constexpr const char* kScopes[] = {"local", "local", "global", "shared", "register"};
constexpr const char* kThreads[] = {"blockIdx.x",  "blockIdx.y",  "threadIdx.x", "threadIdx.x",
                                    "threadIdx.y", "threadIdx.z", "vthread.x"};

const char* AnyScope(Drawer& d) { return kScopes[d.Below(std::ssize(kScopes))]; }
Value Small(Drawer& d) { return d.Below(3) == 0 ? d.Below(3) : 0; }
Value Place(Drawer& d) { return d.Below(4) == 0 ? -2 : -1; }

bool Split(Drawer& d) {
  if (d.Below(3) == 0) return d.Try("split", {d.AnyLoop(), Value::List{d.Factor(), Value(), d.Factor()}});
  return d.Try("split", {d.AnyLoop(), Value::List{Value(), d.Factor()}});
}

bool SplitBySample(Drawer& d, const char* sampling, int n) {
  if (d.loops().empty()) return false;
  const Value loop = d.AnyLoop();
  const auto factors = d.schedule().Apply(sampling, {loop, n});
  if (!factors.ok()) return false;
  Value::List list;
  for (Rv factor : *factors) list.push_back(factor);
  return d.Try("split", {loop, list});
}

// Bound loops must be ones that can be launched: nobody would keep another schedule.
bool Bind(Drawer& d) {
  return d.AllOrNothing([&] {
    return d.Try("bind", {d.AnyLoop(), kThreads[d.Below(std::ssize(kThreads))]}) &&
           CheckThreadLaunch(d.schedule().module().Main(), nullptr).empty();
  });
}

// A copy into shared memory that the threads make together.
bool CooperativeFetch(Drawer& d) {
  return d.AllOrNothing([&] {
    const auto copy = d.schedule().Apply("cache_read", {d.block(), Small(d), "shared"});
    if (!copy.ok() || d.loops().empty()) return false;
    if (!d.Try("compute_at", {(*copy)[0], d.AnyLoop()})) return false;
    const auto loops = d.schedule().GetLoops((*copy)[0]);
    if (!loops.ok() || loops->empty()) return false;
    return d.Try("bind", {loops->back(), d.Coin() ? "threadIdx.x" : "threadIdx.y"}) &&
           CheckThreadLaunch(d.schedule().module().Main(), nullptr).empty();
  });
}

// A copy of what is read or written below a loop, as loops.
bool ExpandCopy(Drawer& d) {
  return d.AllOrNothing([&] {
    const Value scope = AnyScope(d);
    const auto copy = d.Coin() ? d.schedule().Apply("read_at", {d.AnyLoop(), d.block(), Small(d), scope})
                               : d.schedule().Apply("write_at", {d.AnyLoop(), d.block(), 0, scope});
    return copy.ok() && d.Try("expand_auto_copy", {(*copy)[0]});
  });
}

bool Merge(Drawer& d) {
  // Loops of two blocks at the same depth.
  const size_t depth = static_cast<size_t>(d.Below(3));
  if (depth >= std::min(d.loops().size(), d.other_loops().size())) return false;
  const Value a = Rv(d.loops()[depth]), b = Rv(d.other_loops()[depth]);
  return d.Try("merge", {Value(Value::List{a, b})}) || d.Try("merge", {Value(Value::List{b, a})});
}

// A producer in tiles of its consumer, which overlap; or in those that another producer rolls in already.
bool RollingBuffer(Drawer& d) {
  if (d.Try("rolling_buffer", {d.block(), 0})) return true;
  const bool joins = d.AllOrNothing(
      [&] { return d.Try("compute_at", {d.block(), d.OtherLoop()}) && d.Try("rolling_buffer", {d.block(), 0}); });
  if (joins) return true;
  return d.AllOrNothing([&] {
    if (d.other_loops().empty() || d.block() == d.other_block()) return false;
    const auto parts = d.schedule().Apply("split", {d.OtherLoop(), Value::List{Value(), 2 + d.Below(2)}});
    return parts.ok() && d.Try("compute_at", {d.block(), (*parts)[0]}) && d.Try("rolling_buffer", {d.block(), 0});
  });
}

bool ReorderIterators(Drawer& d) {
  Value::List order;
  for (int64_t i = 0; i < std::ssize(d.block_node().iter_vars); ++i) {
    order.insert(order.begin() + d.Below(std::ssize(order) + 1), i);
  }
  return d.Try("reorder_block_iter_var", {d.block(), order});
}

// Transforms the layout of a buffer that the caller does not see.
bool TransformLayout(Drawer& d) {
  const BlockNode& node = d.block_node();
  if (node.writes.empty()) return false;
  const Buffer buffer = node.writes[0].buffer;
  for (const Param& param : d.schedule().module().Main()->params) {
    if (param.buffer.same_as(buffer)) return false;
  }
  const Value pad = d.Coin() ? Value(0) : Value();
  return d.Try("transform_layout", {d.block(), Value::List{"write", 0}, d.AnyIndexMap(buffer->ndim()), pad});
}

bool PadEinsum(Drawer& d, const char* primitive) {
  Value::List padding;
  for (size_t i = 0; i < d.block_node().iter_vars.size(); ++i) padding.push_back(d.Factor());
  return d.Try(primitive, {d.block(), padding});
}

// Apart and together again, with what was done to the loops in between.
bool ComposeReduction(Drawer& d) {
  if (d.Try("compose_reduction", {d.other_block(), d.block()})) return true;
  return d.AllOrNothing([&] {
    // By a handle: the name changes.
    const auto update = d.schedule().GetBlock(d.block());
    const auto init = d.schedule().Apply("decompose_reduction", {d.block(), d.AnyLoop()});
    return init.ok() && d.Try("compose_reduction", {(*init)[0], Rv(*update)});
  });
}

// A reduction follows one that it reads, with an elementwise block between them perhaps: parts of a loop of each,
// behind the same outer loops.
bool RescaleReduction(Drawer& d, const char* primitive) {
  return d.AllOrNothing([&] {
    std::vector<Value> blocks = {d.block()};
    for (int64_t length = 1 + d.Below(2); length > 0; --length) {
      const auto producers = d.schedule().Apply("get_producers", {blocks.front()});
      if (!producers.ok() || producers->empty()) break;
      blocks.insert(blocks.begin(), Rv(d.Pick(*producers)));
    }
    if (blocks.size() < 2) return false;
    const Value by = d.Factor();
    Value::List shared;
    size_t place = 0;
    for (const Value& block : blocks) {
      const auto loops = d.schedule().Apply("get_loops", {block});
      if (!loops.ok() || loops->size() <= place) return false;
      if (shared.empty()) place = loops->size() - 1;
      const size_t which = shared.empty() ? place : place + static_cast<size_t>(d.Below(std::ssize(*loops) - place));
      const auto parts = d.schedule().Apply("split", {(*loops)[which], Value::List{Value(), by}});
      if (!parts.ok()) return false;
      Value::List order;
      for (size_t i = 0; i <= place; ++i) order.push_back(i < place ? (*loops)[i] : (*parts)[0]);
      if (which > place) order.push_back((*loops)[place]);
      if (order.size() > 1 && !d.schedule().Apply("reorder", {Value(order)}).ok()) return false;
      shared.push_back((*parts)[0]);
    }
    return d.Try(primitive, {Value(shared)});
  });
}

// The innermost loops of a product in tiles of 2 x 2 x 2.
bool Tensorize(Drawer& d) {
  if (d.Try("tensorize", {d.AnyLoop(), "mac_2x2"})) return true;
  return d.AllOrNothing([&] {
    const std::vector<LoopRv> loops = d.loops();
    if (loops.size() < 3) return false;
    Value::List outer, inner;
    for (size_t i = loops.size() - 3; i < loops.size(); ++i) {
      const auto parts = d.schedule().Apply("split", {loops[i], Value::List{Value(), 2}});
      if (!parts.ok()) return false;
      outer.push_back((*parts)[0]);
      inner.push_back((*parts)[1]);
    }
    Value::List order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    if (!d.schedule().Apply("reorder", {Value(order)}).ok()) return false;
    if (d.Below(8) == 0) return d.Try("blockize", {inner[0]});
    const auto init = d.schedule().Apply("decompose_reduction", {d.block(), outer.back()});
    return init.ok() && d.Try("tensorize", {inner[0], "mac_2x2"});
  });
}

bool Annotate(Drawer& d) {
  return d.Try("annotate", {d.Coin() ? d.AnyLoop() : Value(d.block()), d.Coin() ? "a" : "b", d.Below(3)});
}

// What is declared for nothing: hiding anything else is what the primitive's name warns of.
// By any pair of a spatial iterator and a reduction (-1: none) that takes it.
bool JoinWindows(Drawer& d) {
  if (d.Below(8) == 0) return d.Try("join_windows", {d.block(), d.Below(5), d.Below(6) - 1});
  const auto& iters = d.block_node().iter_vars;
  for (int64_t i = 0; i < std::ssize(iters); ++i) {
    for (int64_t r = -1; r < std::ssize(iters); ++r) {
      const bool fits = iters[static_cast<size_t>(i)].kind == IterKind::kSpatial &&
                        (r < 0 || iters[static_cast<size_t>(r)].kind == IterKind::kReduce);
      if (fits && d.Try("join_windows", {d.block(), i, r})) return true;
    }
  }
  return false;
}

// By any reduce iterator, or two.
bool GatherSums(Drawer& d) {
  if (d.Below(8) == 0) return d.Try("gather_sums", {d.block(), Value::List{Value(d.Below(6) - 1)}});
  Value::List window;
  const auto& iters = d.block_node().iter_vars;
  for (int64_t i = 0; i < std::ssize(iters); ++i) {
    if (iters[static_cast<size_t>(i)].kind == IterKind::kReduce && d.Coin()) window.push_back(Value(i));
  }
  return d.Try("gather_sums", {d.block(), Value(window)});
}

// By any pair of iterators, at a pitch that skips a value or two.
bool FuseWithGaps(Drawer& d) {
  const auto& iters = d.block_node().iter_vars;
  if (d.Below(8) == 0) return d.Try("fuse_with_gaps", {d.block(), d.Below(5), d.Below(5), d.Below(9), d.Coin()});
  for (int64_t i = 0; i < std::ssize(iters); ++i) {
    for (int64_t j = 0; j < std::ssize(iters); ++j) {
      const auto row = AsInt(iters[static_cast<size_t>(j)].domain.extent);
      if (i == j || !row || !AsInt(iters[static_cast<size_t>(i)].domain.extent)) continue;
      for (const bool run_in_gaps : {true, false}) {
        if (d.Try("fuse_with_gaps", {d.block(), i, j, *row + d.Below(3), run_in_gaps})) return true;
      }
    }
  }
  return false;
}

// At most four products, whose coefficients are powers of two: results stay exact.
bool Winograd(Drawer& d) {
  const auto& iters = d.block_node().iter_vars;
  const int64_t outputs = 2 + d.Below(2);
  if (d.Below(8) == 0) return d.Try("winograd", {d.block(), d.Below(5), d.Below(6), d.Below(2)});
  for (int64_t i = 0; i < std::ssize(iters); ++i) {
    for (int64_t r = 0; r < std::ssize(iters); ++r) {
      const auto window = AsInt(iters[static_cast<size_t>(r)].domain.extent);
      const bool fits = iters[static_cast<size_t>(i)].kind == IterKind::kSpatial && window && *window + outputs <= 5;
      if (fits && d.Try("winograd", {d.block(), i, r, outputs})) return true;
    }
  }
  return false;
}

// Flips the sign bit of what the block writes, else of a copy of something that it reads.
bool FlipSignBit(Drawer& d) {
  if (d.Try("flip_sign_bit", {d.block(), 0})) return true;
  return d.AllOrNothing([&] {
    const auto copy = d.schedule().Apply("cache_read", {d.block(), Small(d), "global"});
    return copy.ok() && d.Try("flip_sign_bit", {(*copy)[0], 0});
  });
}

bool HideBufferAccess(Drawer& d) {
  const std::vector<BufferRegion>& reads = d.block_node().reads;
  if (reads.empty()) return false;
  return d.AllOrNothing([&] {
    const bool write = d.Below(8) == 0;
    return d.Try("unsafe_hide_buffer_access",
                 {d.block(), write ? "write" : "read", Value::List{write ? 0 : d.Below(std::ssize(reads))}}) &&
           CheckDeclaredRegions(d.schedule().module().Main()).empty();
  });
}

bool ComputeLocation(Drawer& d) {
  const auto loop = d.schedule().Apply("sample_compute_location", {d.block()});
  return loop.ok() && d.Try("compute_at", {d.block(), (*loop)[0]});
}

constexpr Move kMoves[] = {
    {"split", Split},
    {"sample_perfect_tile", [](Drawer& d) { return SplitBySample(d, "sample_perfect_tile", 2); }},
    {"sample_imperfect_tile", [](Drawer& d) { return SplitBySample(d, "sample_imperfect_tile", 2); }},
    {"sample_partitioned_tile", [](Drawer& d) { return SplitBySample(d, "sample_partitioned_tile", 3); }},
    {"sample_compute_location", ComputeLocation},
    {"fuse", [](Drawer& d) { return d.Try("fuse", {Value(d.ConsecutiveLoops())}); }},
    {"reorder", [](Drawer& d) { return d.Try("reorder", {Value(d.ShuffledLoops())}); }},
    {"merge", Merge},
    {"loop_partition", [](Drawer& d) { return d.Try("loop_partition", {d.AnyLoop(), Value::List{d.Factor()}}); }},
    {"reorder_block_iter_var", ReorderIterators},
    {"add_unit_loop", [](Drawer& d) { return d.Try("add_unit_loop", {d.Coin() ? d.AnyLoop() : Value(d.block())}); }},
    {"parallel", [](Drawer& d) { return d.Try("parallel", {d.AnyLoop()}); }},
    {"vectorize", [](Drawer& d) { return d.Try("vectorize", {d.AnyLoop()}); }},
    {"unroll", [](Drawer& d) { return d.Try("unroll", {d.AnyLoop()}); }},
    {"bind", Bind},
    {"cache_read", [](Drawer& d) { return d.Try("cache_read", {d.block(), Small(d), AnyScope(d)}); }},
    {"cache_read", CooperativeFetch},
    {"cache_write", [](Drawer& d) { return d.Try("cache_write", {d.block(), Small(d), AnyScope(d)}); }},
    {"rolling_buffer", RollingBuffer, "stencil"},
    {"cache_inplace", [](Drawer& d) { return d.Try("cache_inplace", {d.block(), 0, "local"}); }, "padded"},
    {"cache_inplace", [](Drawer& d) { return d.Try("cache_inplace", {d.block(), d.Below(2), "local"}); }, "scan"},
    {"cache_index", [](Drawer& d) { return d.Try("cache_index", {d.block(), "global", d.Below(2)}); }},
    {"reindex_cache_read",
     [](Drawer& d) {
       return d.Try("reindex_cache_read",
                    {d.block(), Small(d), AnyScope(d), d.AnyIndexMap(d.block_node().iter_vars.size())});
     }},
    {"reindex_cache_write",
     [](Drawer& d) {
       return d.Try("reindex_cache_write", {d.block(), 0, AnyScope(d), d.AnyIndexMap(d.block_node().iter_vars.size())});
     }},
    {"read_at", [](Drawer& d) { return d.Try("read_at", {d.AnyLoop(), d.block(), Small(d), AnyScope(d)}); }},
    {"write_at", [](Drawer& d) { return d.Try("write_at", {d.AnyLoop(), d.block(), 0, AnyScope(d)}); }},
    {"expand_auto_copy", ExpandCopy},
    {"set_scope", [](Drawer& d) { return d.Try("set_scope", {d.block(), 0, AnyScope(d)}); }},
    {"compute_at", [](Drawer& d) { return d.Try("compute_at", {d.block(), d.OtherLoop(), d.Coin(), Place(d)}); }},
    {"reverse_compute_at",
     [](Drawer& d) { return d.Try("reverse_compute_at", {d.block(), d.OtherLoop(), d.Coin(), Place(d)}); }},
    {"compute_inline", [](Drawer& d) { return d.Try("compute_inline", {d.block()}); }},
    {"reverse_compute_inline", [](Drawer& d) { return d.Try("reverse_compute_inline", {d.block()}); }},
    {"fuse_reduction_epilogue",
     [](Drawer& d) {
       return d.Try("fuse_reduction_epilogue", {d.block(), d.other_block()}) ||
              d.Try("fuse_reduction_epilogue", {d.other_block(), d.block()});
     },
     "matmul with bias"},
    {"decompose_reduction", [](Drawer& d) { return d.Try("decompose_reduction", {d.block(), d.AnyLoop()}); }},
    {"compose_reduction", ComposeReduction, "batch matmul"},
    {"rfactor", [](Drawer& d) { return d.Try("rfactor", {d.AnyLoop(), d.Below(4) - 2}); }},
    {"widen_sum", [](Drawer& d) { return d.Try("widen_sum", {d.block(), Small(d), d.Coin() ? "float32" : "float64"}); },
     "halves"},
    {"rescale_reduction", [](Drawer& d) { return RescaleReduction(d, "rescale_reduction"); }, "cascades"},
    {"rescale_parts", [](Drawer& d) { return RescaleReduction(d, "rescale_parts"); }, "cascades"},
    {"hoist_factor", [](Drawer& d) { return d.Try("hoist_factor", {d.block(), d.Below(3)}); }, "cascades"},
    {"blockize", [](Drawer& d) { return d.Try("blockize", {d.AnyLoop(), d.Coin()}); }},
    {"tensorize", Tensorize, "matmul"},
    {"reindex",
     [](Drawer& d) {
       const Value kept = d.Coin() ? Value(Value::List{}) : Value(Value::List{Small(d)});
       return d.Try("reindex", {d.block(), Value::List{d.Coin() ? "read" : "write", Small(d)}, kept});
     }},
    {"transform_layout", TransformLayout},
    {"transform_block_layout",
     [](Drawer& d) {
       return d.Try("transform_block_layout", {d.block(), d.AnyIndexMap(d.block_node().iter_vars.size())});
     }},
    {"pad_einsum", [](Drawer& d) { return PadEinsum(d, "pad_einsum"); }},
    {"pad_einsum_in_place", [](Drawer& d) { return PadEinsum(d, "pad_einsum_in_place"); }, "matmul"},
    {"decompose_padding", [](Drawer& d) { return d.Try("decompose_padding", {d.block(), d.AnyLoop()}); }},
    {"cache_factors",
     [](Drawer& d) {
       const int64_t first = 0, third = 2;
       return d.Try("cache_factors", {d.block(), d.Coin() ? Value::List{first} : Value::List{first, third}});
     }},
    {"decompose_accumulation", [](Drawer& d) { return d.Try("decompose_accumulation", {d.block()}); }, "scan"},
    {"split_offset", [](Drawer& d) { return d.Try("split_offset", {d.block(), Small(d)}); }, "quantized matmul"},
    {"skip_zero_terms", [](Drawer& d) { return d.Try("skip_zero_terms", {d.block()}); }, "transposed conv"},
    {"join_windows", JoinWindows, "transposed conv"},
    {"gather_sums", GatherSums, "transposed conv"},
    {"fuse_with_gaps", FuseWithGaps, "rows with gaps"},
    {"winograd", Winograd, "conv2d"},
    {"storage_align", [](Drawer& d) { return d.Try("storage_align", {d.block(), 0, Small(d), d.Factor(), Small(d)}); }},
    {"set_layout", [](Drawer& d) { return d.Try("set_layout", {d.block(), 0, "swizzle_32B"}); }},
    {"flip_sign_bit", FlipSignBit, "quantized matmul"},
    {"widen_buffer",
     [](Drawer& d) {
       return d.Try("widen_buffer", {d.block(), 0, d.Coin() ? "float32" : d.Coin() ? "float64" : "int64"});
     }},
    // A wider type: no value changes.
    {"unsafe_set_dtype", [](Drawer& d) { return d.Try("unsafe_set_dtype", {d.block(), 0, "float64"}); }},
    {"annotate_buffer_access",
     [](Drawer& d) {
       return d.Try("annotate_buffer_access", {d.block(), 0, d.Coin() ? "read" : "write", d.WholeDimensions()});
     }},
    {"unsafe_hide_buffer_access", HideBufferAccess, "gather"},
    {"hoist_prepack",
     [](Drawer& d) {
       return d.Try("hoist_prepack", {d.block()}) || (d.Coin() && d.Try("hoist_prepack", {"B_packed"}));
     },
     "matmul with bias"},
    {"annotate", Annotate},
    {"unannotate",
     [](Drawer& d) { return Annotate(d) && d.Try("unannotate", {d.Coin() ? d.AnyLoop() : Value(d.block()), "a"}); }},
};

}  // namespace

std::span<const Move> Moves() { return kMoves; }

}  // namespace tilewright::fuzz
