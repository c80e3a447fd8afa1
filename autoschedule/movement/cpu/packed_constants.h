// Constants that stay packed: brought into panels ahead of time, in their own type, and unpacked where they are used.
//
//   W[k, j] = float32(q[j, k / 2] >> k % 2 * 4 & 15) * scale[j, k / 32]
//                                                ->
//   W[k, j] = float32(q_panels[j / 16, k / 2, j % 16] >> k % 2 * 4 & 15) * scale_panels[j / 16, k / 32, j % 16]
//
// One load of a panel's bytes gives a vector of neighbouring columns for each of the elements that lie in a byte, so
// unpacking is a shift, a mask and a conversion of whole vectors, whatever the order in the file was.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Brings what `unpacker` (autoschedule/program/unpacked_constants.h) reads into panels of as many columns as a vector
// of what it writes has, ahead of time; columns are its last dimension. Refused where panels would not take at most
// half of the bytes of what is unpacked.
Outcome<std::monostate> PackInPanels(Schedule& sch, BlockRv unpacker, const Target& target);

// The extents of the unpacker's iterators but the last, in their order: how the depth is divided into blocks and bytes.
// All of the depth in one where they do not divide it.
std::vector<int64_t> DepthFactors(const Schedule& sch, BlockRv unpacker, int64_t depth);

// The last factor where it is as few elements as a byte may hold, else 1.
int64_t ElementsOfByte(const std::vector<int64_t>& depth_factors);

// A stage of columns that are unpacked, in `panel_loop`: vectors of a panel's columns, for each element of a byte.
// `depth_factors`: those of its unpacker.
Outcome<std::monostate> UnpackInLoop(Schedule& sch, BlockRv stage, LoopRv panel_loop,
                                     const std::vector<int64_t>& depth_factors, const Target& target);

}  // namespace tilewright
