// Binding the threads that a library starts for itself and gives no handle to.
#pragma once

#include <vector>

namespace tilewright::bench {

// The threads that this process has now.
//
//   const OwnThreads before;
//   ... the library starts its threads ...
//   before.BindNewOnes({1, 2, 3});
class OwnThreads {
 public:
  OwnThreads();

  // Binds every thread that was not there, in the order of their start, to the next of `cpus`, beginning again after
  // the last; does nothing when there are none.
  void BindNewOnes(const std::vector<int>& cpus) const;

 private:
  const std::vector<int> ids_;  // Ascending.
};

}  // namespace tilewright::bench
