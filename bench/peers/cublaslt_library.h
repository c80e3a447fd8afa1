// What is used of cuBLASLt's C interface (NVIDIA's documentation of it, "cublasLt API reference").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilewright::bench {

struct CublasLtLibrary {
  // cudaDataType_t, cublasComputeType_t, cublasOperation_t
  enum Type { kF32 = 0, kF16 = 2, kS8 = 3, kS32 = 10, kBf16 = 14, kE4M3 = 28 };
  enum Compute { kComputeF16 = 64, kComputeF32 = 68, kComputeS32 = 72 };
  enum DescAttribute { kTransposeA = 3, kTransposeB = 4 };
  enum LayoutAttribute { kBatchCount = 5, kBatchStride = 6 };
  enum PreferenceAttribute { kWorkspaceBytes = 1 };

  struct Algorithm {
    uint64_t opaque[8];
  };
  struct Heuristic {
    Algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
  };

  // The library, or null with the reason.
  static const CublasLtLibrary* Open(std::string* error);

  size_t (*version)() = nullptr;
  int (*create)(void** handle) = nullptr;
  int (*desc_create)(void** desc, int compute, int scale_type) = nullptr;
  int (*desc_destroy)(void* desc) = nullptr;
  int (*desc_set)(void* desc, int attribute, const void* value, size_t bytes) = nullptr;
  int (*layout_create)(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) = nullptr;
  int (*layout_destroy)(void* layout) = nullptr;
  int (*layout_set)(void* layout, int attribute, const void* value, size_t bytes) = nullptr;
  int (*preference_create)(void** preference) = nullptr;
  int (*preference_destroy)(void* preference) = nullptr;
  int (*preference_set)(void* preference, int attribute, const void* value, size_t bytes) = nullptr;
  int (*heuristics)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference, int wanted,
                    Heuristic* results, int* found) = nullptr;
  int (*matmul)(void* handle, void* desc, const void* alpha, const void* a, void* a_layout, const void* b,
                void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
                const Algorithm* algorithm, void* workspace, size_t workspace_bytes, void* stream) = nullptr;
};

}  // namespace tilewright::bench
