#include "graph/fuzz/damage.h"

namespace tilewright::graph {

std::string Damaged(std::string bytes, std::mt19937_64& random) {
  const auto at = [&] { return bytes.empty() ? 0 : random() % bytes.size(); };
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes && !bytes.empty(); ++i) {
    switch (random() % 6) {
      case 0:
        bytes[at()] = static_cast<char>(random());
        break;
      case 1:
        bytes[at()] ^= static_cast<char>(1u << (random() % 8));
        break;
      case 2:
        bytes.erase(at(), 1 + random() % 8);
        break;
      case 3:
        bytes.insert(at(), bytes.substr(at(), random() % 32));
        break;
      case 4:
        bytes.insert(at(), 9, '\xff');  // the longest number
        break;
      default:
        bytes.resize(at());
    }
  }
  return bytes;
}

}  // namespace tilewright::graph
