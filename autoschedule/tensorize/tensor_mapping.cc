#include "autoschedule/tensorize/tensor_mapping.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/math.h"
#include "ir/analysis.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// The block's access that stands for each buffer of the description.
struct Access {
  Buffer buffer;
  std::vector<Expr> indices;
};
using Assignment = std::map<const BufferNode*, Access>;

bool IsCommutative(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kMul || op == BinaryOp::kMin || op == BinaryOp::kMax;
}

// `assignment` with the access that stands for a buffer of the description, or nothing where it cannot be that one.
std::vector<Assignment> UnifyLoads(const LoadNode& program, const LoadNode& described, const Assignment& assignment) {
  if (program.predicate || described.predicate) return {};
  const auto known = assignment.find(described.buffer.get());
  if (known != assignment.end()) {
    const bool same =
        known->second.buffer.same_as(program.buffer) && StructuralEqual(known->second.indices, program.indices);
    return same ? std::vector{assignment} : std::vector<Assignment>();
  }
  // One buffer cannot be two operands: each gets a layout of its own.
  for (const auto& [buffer, access] : assignment) {
    if (access.buffer.same_as(program.buffer)) return {};
  }
  Assignment extended = assignment;
  extended[described.buffer.get()] = {program.buffer, program.indices};
  return {std::move(extended)};
}

// `assignment` extended by each way in which `program` is `described` up to the indices.
std::vector<Assignment> Unify(const Expr& program, const Expr& described, const Assignment& assignment) {
  if (program->kind() != described->kind() || program.dtype() != described.dtype()) return {};
  switch (described->kind()) {
    case Kind::kLoad:
      return UnifyLoads(*cast<LoadNode>(program), *cast<LoadNode>(described), assignment);
    case Kind::kBinary: {
      const auto *a = cast<BinaryNode>(program), *b = cast<BinaryNode>(described);
      if (a->op != b->op) return {};
      std::vector<Assignment> result;
      auto both = [&](const Expr& first, const Expr& second) {
        for (const Assignment& half : Unify(first, b->a, assignment)) {
          for (Assignment& whole : Unify(second, b->b, half)) result.push_back(std::move(whole));
        }
      };
      both(a->a, a->b);
      if (IsCommutative(a->op)) both(a->b, a->a);
      return result;
    }
    case Kind::kCast:
      return Unify(cast<CastNode>(program)->value, cast<CastNode>(described)->value, assignment);
    case Kind::kSelect: {
      const auto *a = cast<SelectNode>(program), *b = cast<SelectNode>(described);
      std::vector<Assignment> result;
      for (const Assignment& first : Unify(a->condition, b->condition, assignment)) {
        for (const Assignment& second : Unify(a->true_value, b->true_value, first)) {
          for (Assignment& third : Unify(a->false_value, b->false_value, second)) result.push_back(std::move(third));
        }
      }
      return result;
    }
    case Kind::kCall: {
      const auto *a = cast<CallNode>(program), *b = cast<CallNode>(described);
      if (a->op != b->op || a->args.size() != b->args.size()) return {};
      std::vector<Assignment> result = {assignment};
      for (size_t i = 0; i < a->args.size(); ++i) {
        std::vector<Assignment> next;
        for (const Assignment& before : result) {
          for (Assignment& after : Unify(a->args[i], b->args[i], before)) next.push_back(std::move(after));
        }
        result = std::move(next);
      }
      return result;
    }
    default:
      return StructuralEqual(program, described) ? std::vector{assignment} : std::vector<Assignment>();
  }
}

// Which of `accesses` an iterator indexes: its characteristic vector.
std::vector<bool> Character(const Var& iterator, const std::vector<const std::vector<Expr>*>& accesses) {
  std::vector<bool> character;
  for (const std::vector<Expr>* indices : accesses) {
    character.push_back(std::ranges::any_of(*indices, [&](const Expr& index) { return UsesVar(index, iterator); }));
  }
  return character;
}

