// Kernels with their arguments and results, as files that a GPU machine can be given: launches with all numbers known.
//
//   NAME.case    text: arrays, launches, what results may differ by
//   FILE.cubin   the kernels, of one case or of several
//   NAME.bin     contents of inputs, and expected contents of outputs
//
// Needs the C++ library alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/cuda/driver.h"

namespace tilewright::gpu {

struct CaseArray {
  std::string name;
  std::string type;  // as programs write it: "float32", "bfloat16"
  int64_t bytes = 0;
  int64_t input = -1, expected = -1;  // offsets in the data; -1: none
  uint64_t seed = 0;                  // contents by FillSeeded, where there are none in the data; 0: none
  int64_t same_as = -1;               // the array whose contents are expected; -1: none
};

struct CaseParam {
  enum Kind { kArray, kScalar, kMap } kind = kArray;
  size_t array = 0;       // of kArray and kMap
  uint64_t bits[8] = {};  // of kScalar: up to 64 bytes
  cuda::TensorMapSpec map;
};

struct CaseLaunch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t shared_bytes = 0;
  std::vector<CaseParam> params;
};

struct CaseFile {
  std::string name;
  double tolerance = 0;                // of errors relative to the larger magnitude and to 1
  double operations = 0, traffic = 0;  // of a run
  std::vector<CaseArray> arrays;
  std::vector<CaseLaunch> launches;
  std::vector<CaseLaunch> reference;  // run once: what it computes is expected of others
  std::string cubin_name;             // of the file, without its extension
  std::string cubin;
  std::string data;
};

bool WriteCase(const std::string& folder, const CaseFile& file);
bool ReadCase(const std::string& folder, const std::string& name, CaseFile* file, std::string* error);

// Numbers of 8 bits as elements of the type, floating-point ones between -1 and 1: sums of some thousand products of
// them are exact in 32 bits.
void FillSeeded(const std::string& type, uint64_t seed, char* data, size_t bytes);

struct ArrayDifference {
  double error = 0;  // the largest; infinite where one of two is not a number
  int64_t position = -1;
  double got = 0, expected = 0;
};
ArrayDifference CompareArrays(const std::string& type, const char* got, const char* expected, size_t bytes);

}  // namespace tilewright::gpu
