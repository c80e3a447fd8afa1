// What exists while a kernel runs: clusters of blocks of threads, and the objects that they share. Internal to the
// emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clocks/clocks.h"
#include "codegen/cuda/emulator/bank_conflicts.h"
#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/fault.h"
#include "codegen/cuda/emulator/fibers.h"
#include "codegen/cuda/emulator/global_memory.h"
#include "codegen/cuda/emulator/shadow.h"
#include "codegen/cuda/emulator/tensor_map.h"

namespace tilewright::emulator {

inline constexpr int kWarp = 32;
inline constexpr int kWarpgroup = 128;
// The offset of dynamic shared memory: what lies below belongs to the system, as on sm_90.
inline constexpr uint32_t kSharedBase = 1024;

// What a thread waits at that DescribeWait says more of; its operands are barrier and parity, or barrier and threads.
inline constexpr char kMbarrierWait[] = "mbarrier wait";
inline constexpr char kNamedBarrier[] = "named barrier";

// The agent that stands for the grid in front: of a group that no block has.
inline constexpr clocks::Agent kGridInFront = clocks::MakeAgent((1u << (32 - clocks::kIndexBits)) - 1, 0);

struct Block;
struct Cluster;
struct Thread;

// Lanes of a warp (threads of a warpgroup) that have come to an instruction which they do together.
struct Meeting {
  uint32_t mask = 0;  // of a warp's lanes that take part
  int instruction = 0;
  int arrived = 0;
  const char* name = nullptr;
  void* arguments[kWarpgroup] = {};
  std::vector<Thread*> waiting;
};

struct Warp {
  uint32_t lanes = 0;  // that exist
  int alive = 0;
  std::vector<Thread*> threads;
  std::vector<std::unique_ptr<Meeting>> meetings, unused;  // by mask
  BankConflicts banks;
};

struct WgmmaOperation {
  tw::emu::WgmmaKind kind;
  uint64_t a = 0, b = 0;
  bool a_in_registers = false, scale_d = false;
  void* d[kWarpgroup] = {};
  uint32_t a_registers[kWarpgroup][4] = {};
};

struct Warpgroup {
  Meeting meeting;
  clocks::Agent agent = 0;
  bool has_agent = false;
  uint32_t committed = 0, finished = 0;  // groups
  std::vector<WgmmaOperation> open;
  std::deque<std::vector<WgmmaOperation>> groups;
  uint32_t registers = 0;
};

struct NamedBarrier {
  int arrived = 0;
  int expected = 0;  // 0: all threads that have not ended
  int votes = 0, last_votes = 0;
  uint32_t generation = 0;  // completed so far
  clocks::Published published;
  clocks::Knowledge done;  // of the last one
  std::vector<Thread*> waiting;
};

struct Mbarrier {
  uint32_t count = 0;
  int64_t pending = 0, bytes = 0;  // arrivals and bytes that the phase still waits for
  uint32_t phase = 0;              // completed phases
  clocks::Agent agent = 0;         // of the copies that complete here
  bool fenced = false;             // its initialization is visible to copies
  Thread* initialized_by = nullptr;
  clocks::Published arriving;
  clocks::Knowledge done;  // of the last phase
  std::vector<Thread*> waiting;
};

struct Block {
  Block(uint32_t shared_bytes, Cluster* of)
      : shared(kSharedBase + shared_bytes, std::byte{0xff}),
        shadow(kSharedBase + shared_bytes, false),
        is_mbarrier((kSharedBase + shared_bytes) / 8 + 1),
        cluster(of) {}

  Dim index;
  uint32_t serial = 0;  // within the grid
  uint32_t rank = 0;    // within the cluster
  int alive = 0;        // threads
  std::vector<std::byte> shared;
  Shadow shadow;
  std::vector<bool> is_mbarrier;  // by 8 bytes
  std::map<uint32_t, Mbarrier> mbarriers;
  NamedBarrier barriers[16];
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  Cluster* cluster = nullptr;
  std::vector<std::string> agents;  // names, by index within the group; empty for threads
  int free_registers = 0;
  std::vector<Thread*> want_registers;
  int copies_under_way = 0;  // bulk copies to this block
  // The last access of each thread of another block since the cluster last met, and what this block's threads knew at
  // their end: every such access must come before.
  std::map<clocks::Agent, uint32_t> accesses_of_others;
  clocks::Published ended;
};

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  NamedBarrier barrier;
  int alive = 0;
};

// One cp.async, until it is waited for.
struct CopyAsyncOperation {
  uint32_t to;
  const std::byte* from;
  int bytes, valid;
};
struct CopyQueue {
  clocks::Agent agent = 0;
  bool has_agent = false;
  uint32_t committed = 0;
  std::vector<CopyAsyncOperation> open;
  std::deque<std::vector<CopyAsyncOperation>> groups;
};

// At most 16 bytes of a bulk copy, of which those from `first` to `last` exist in global memory.
struct Piece {
  uint32_t shared;    // byte of the block
  std::byte* global;  // of byte 0 of the piece, which need not exist
  uint8_t bytes, first, last;
};

// Copies from shared memory to global memory.
struct BulkStoreOperation {
  Block* block;
  std::vector<Piece> pieces;
  tw::emu::Reduction reduction;
  MapType type;
};
struct BulkQueue {
  clocks::Agent reader = 0, writer = 0;  // of shared memory, of global memory
  bool has_agents = false;
  uint32_t committed = 0;
  std::vector<BulkStoreOperation> open;
  std::deque<std::vector<BulkStoreOperation>> groups;
};

// A copy to the shared memory of a block that is under way.
struct BulkLoadOperation {
  Block* block;
  uint32_t barrier;
  int64_t bytes = 0;  // that the barrier counts
  std::vector<Piece> pieces;
  uint8_t fill = 0;       // of what does not exist
  uint32_t st_async = 0;  // the value, where there are no pieces
  uint32_t st_async_to = 0;
};

struct Thread {
  explicit Thread(clocks::Domain* domain, clocks::Agent agent) : clock(domain, agent) {}

  Fiber fiber;
  tw::emu::View view;
  int index = 0, lane = 0;  // within the block, the warp
  Block* block = nullptr;
  Warp* warp = nullptr;
  Warpgroup* warpgroup = nullptr;
  bool ended = false;
  bool waits = false;        // until others make it ready
  bool asks_active = false;  // which lanes are here with it; `active` is the answer
  uint32_t active = 0;

  const char* doing = "";  // what it waits at, for reports
  uint32_t operand = 0, operand2 = 0;
  uint32_t place = 0;  // in the text, of the last instruction; 0 none
  uint32_t turns = 0;  // of loops

  clocks::Clock clock;
  clocks::Knowledge fenced_device;   // what __threadfence published
  clocks::Knowledge pending_device;  // what atomics have read, known after the next __threadfence
  CopyQueue copies;
  BulkQueue bulk;
  uint32_t wgmma_fences = 1, wgmma_waited = 0;
  uint32_t cluster_arrivals = 0;
};

}  // namespace tilewright::emulator