// How many of `count` iterators each of `groups` intrinsic iterators of the same character takes, innermost ones
// first: all ways in which each takes at least one while there are any, and the leading rest stays outside.
std::vector<std::vector<int>> Shares(int count, size_t groups) {
  if (groups == 0) return {{}};
  std::vector<std::vector<int>> result;
  const int least = count > 0 ? 1 : 0;
  for (int last = least; last <= count; ++last) {
    for (std::vector<int>& before : Shares(count - last, groups - 1)) {
      before.push_back(last);
      result.push_back(std::move(before));
    }
  }
  return result;
}

class MappingFinder {
 public:
  MappingFinder(const BlockNode& block, const TensorIntrin& intrin, const BlockNode& described)
      : block_(block), intrin_(intrin), described_(described) {}

  // Adds the mappings under one assignment of operands.
  void Add(const Assignment& assignment, const StoreNode& store, std::vector<TensorMapping>& found) {
    // Accesses in the order of the description's parameters.
    std::vector<const std::vector<Expr>*> ours, theirs;
    std::map<const BufferNode*, const std::vector<Expr>*> described_indices;
    described_indices[store.buffer.get()] = &store.indices;
    PreOrder(store.value, [&](const Expr& e) {
      if (const auto* load = dyn_cast<LoadNode>(e)) described_indices[load->buffer.get()] = &load->indices;
      return true;
    });
    TensorMapping mapping;
    mapping.intrin = &intrin_;
    for (const Param& param : intrin_.description->params) {
      const auto access = assignment.find(param.buffer.get());
      if (access == assignment.end()) return;
      mapping.operands.push_back(access->second.buffer);
      ours.push_back(&access->second.indices);
      theirs.push_back(described_indices.at(param.buffer.get()));
    }

    std::map<std::vector<bool>, std::vector<int>> intrin_groups, block_groups;
    for (size_t i = 0; i < described_.iter_vars.size(); ++i) {
      intrin_groups[Character(described_.iter_vars[i].var, theirs)].push_back(static_cast<int>(i));
      mapping.tile.push_back(*AsInt(described_.iter_vars[i].domain.extent));
    }
    for (size_t i = 0; i < block_.iter_vars.size(); ++i) {
      block_groups[Character(block_.iter_vars[i].var, ours)].push_back(static_cast<int>(i));
    }
    mapping.fused.resize(described_.iter_vars.size());
    std::vector<TensorMapping> partial = {mapping};
    for (const auto& [character, intrin_iterators] : intrin_groups) {
      const std::vector<int>& iterators = block_groups[character];
      std::vector<TensorMapping> next;
      for (const TensorMapping& base : partial) {
        for (const std::vector<int>& shares : Shares(static_cast<int>(iterators.size()), intrin_iterators.size())) {
          TensorMapping extended = base;
          auto end = iterators.end();
          for (size_t g = shares.size(); g-- > 0;) {
            extended.fused[static_cast<size_t>(intrin_iterators[g])].assign(end - shares[g], end);
            end -= shares[g];
          }
          next.push_back(std::move(extended));
        }
      }
      partial = std::move(next);
    }
    for (TensorMapping& complete : partial) {
      Complete(complete);
      found.push_back(std::move(complete));
    }
  }

 private:
  void Complete(TensorMapping& mapping) const {
    std::vector<bool> inside(block_.iter_vars.size());
    double useful = 1;
    for (size_t i = 0; i < mapping.fused.size(); ++i) {
      int64_t extent = 1;
      for (int iterator : mapping.fused[i]) {
        inside[static_cast<size_t>(iterator)] = true;
        extent *= *AsInt(block_.iter_vars[static_cast<size_t>(iterator)].domain.extent);
      }
      const int64_t tiles = CeilDiv(extent, mapping.tile[i]);
      useful *= static_cast<double>(extent) / static_cast<double>(tiles * mapping.tile[i]);
    }
    for (size_t i = 0; i < inside.size(); ++i) {
      if (!inside[i]) mapping.outside.push_back(static_cast<int>(i));
    }
    mapping.padding_waste = 1 - useful;
  }

