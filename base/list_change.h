// What became another between two lists that are nearly the same: all but their common beginning and end.
//
//   before   a b c d e     ListChange::Between(before, after, same) = {.begin = 1, .end_before = 3, .end_after = 4}
//   after    a x y z d e
#pragma once

#include <algorithm>
#include <cstddef>

namespace tilewright {

struct ListChange {
  size_t begin = 0;                      // where the first change is
  size_t end_before = 0, end_after = 0;  // behind the last change

  template <class List, class Same>
  static ListChange Between(const List& before, const List& after, const Same& same) {
    const size_t shorter = std::min(before.size(), after.size());
    ListChange change;
    while (change.begin < shorter && same(before[change.begin], after[change.begin])) ++change.begin;
    size_t behind = 0;
    while (behind < shorter - change.begin &&
           same(before[before.size() - 1 - behind], after[after.size() - 1 - behind])) {
      ++behind;
    }
    change.end_before = before.size() - behind;
    change.end_after = after.size() - behind;
    return change;
  }
};

}  // namespace tilewright
