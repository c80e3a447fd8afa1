#include "schedule/blocks/annotate.h"

#include <string>
#include <utility>

#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

const Annotations& AnnotationsOf(const Stmt& stmt) {
  if (const auto* loop = dyn_cast<ForNode>(stmt)) return loop->annotations;
  return cast<BlockRealizeNode>(stmt)->block->annotations;
}

Function WithAnnotations(const Function& function, const Stmt& stmt, Annotations annotations) {
  Stmt replacement;
  if (const auto* loop = dyn_cast<ForNode>(stmt)) {
    ForNode::Fields fields = loop->fields();
    fields.annotations = std::move(annotations);
    replacement = For(std::move(fields));
  } else {
    const auto* realize = cast<BlockRealizeNode>(stmt);
    BlockNode::Fields fields = realize->block->fields();
    fields.annotations = std::move(annotations);
    replacement = Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  }
  return ReplaceIn(function, stmt.get(), replacement, function->next_id);
}

}  // namespace

Outcome<Function> Annotate(const Function& function, uint32_t id, std::string_view key, Annotation value) {
  const Path path = FindPath(function, id);
  if (path.empty()) return Refusal{"annotate", "the loop or block no longer exists", {id}};
  Annotations annotations = AnnotationsOf(path.back());
  if (!annotations.emplace(key, std::move(value)).second) return function;
  return WithAnnotations(function, path.back(), std::move(annotations));
}

Outcome<Function> Unannotate(const Function& function, uint32_t id, std::string_view key) {
  const Path path = FindPath(function, id);
  if (path.empty()) return Refusal{"unannotate", "the loop or block no longer exists", {id}};
  Annotations annotations = AnnotationsOf(path.back());
  if (annotations.erase(std::string(key)) == 0) {
    return Refusal{"unannotate", "{object0} has no annotation {text0}", {id}, {}, {std::string(key)}};
  }
  return WithAnnotations(function, path.back(), std::move(annotations));
}

}  // namespace tilewright
