// Errors that are planted in the test kernels, each as an author or a lowering pass could make it.
#pragma once

enum Planted {
  kNone,
  kNoBarrier,        // a barrier between threads is missing
  kWaitOffByOne,     // one group more may be under way than the stage allows
  kWrongSwizzle,     // reads with another swizzle than the copy wrote with
  kWrongDescriptor,  // a stride of an operand's descriptor is halved
  kEarlyRelease,     // a stage is free while it is still read
  kNoEmptyWait,      // the producer does not wait until a stage is free
  kNoProxyFence,     // stores are not fenced for the asynchronous proxy
  kShortExpect,      // an mbarrier expects 16 bytes too few
  kOverlap,          // two buffers whose lives overlap share memory
  kNoCommit,         // copies or products are not committed to a group
  kNoWgmmaFence,     // an accumulator that was set is used by wgmma without wgmma.fence
  kTouchedEarly,     // an accumulator is read before it was waited for
  kNoLastSync,       // a block of a cluster ends while others still write to it
  kNoStoreWait,      // the block ends before its bulk stores have read their sources
  kWrongParity,      // a consumer waits for the other phase
};
