#include "autoschedule/measure/reference/param_specs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/reference/reference_program.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {

absl::StatusOr<std::vector<TensorSpec>> ParamSpecs(const Function& main) {
  const std::vector<bool> written = WrittenParams(main);
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < main->params.size(); ++i) {
    const Buffer& buffer = main->params[i].buffer;
    if (!buffer) {
      return absl::UnimplementedError(absl::StrCat("parameter ", main->params[i].var.name(), " is a scalar"));
    }
    TensorSpec spec{.name = buffer->name,
                    .dtype = buffer->dtype,
                    .shape = {},
                    .written = written[i],
                    .constant = IsConstantParam(main, buffer)};
    for (const Expr& extent : buffer->shape) {
      const std::optional<int64_t> value = AsInt(extent);
      if (!value) return absl::UnimplementedError(absl::StrCat(buffer->name, " has a symbolic extent"));
      spec.shape.push_back(*value);
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace tilewright
