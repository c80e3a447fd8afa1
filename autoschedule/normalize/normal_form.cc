#include "autoschedule/normalize/normal_form.h"

#include "autoschedule/normalize/inline_rule.h"
#include "autoschedule/normalize/join_phases.h"
#include "autoschedule/normalize/product_form.h"
#include "autoschedule/normalize/split_iterators.h"

namespace tilewright {

void BringIntoNormalForm(Schedule& sch, const std::string& function, const Target& target, Choices& choices) {
  InlineElementwise(sch, function);
  SplitIterators(sch, function);
  JoinPhases(sch, function, target, choices);
  FormProducts(sch, function, target);
}

}  // namespace tilewright
