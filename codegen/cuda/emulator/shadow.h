// The histories of a range of memory. A cell covers 16 bytes; where accesses are narrower it is split into words of 4
// bytes, those into bytes, each with a history of its own. Cells are made when they are first touched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clocks/history.h"

namespace tilewright::emulator {

class Shadow {
 public:
  // `written`: the memory holds values from the start.
  Shadow(size_t bytes, bool written) : written_(written), pages_((bytes + kPageBytes - 1) / kPageBytes) {}

  // Records an access of [offset, offset + bytes) in every cell that it touches; returns the number of cells. The first
  // finding and where it is are left in `finding` and `at`, both untouched if there is none.
  size_t Access(size_t offset, size_t bytes, bool write, const clocks::Access& access, clocks::Finding& finding,
                size_t& at) {
    size_t cells = 0;
    for (const size_t end = offset + bytes; offset < end; ++cells) {
      const size_t stop = std::min(end, (offset / 16 + 1) * 16);
      Cell& cell = At(offset);
      const clocks::Finding found = stop - offset == 16 && cell.parts == nullptr
                                        ? Touch(cell.history, write, access)
                                        : AccessParts(cell, offset % 16, stop - offset, write, access);
      if (found && !finding) {
        finding = found;
        at = offset;
      }
      offset = stop;
    }
    return cells;
  }

 private:
  using History = clocks::History;
  struct Word {
    History history;
    std::unique_ptr<History[]> bytes;  // 4, where the word is split
  };
  struct Cell {
    History history;
    std::unique_ptr<Word[]> parts;  // 4, where the cell is split
  };
  static constexpr size_t kPageBytes = 2048;
  struct Page {
    Cell cells[kPageBytes / 16];
  };

  static clocks::Finding Touch(History& history, bool write, const clocks::Access& access) {
    return write ? history.Write(access) : history.Read(access);
  }
  Cell& At(size_t offset) {
    std::unique_ptr<Page>& page = pages_[offset / kPageBytes];
    if (page == nullptr) page = MakePage();
    return page->cells[offset % kPageBytes / 16];
  }
  std::unique_ptr<Page> MakePage() const;
  static clocks::Finding AccessParts(Cell& cell, size_t begin, size_t bytes, bool write, const clocks::Access& access);

  bool written_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace tilewright::emulator
