#include "autoschedule/measure/reference/param_specs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/reference/input_ranges.h"
#include "autoschedule/measure/reference/reference_program.h"
#include "ir/strided_array.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {

absl::StatusOr<std::vector<TensorSpec>> ParamSpecs(const Function& main) {
  const std::vector<bool> written = WrittenParams(main);
  const std::vector<std::optional<InputRange>> ranges = InputRanges(main);
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < main->params.size(); ++i) {
    const Buffer& buffer = main->params[i].buffer;
    if (!buffer) {
      const Var& var = main->params[i].var;
      if (var.dtype().is_handle()) {
        return absl::UnimplementedError(absl::StrCat("parameter ", var.name(), " is a pointer without a buffer"));
      }
      specs.push_back({.name = var.name(), .dtype = var.dtype(), .shape = {}, .range = ranges[i]});
      continue;
    }
    TensorSpec spec{.name = buffer->name,
                    .dtype = buffer->dtype,
                    .shape = {},
                    .written = written[i],
                    .constant = IsConstantParam(main, buffer),
                    .range = ranges[i]};
    for (const Expr& extent : buffer->shape) {
      const std::optional<int64_t> value = AsInt(extent);
      if (!value) return absl::UnimplementedError(absl::StrCat(buffer->name, " has a symbolic extent"));
      spec.shape.push_back(*value);
    }
    spec.strides = StridesWithGaps(buffer, spec.shape);
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace tilewright
