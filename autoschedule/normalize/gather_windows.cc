#include "autoschedule/normalize/gather_windows.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/program/attempt.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/program/sizes.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/functor.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

// What a sum moves in each form, in elements.
struct Moved {
  double copies = 0;  // of the image, for a product of matrices; and outputs that it stores one by one
  double sums = 0;    // that are stored, then loaded
};

// A block whose image is read along the columns, through windows.
struct Windows {
  std::vector<Value> iterators;  // of the window, positions
  Buffer image;
  Expr other;  // the factor that they do not move along
  Moved moved;
};

// The only element of an expression, perhaps converted or chosen.
const LoadNode* OnlyLoad(const Expr& e) {
  const LoadNode* found = nullptr;
  size_t count = 0;
  PreOrder(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    if (load == nullptr) return true;
    found = load;
    ++count;
    return true;
  });
  return count == 1 ? found : nullptr;
}

bool Uses(const std::vector<Expr>& indices, const Var& var) {
  return std::ranges::any_of(indices, [&](const Expr& index) { return UsesVar(index, var); });
}

// Whether an iterator, one of the image alone, moves along this dimension.
bool IsMoved(const BlockNode& block, const Expr& index, const Expr& other) {
  return std::ranges::any_of(block.iter_vars, [&](const IterVar& iter) {
    return iter.kind == IterKind::kSpatial && UsesVar(index, iter.var) && !UsesVar(other, iter.var);
  });
}

// Whether neighbours along the columns are stored apart, as phases are.
bool AreStoredApart(const StoreNode& store, const Var& column) {
  arith::Analyzer analyzer;
  const auto linear = arith::DetectLinear(store.indices.back(), {column}, &analyzer);
  return !linear || !IsInt(linear->coefficients[0], 1);
}

Moved CountMoved(const BlockNode& block, const LoadNode& image, const Expr& other, const std::vector<bool>& in_window,
                 bool stored_apart, const LikelySizes& sizes) {
  double copies = 1, window = 1, stored = 1, loaded = 1;
  std::vector<Expr> kept;  // indices that the window does not move, which the sums have too
  for (size_t d = 0; d < image.indices.size(); ++d) {
    bool place = false;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      place |= in_window[i] && UsesVar(image.indices[d], block.iter_vars[i].var);
    }
    if (place) {
      stored *= static_cast<double>(sizes.Likely(image.buffer->shape[d]));
    } else {
      kept.push_back(image.indices[d]);
    }
  }
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    const auto extent = static_cast<double>(sizes.Likely(iter.domain.extent));
    const bool spatial = iter.kind == IterKind::kSpatial;
    if (!spatial || Uses(image.indices, iter.var)) copies *= extent;
    if (in_window[i]) window *= extent;
    if (spatial) loaded *= extent;
    if ((spatial || in_window[i]) && (UsesVar(other, iter.var) || Uses(kept, iter.var))) stored *= extent;
  }
  return {copies + (stored_apart ? loaded : 0), stored + loaded * window};
}

std::optional<Windows> WindowsOf(const Schedule& sch, BlockRv block) {
  const Block kept = RealizeOf(sch, block).block;
  const std::optional<SumForm> sum = AsSum(*kept);
  if (!sum || !kept->init || sum->store->indices.empty()) return std::nullopt;
  const std::vector<Expr> factors = FactorsOf(sum->term);
  if (factors.size() != 2) return std::nullopt;
  const Var column = LastColumn(*kept, *sum->store, factors);
  if (!column) return std::nullopt;
  const size_t moving = UsesVar(factors[0], column) ? 0 : 1;
  const LoadNode* image = OnlyLoad(factors[moving]);
  const Expr& other = factors[1 - moving];
  if (image == nullptr) return std::nullopt;
  Windows windows;
  std::vector<bool> in_window(kept->iter_vars.size(), false);
  for (const Expr& index : image->indices) {
    if (!IsMoved(*kept, index, other)) continue;
    for (size_t i = 0; i < in_window.size(); ++i) {
      const IterVar& iter = kept->iter_vars[i];
      in_window[i] = in_window[i] || (iter.kind == IterKind::kReduce && UsesVar(index, iter.var));
    }
  }
  for (size_t i = 0; i < in_window.size(); ++i) {
    if (in_window[i]) windows.iterators.push_back(Value(static_cast<int64_t>(i)));
  }
  if (windows.iterators.empty()) return std::nullopt;
  windows.image = image->buffer;
  windows.other = other;
  windows.moved = CountMoved(*kept, *image, other, in_window, AreStoredApart(*sum->store, column),
                             LikelySizes::Of(FunctionOf(sch, block)));
  return windows;
}

