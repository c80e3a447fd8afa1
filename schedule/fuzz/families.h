// The programs that the schedule fuzzer starts from: families of what is scheduled in practice, in sizes that run in a
// fraction of a millisecond and that tiles do not divide.
#pragma once

#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright::fuzz {

struct Family {
  std::string name;
  std::vector<Function> programs;
  // Values depend on the order of operations or on the accuracy of exp and the like; elsewhere small integers are
  // exact.
  bool rounds = false;
  // How often it is drawn where no primitive asks for it. Fewer schedules of some families are accepted.
  int weight = 3;
};

std::vector<Family> Families();

}  // namespace tilewright::fuzz
