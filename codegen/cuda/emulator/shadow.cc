#include "codegen/cuda/emulator/shadow.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/clocks/history.h"

namespace tilewright::emulator {

std::unique_ptr<Shadow::Page> Shadow::MakePage() const {
  auto page = std::make_unique<Page>();
  if (written_) {
    for (Cell& cell : page->cells) cell.history.SetWritten();
  }
  return page;
}

clocks::Finding Shadow::AccessParts(Cell& cell, size_t begin, size_t bytes, bool write, const clocks::Access& access) {
  if (cell.parts == nullptr) {
    cell.parts = std::make_unique<Word[]>(4);
    for (int i = 0; i < 4; ++i) cell.parts[i].history = cell.history;
  }
  clocks::Finding first;
  const auto keep = [&](const clocks::Finding& found) {
    if (found && !first) first = found;
  };
  const size_t end = begin + bytes;
  for (size_t at = begin; at < end;) {
    Word& word = cell.parts[at / 4];
    const size_t stop = std::min(end, (at / 4 + 1) * 4);
    if (stop - at == 4 && word.bytes == nullptr) {
      keep(Touch(word.history, write, access));
    } else {
      if (word.bytes == nullptr) {
        word.bytes = std::make_unique<History[]>(4);
        for (int i = 0; i < 4; ++i) word.bytes[i] = word.history;
      }
      for (size_t i = at; i < stop; ++i) keep(Touch(word.bytes[i % 4], write, access));
      if (write && stop - at == 4) {  // one history again
        word.history = word.bytes[0];
        word.bytes.reset();
      }
    }
    at = stop;
  }
  if (write && bytes == 16) {
    cell.history = cell.parts[0].history;
    cell.parts.reset();
  }
  return first;
}

}  // namespace tilewright::emulator