// The element of the image that a product of the sums reads: sums are stored at its places last.
const LoadNode* ImageOf(const BlockNode& sums) {
  const auto last = std::ranges::find_if(sums.iter_vars | std::views::reverse,
                                         [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; });
  const LoadNode* found = nullptr;
  PreOrderExprs(sums.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    const bool own = load != nullptr && load->buffer.same_as(sums.writes[0].buffer);
    if (load != nullptr && !own && Uses(load->indices, last->var)) found = load;
    return true;
  });
  return found;
}

// Makes what decides about the other factor alone one iterator, and one dimension of the sums: the rows of a product of
// matrices. Whether it did.
bool FuseRows(Schedule& sch, BlockRv sums) {
  const Block kept = RealizeOf(sch, sums).block;
  const LoadNode* image = ImageOf(*kept);
  if (image == nullptr) return false;
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  std::optional<size_t> rows;  // the position of the fused one
  size_t dims = 0;
  for (const IterVar& iter : kept->iter_vars) {
    const Var input("i" + std::to_string(inputs.size()));
    inputs.push_back(input);
    dims += iter.kind == IterKind::kSpatial ? 1 : 0;
    const bool is_row = iter.kind == IterKind::kSpatial && !Uses(image->indices, iter.var);
    if (!is_row) {
      outputs.push_back(input);
    } else if (!rows) {
      rows = outputs.size();
      outputs.push_back(input);
    } else {
      const std::optional<int64_t> extent = ExtentOf(iter);
      if (!extent) return false;
      outputs[*rows] = outputs[*rows] * static_cast<int>(*extent) + input;
    }
  }
  if (outputs.size() == inputs.size()) return true;
  const size_t summed = inputs.size() - dims;
  const IndexMap of_buffer({inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(dims)},
                           {outputs.begin(), outputs.end() - static_cast<std::ptrdiff_t>(summed)});
  return sch.TransformLayout(sums, Value(Value::List{Value("write"), Value(0)}), of_buffer).ok() &&
         sch.TransformBlockLayout(sums, IndexMap(std::move(inputs), std::move(outputs))).ok();
}

// Lets the block read what the image is padded from. Whether it did.
bool InlineImage(Schedule& sch, BlockRv block, const Buffer& image) {
  const Outcome<std::vector<BlockRv>> producers = sch.GetProducers(block);
  if (!producers.ok()) return false;
  const auto writer = std::ranges::find_if(*producers, [&](const BlockRv& producer) {
    return RealizeOf(sch, producer).block->writes[0].buffer.same_as(image);
  });
  return writer != producers->end() && sch.ComputeInline(*writer).ok();
}

// Whether the sums are stored at places of the image, and not of the other factor.
bool AreOfImage(const Schedule& sch, BlockRv sums, const Windows& windows) {
  const LoadNode* image = ImageOf(*RealizeOf(sch, sums).block);
  return image != nullptr && !Reads(windows.other, image->buffer);
}

// Whether it did; a refusal leaves the steps before it. The border of an image is a condition of what is gathered.
bool Gather(Schedule& sch, BlockRv block, const Windows& windows) {
  const auto gather = [&](Schedule& s) {
    const Outcome<BlockRv> sums = s.GatherSums(block, windows.iterators);
    return sums.ok() && AreOfImage(s, *sums, windows) && FuseRows(s, *sums);
  };
  return Attempt(sch, [&](Schedule& s) { return InlineImage(s, block, windows.image) && gather(s); }) || gather(sch);
}

void GatherWindowsOf(Schedule& sch, BlockRv block, Choices& choices) {
  const std::optional<Windows> windows = WindowsOf(sch, block);
  if (!windows) return;
  const std::string name = RealizeOf(sch, block).block->name;
  Schedule gathered = sch;
  if (!Gather(gathered, block, *windows)) return;
  const bool pays = windows->moved.sums <= windows->moved.copies;
  Attempt(sch, choices, [&](Schedule& attempt, Choices& picked) {
    const Outcome<Choices::Pick> pick =
        picked.Take(attempt, name + ".window", {0, 1}, pays ? 1 : 0, {{"copied"}, {"gathered"}});
    return pick.ok() && (pick->value == 0 || Gather(attempt, block, *windows));
  });
}

}  // namespace

void GatherWindows(Schedule& sch, const std::string& function, const Target& target, Choices& choices) {
  if (target.is_gpu()) return;
  for (const BlockRv& block : BlocksInRoot(sch, function)) GatherWindowsOf(sch, block, choices);
}

}  // namespace tilewright