  const BlockNode& block_;
  const TensorIntrin& intrin_;
  const BlockNode& described_;
};

int FusedIterators(const TensorMapping& mapping) {
  int count = 0;
  for (const std::vector<int>& iterators : mapping.fused) count += static_cast<int>(iterators.size());
  return count;
}

std::vector<Buffer> BuffersOf(const StoreNode& store) {
  std::vector<Buffer> buffers = {store.buffer};
  PreOrder(store.value, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) buffers.push_back(load->buffer);
    return true;
  });
  return buffers;
}

// ": A is uint8, and A of the description int8", for the first buffers in order that have different types; texts of
// expressions do not show them.
std::string WhereTypesDiffer(const StoreNode& store, const StoreNode& described) {
  const std::vector<Buffer> own = BuffersOf(store), others = BuffersOf(described);
  if (own.size() != others.size()) return "";
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i]->dtype == others[i]->dtype) continue;
    return absl::StrCat(": ", own[i]->name, " is ", own[i]->dtype.ToString(), ", and ", others[i]->name,
                        " of the description ", others[i]->dtype.ToString());
  }
  return "";
}

}  // namespace

const BlockNode* DescribedBlock(const TensorIntrin& intrin) {
  const BlockNode* described = nullptr;
  int blocks = 0;
  PreOrder(intrin.description->body, [&](const Stmt& s) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      described = realize->block.get();
      ++blocks;
    }
    return true;
  });
  return blocks == 2 && isa<StoreNode>(described->body) ? described : nullptr;
}

bool LessWaste(const TensorMapping& a, const TensorMapping& b) {
  return std::tuple(a.padding_waste, FusedIterators(a), a.fused) <
         std::tuple(b.padding_waste, FusedIterators(b), b.fused);
}

TensorMappings FindTensorMappings(const BlockNode& block, const TensorIntrin& intrin) {
  TensorMappings result;
  auto refuse = [&](std::string why) {
    result.refusal = std::move(why);
    return result;
  };
  const BlockNode* described = DescribedBlock(intrin);
  if (described == nullptr) return refuse("its description is not one block with one store");
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr) return refuse(absl::StrCat("the body of ", block.name, " is not a single store"));
  for (const IterVar& iter : block.iter_vars) {
    if (!AsInt(iter.domain.extent) || AsInt(iter.domain.min) != 0) {
      return refuse(absl::StrCat("the domain of ", iter.var.name(), " is not constant from 0 on"));
    }
  }
  const auto* described_store = cast<StoreNode>(described->body);
  Assignment output;
  output[described_store->buffer.get()] = {store->buffer, store->indices};
  const std::vector<Assignment> assignments = Unify(store->value, described_store->value, output);
  if (assignments.empty()) {
    return refuse(absl::StrCat(Print(store->value), " is not of the form ", Print(described_store->value),
                               WhereTypesDiffer(*store, *described_store)));
  }
  MappingFinder finder(block, intrin, *described);
  for (const Assignment& assignment : assignments) finder.Add(assignment, *described_store, result.found);
  if (result.found.empty()) return refuse("a parameter of its description is not used");
  std::ranges::sort(result.found, LessWaste);
  return result;
}

std::string ToString(const TensorMapping& mapping, const BlockNode& block) {
  const BlockNode& described = *DescribedBlock(*mapping.intrin);
  std::vector<std::string> parts;
  for (size_t i = 0; i < mapping.fused.size(); ++i) {
    std::vector<std::string> names;
    for (int iterator : mapping.fused[i]) names.push_back(block.iter_vars[static_cast<size_t>(iterator)].var.name());
    parts.push_back(absl::StrCat(described.iter_vars[i].var.name(), " = ",
                                 names.empty() ? std::string("0") : absl::StrJoin(names, ", ")));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace tilewright
