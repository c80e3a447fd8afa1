#include "graph/fusion/canonical_program.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

std::string NameOf(const Param& param) { return param.buffer ? param.buffer->name : param.var.name(); }

}  // namespace

PrimFunc CanonicalProgram(const PrimFunc& program) {
  FunctionNode::Fields fields = program->fields();
  fields.name = kKernelMain;
  fields.is_private = false;
  std::set<std::string> names;
  for (const Param& param : fields.params) names.insert(NameOf(param));
  if (names.size() == fields.params.size()) return PrimFunc(std::move(fields));
  VarMap scalars;
  std::set<std::string> seen;
  const auto fresh_name = [&](const std::string& name) {
    if (seen.insert(name).second) return name;
    for (int i = 1;; ++i) {
      if (const std::string fresh = absl::StrCat(name, "_", i); names.insert(fresh).second) return fresh;
    }
  };
  std::vector<std::string> fresh;
  for (Param& param : fields.params) {
    fresh.push_back(fresh_name(NameOf(param)));
    if (param.buffer || fresh.back() == param.var.name()) continue;
    const Var scalar(fresh.back(), param.var.dtype());
    scalars.emplace(param.var, scalar);
    param.var = scalar;
  }
  // Extents may be those scalars.
  BufferMap buffers;
  for (size_t i = 0; i < fields.params.size(); ++i) {
    Buffer& buffer = fields.params[i].buffer;
    if (!buffer) continue;
    BufferNode::Fields renamed = buffer->fields();
    bool changes = renamed.name != fresh[i];
    renamed.name = fresh[i];
    for (Expr& extent : renamed.shape) {
      const Expr substituted = Substitute(extent, scalars);
      changes |= !substituted.same_as(extent);
      extent = substituted;
    }
    if (changes) buffer = buffers.emplace(buffer, Buffer(std::move(renamed))).first->second;
  }
  fields.body = Substitute(fields.body, scalars, buffers);
  return PrimFunc(std::move(fields));
}

}  // namespace tilewright::graph
