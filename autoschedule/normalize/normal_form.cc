#include "autoschedule/normalize/normal_form.h"

#include "autoschedule/normalize/gather_windows.h"
#include "autoschedule/normalize/inline_rule.h"
#include "autoschedule/normalize/join_phases.h"
#include "autoschedule/normalize/product_form.h"
#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/normalize/widen_sums.h"

namespace tilewright {

void BringIntoNormalForm(Schedule& sch, const std::string& function, const Target& target, Choices& choices) {
  const bool keeps_unpackers = !target.is_gpu();
  InlineElementwise(sch, function, keeps_unpackers);
  SplitIterators(sch, function);
  JoinPhases(sch, function, target, choices);
  GatherWindows(sch, function, target, choices);
  // The blocks that round are elementwise, and so are those that convert operands.
  if (WidenSums(sch, function, target)) InlineElementwise(sch, function, keeps_unpackers);
  if (FormProducts(sch, function, target)) InlineElementwise(sch, function, keeps_unpackers);
}

}  // namespace tilewright
