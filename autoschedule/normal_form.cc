#include "autoschedule/normal_form.h"

#include "autoschedule/inline_rule.h"
#include "autoschedule/join_phases.h"
#include "autoschedule/product_form.h"
#include "autoschedule/split_iterators.h"

namespace tilewright {

void BringIntoNormalForm(Schedule& sch, const std::string& function, const Target& target) {
  InlineElementwise(sch, function);
  SplitIterators(sch, function);
  JoinPhases(sch, function, target);
  FormProducts(sch, function, target);
}

}  // namespace tilewright
