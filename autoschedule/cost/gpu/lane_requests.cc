#include "autoschedule/cost/gpu/lane_requests.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright {
namespace {

constexpr std::string_view kAxes[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};

// The pieces of the loops around a place that are bound to a tag, innermost first.
std::vector<int> PiecesOf(const ProgramFacts& facts, int place, std::string_view tag) {
  std::vector<int> pieces;
  for (int l = place; l >= 0; l = facts.loops[static_cast<size_t>(l)].parent) {
    if (facts.loops[static_cast<size_t>(l)].loop->thread_tag == tag) pieces.push_back(l);
  }
  return pieces;
}

int64_t ElementOf(const ProgramFacts& facts, const AccessFacts& access,
                  const std::unordered_map<int, int64_t>& iteration) {
  const BufferFacts& buffer = facts.buffers[static_cast<size_t>(access.buffer)];
  int64_t element = 0, stride = 1;
  for (size_t d = access.index.size(); d-- > 0;) {
    for (const IndexTerm& term : access.index[d].terms) {
      const auto at = iteration.find(term.loop);
      if (at == iteration.end()) continue;
      element += stride * term.scale * (at->second / std::max<int64_t>(term.lower, 1) % term.extent);
    }
    if (d < buffer.shape.size()) stride *= buffer.shape[d];
  }
  return element;
}

}  // namespace

LaneRequests RequestsOfWarp(const ProgramFacts& facts, const AccessFacts& access, int vector, int warp_size,
                            double sector_bytes) {
  std::vector<int> digits;  // pieces of all axes, the fastest first
  for (const std::string_view axis : kAxes) {
    const std::vector<int> pieces = PiecesOf(facts, access.loop, axis);
    digits.insert(digits.end(), pieces.begin(), pieces.end());
  }
  const BufferFacts& buffer = facts.buffers[static_cast<size_t>(access.buffer)];
  const int64_t bytes = int64_t{buffer.buffer->dtype.bytes()} * vector;
  const auto sector = static_cast<int64_t>(sector_bytes);
  std::set<int64_t> addresses, sectors;
  for (int64_t lane = 0; lane < warp_size; ++lane) {
    std::unordered_map<int, int64_t> iteration;
    int64_t rest = lane;
    for (const int piece : digits) {
      const int64_t extent = facts.loops[static_cast<size_t>(piece)].extent;
      iteration[piece] = rest % extent;
      rest /= extent;
    }
    if (rest > 0) break;  // the block has fewer threads
    const int64_t address = ElementOf(facts, access, iteration) * buffer.buffer->dtype.bytes();
    addresses.insert(address);
    for (int64_t at = address; at < address + bytes; at += std::min(sector, bytes)) sectors.insert(at / sector);
  }
  return {static_cast<double>(static_cast<int64_t>(addresses.size()) * bytes), static_cast<double>(sectors.size())};
}

}  // namespace tilewright
