// Faults planted into kernels: what a compiler, or a person who writes kernels, gets wrong. Each kind has a rule that
// finds its sites in the emitted text (or in the maps of bulk copies), so that a table "kind of fault x kernel" needs
// no text of its own for a kernel. Equal lines of one kernel that synchronize change together: one of them may be there
// for another's sake (a wait in front of each copy of a step), and without all of them the kernel is wrong.
//
//   kind             a site                                      becomes
//   barrier          __syncthreads();                            nothing
//   wait             tw::wgmma_wait<1>();                        tw::wgmma_wait<2>();
//   parity           mbarrier_wait(full, groups / 3u % 2u)       the other phase
//   commit           tw::cp_async_commit();                      nothing
//   fence            tw::fence_proxy_async_shared();             nothing
//   swizzle          kSwizzle128, x ^ y, a map's span            another
//   descriptor       wgmma_descriptor(..., 16, 1024), a map      half of the stride, another corner
//   fragment         ldmatrix_x4_trans, rows of a tile           ldmatrix_x4, rows of another length
//                    stmatrix_x4                                 stmatrix_x4_trans
//   early_release    a wait or barrier, then the release         the release, then the wait
//   expect_bytes     mbarrier_expect_tx(full, 16384)             16 bytes more, or fewer
//   arrivals         mbarrier_init(empty, 8)                     9
//   overlap          a buffer's offset in shared memory          0
//   lane             __shfl_xor_sync(..., 16)                    8
//   grid_wait        tw::grid_dependency_wait();                 nothing
//   grid_order       tw::grid_dependency_wait();                 the last statement of its block
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/program.h"

namespace tilewright::cuda::testing {

std::vector<std::string_view> FaultKinds();

struct PlantedFault {
  std::string place;  // what changed
  Program program;
};
// The program with one fault of the kind at a time: at all sites, or at `most` of them in equal distances.
std::vector<PlantedFault> PlantFaults(const Program& program, std::string_view kind, size_t most);

}  // namespace tilewright::cuda::testing
