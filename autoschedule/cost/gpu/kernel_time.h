// The time of a scheduled program on a GPU, projected from what its kernels do and what the target can do.
//
//   Projection p = ProjectKernels(GatherFacts(function), target);
//
// A kernel is projected from one of its blocks of threads: how long each unit of a core works for it (schedulers,
// arithmetic, special functions, matrix units, shared memory, the way from L2), and how long its threads wait for
// loads and for sums one after the other. As many blocks as fit (threads, registers, shared memory) hide each other's
// waiting; blocks take turns on the cores. No kernel is faster than main memory gives it its arrays, and each costs a
// launch. Arrays are taken to lie in main memory, as where inputs rotate.
#pragma once

#include "autoschedule/cost/program_facts.h"
#include "autoschedule/cost/projection.h"
#include "target/target.h"

namespace tilewright {

// `target` is a GPU. Units of a core are named in `limiter` as on CPUs, with "special functions", "matrix units",
// "shared memory" and "launches" besides.
Projection ProjectKernels(const ProgramFacts& facts, const Target& target);

}  // namespace tilewright
