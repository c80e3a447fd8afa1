#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "intrin/registry.h"
#include "schedule/blocks/annotate.h"
#include "schedule/blocks/blockize.h"
#include "schedule/blocks/tensorize.h"
#include "schedule/recorder/primitive_lists.h"

namespace tilewright {
namespace {

Annotation ToAnnotation(const Value& value) {
  if (const auto* boolean = value.As<bool>()) return {*boolean ? True() : False()};
  if (const auto* integer = value.As<int64_t>()) return {Expr(*integer)};
  if (const auto* real = value.As<double>()) return {ConstFloat(DataType::Float(64), *real)};
  if (const auto* text = value.As<std::string>()) return {String(*text)};
  if (const auto* list = value.As<Value::List>()) {
    Annotation::List entries;
    for (const Value& entry : *list) entries.push_back(ToAnnotation(entry));
    return {std::move(entries)};
  }
  Annotation::Dict entries;
  for (const auto& [key, entry] : *value.As<Value::Dict>()) entries[key] = ToAnnotation(entry);
  return {std::move(entries)};
}

// "; did you mean dot_16x4_vnni?"; where no name is near, how all families are spelt.
std::string KnownBeside(const std::string& name, const IntrinRegistry* intrins) {
  if (intrins == nullptr) return "";
  std::vector<std::string> names = intrins->names(), prefixes;
  for (const IntrinFamily& family : intrins->families()) {
    names.insert(names.end(), family.examples.begin(), family.examples.end());
    prefixes.push_back(family.prefix);
  }
  const std::string near = DidYouMean(name, names);
  if (!near.empty() || prefixes.empty()) return near;
  std::ranges::sort(prefixes);
  prefixes.erase(std::ranges::unique(prefixes).begin(), prefixes.end());
  std::string all;
  for (const std::string& prefix : prefixes) all += (all.empty() ? "; names of families begin with " : ", ") + prefix;
  return all;
}

Outcome<Applied> ApplyTensorize(Application& call) {
  const TensorIntrin* intrin = call.intrins() == nullptr ? nullptr : call.intrins()->Find(call.String(1));
  if (intrin == nullptr) {
    return Refusal{"tensorize",
                   "there is no intrinsic {text0}{text1}",
                   {call.Id(0)},
                   {},
                   {call.String(1), KnownBeside(call.String(1), call.intrins())}};
  }
  TW_ASSIGN_OR_RETURN(TensorizeResult result, Tensorize(call.function(), call.Id(0), *intrin, call.Bool(2)));
  return call.Changed(result.function);
}

}  // namespace

std::vector<Primitive> BlockPrimitives() {
  using Role = Primitive::Role;
  return {
      {"blockize",
       "A loop with all that is in it becomes a block; so do neighboring blocks.",
       {{"target", ArgKind::kTarget}, {"preserve_unit_iters", ArgKind::kBool, true}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         const bool blocks = call.arg(0).As<Value::List>() != nullptr;
         if (call.arg(0).As<BlockRef>()) return Refusal{"blockize", "{block0} alone is a block already", {call.Id(0)}};
         TW_ASSIGN_OR_RETURN(BlockizeResult result, blocks ? Blockize(call.function(), call.Ids(0), call.Bool(1))
                                                           : Blockize(call.function(), call.Id(0), call.Bool(1)));
         return call.WithBlock(result.function, result.block);
       }},
      {"tensorize",
       "A block, or a loop, that computes what an intrinsic describes becomes the intrinsic.",
       {{"block_or_loop", ArgKind::kLoopOrBlock},
        {"tensor_intrin", ArgKind::kString},
        {"preserve_unit_iters", ArgKind::kBool, true}},
       ResultKind::kNone,
       Role::kTransform,
       ApplyTensorize},
      {"annotate",
       "A loop or block gets an annotation.",
       {{"block_or_loop", ArgKind::kLoopOrBlock}, {"ann_key", ArgKind::kString}, {"ann_val", ArgKind::kAnnotation}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) {
         return Changed(call, Annotate(call.function(), call.Id(0), call.String(1), ToAnnotation(call.arg(2))));
       }},
      {"unannotate",
       "A loop or block loses an annotation.",
       {{"block_or_loop", ArgKind::kLoopOrBlock}, {"ann_key", ArgKind::kString}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, Unannotate(call.function(), call.Id(0), call.String(1))); }},
      {"enter_postproc",
       "Marks where the steps begin that every schedule of its kind takes at the end.",
       {},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> { return call.Changed(call.function()); }},
  };
}

}  // namespace tilewright
