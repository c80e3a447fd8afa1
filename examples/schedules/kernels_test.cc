// Examples for GPUs as kernels: right in the emulator, and without spills where NVRTC is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "codegen/counters.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/preamble.h"
#include "codegen/cuda/ptxas_log.h"
#include "codegen/cuda/testing/scheduled_kernels.h"

namespace tilewright {
namespace {

struct Example {
  const char *name, *target, *architecture;
  std::vector<const char*> instructions;  // that the kernel is made of
  double tolerance = 0;                   // of results; 0: the same bits
  const char* program = nullptr;          // where several schedules have one
};

std::string Script(const std::string& name) { return *ReadFile("examples/schedules/" + name); }

Function Scheduled(const std::string& name, const char* program = nullptr) {
  return cuda::testing::Scheduled(Script((program == nullptr ? name : program) + ".py"), Script(name + "_schedule.py"));
}
Function Scheduled(const Example& example) { return Scheduled(example.name, example.program); }

class Kernels : public ::testing::TestWithParam<Example> {};
TEST_P(Kernels, ComputeWhatTheProgramSays) {
  const auto trial = cuda::testing::KernelTrial::Make(Scheduled(GetParam()), GetParam().target);
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->Run(trial->program(), GetParam().tolerance), "");
}

TEST_P(Kernels, AreMadeOfTheirInstructions) {
  const std::string text = cuda::testing::KernelText(Scheduled(GetParam()), GetParam().target);
  for (const char* instruction : GetParam().instructions) EXPECT_THAT(text, ::testing::HasSubstr(instruction));
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  const auto cubin = cuda::CompileWithNvrtc(cuda::PreambleFor(text) + text, GetParam().architecture);
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  Counters counters = cuda::CountersOfLog(cubin->log);
  EXPECT_EQ(counters[kSpillBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kStackBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kPtxasWarningsCounter], 0) << cubin->log;
}

// Machine code of a kernel as text; empty where nvdisasm is not installed.
std::string Disassembled(const std::string& cubin) {
  const std::string path = ::testing::TempDir() + "/kernel.cubin";
  std::ofstream(path) << cubin;
  FILE* output = popen(("nvdisasm " + path + " 2>/dev/null").c_str(), "r");
  std::string text;
  char part[4096];
  while (output != nullptr && fgets(part, sizeof(part), output) != nullptr) text += part;
  if (output != nullptr) pclose(output);
  return text;
}

// Fences of the whole GPU between a label and a later jump to it.
int GpuFencesInLoops(const std::string& code) {
  std::istringstream lines(code);
  std::map<std::string, size_t> labels;
  std::vector<size_t> fences;
  std::set<size_t> in_loops;
  size_t number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.starts_with(".L_")) labels[line.substr(0, line.find(':'))] = number;
    if (line.find("MEMBAR") != std::string::npos && line.find("GPU") != std::string::npos) fences.push_back(number);
    const size_t jump = line.find("BRA"), label = line.find("`(.L_");
    if (jump == std::string::npos || label == std::string::npos) continue;
    const auto to = labels.find(line.substr(label + 2, line.find(')', label) - label - 2));
    if (to == labels.end()) continue;
    for (const size_t fence : fences) {
      if (fence > to->second) in_loops.insert(fence);
    }
  }
  return static_cast<int>(in_loops.size());
}

TEST(HopperKernels, FencesInLoopsAreFound) {
  const std::string loop = ".L_x_1:\n MEMBAR.ALL.GPU ;\n @P0 BRA `(.L_x_1) ;\n";
  EXPECT_EQ(GpuFencesInLoops(loop), 1);
  EXPECT_EQ(
      GpuFencesInLoops(" MEMBAR.ALL.GPU ;\n.L_x_1:\n MEMBAR.ALL.CTA ;\n @P0 BRA `(.L_x_1) ;\n MEMBAR.ALL.GPU ;\n"), 0);
}

// Products by the warpgroup's instruction, copies by the engine, and no fence of the whole GPU in loops.
TEST(HopperKernels, AreMachineCodeOfTheirInstructions) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  for (const char* name : {"hopper_matmul", "im2col_convolution"}) {
    const std::string text = cuda::testing::KernelText(Scheduled(name), "cuda-sm90a");
    const auto cubin = cuda::CompileWithNvrtc(cuda::PreambleFor(text) + text, "sm_90a");
    ASSERT_TRUE(cubin.ok()) << cubin.status();
    const std::string code = Disassembled(cubin->binary);
    if (code.empty()) GTEST_SKIP() << "nvdisasm is not installed";
    EXPECT_THAT(code, ::testing::HasSubstr("HGMMA")) << name;
    EXPECT_THAT(code, ::testing::HasSubstr("UTMALDG")) << name;
    EXPECT_EQ(GpuFencesInLoops(code), 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Kernels,
    ::testing::Values(
        Example{"mma_matmul", "cuda-sm80", "sm_80", {"tw::cp_async<16>", "ldmatrix_x4", "mma_m16n8k16"}},
        Example{"mma_attention", "cuda-sm80", "sm_80", {"ldmatrix_x4", "mma_m16n8k16", "__shfl_xor_sync"}, 2e-3},
        Example{"wgmma_attention",
                "cuda-sm90a",
                "sm_90a",
                {"tw::wgmma<128", "tw::wgmma_rs<64", "__shfl_xor_sync"},
                2e-3,
                "mma_attention"},
        Example{"thread_gemv", "cuda-sm80", "sm_80", {"__shfl_xor_sync"}},
        Example{"shared_transpose", "cuda-sm80", "sm_80", {"__syncthreads();"}},
        Example{"wgmma_matmul", "cuda-sm90a", "sm_90a", {"tw::cp_async<16>", "tw::wgmma<64"}},
        Example{"hopper_matmul",
                "cuda-sm90a",
                "sm_90a",
                {"tw::tma_load_multicast(", "tw::wgmma<128", "mbarrier_arrive_cluster("}},
        Example{"im2col_convolution", "cuda-sm90a", "sm_90a", {"tw::tma_load_im2col_4d", "tw::wgmma<64", "mbarrier"}}),
    [](const auto& info) { return std::string(info.param.name); });

// What is found when the text of a kernel lacks or changes something. Kernels of wgmma and bulk copies:
// codegen/cuda/wgmma_test.cc.
struct Planted {
  const char *name, *example;
  cuda::testing::Edits edits;
  const char* report;
  const char* target = "cuda-sm80";
};
class PlantedFaults : public ::testing::TestWithParam<Planted> {};
TEST_P(PlantedFaults, AreFound) {
  EXPECT_THAT(cuda::testing::Emulated(Scheduled(GetParam().example), GetParam().target, GetParam().edits),
              ::testing::HasSubstr(GetParam().report));
}
INSTANTIATE_TEST_SUITE_P(
    All, PlantedFaults,
    ::testing::Values(
        Planted{"pipeline_barrier", "mma_matmul", {{"__syncthreads();", ""}}, "read of unwritten memory: ldmatrix"},
        Planted{"pipeline_wait", "mma_matmul", {{"cp_async_wait<2>", "cp_async_wait<3>"}}, "race: ldmatrix"},
        Planted{"pipeline_last_wait", "mma_matmul", {{"cp_async_wait<0>", "cp_async_wait<1>"}}, "race: ldmatrix"},
        Planted{"pipeline_stage", "mma_matmul", {{"+ 5120)", "+ 2560)"}}, "a write that is not ordered after a write"},
        Planted{"fragment", "mma_matmul", {{"ldmatrix_x4_trans(", "ldmatrix_x4("}}, "array 2 differs at "},
        Planted{"sum_barrier", "thread_softmax", {{"__syncthreads();", ""}}, "race: "},
        Planted{"sum_lane", "thread_gemv", {{", S_local_warp[0], 16)", ", S_local_warp[0], 8)"}}, "differs at "},
        Planted{"sum_mask",
                "thread_gemv",
                {{"(4294967295u, S_local_warp[0], 16)", "(65535u, S_local_warp[0], 16)"}},
                "shfl"},
        Planted{"window_element",
                "im2col_convolution",
                {{"/ 63, 1, 0);", "/ 63, 2, 0);"}},
                "array 2 differs at ",
                "cuda-sm90a"},
        Planted{"first_pixel",
                "im2col_convolution",
                {{"* 4 - 1, -1, ", "* 4 - 2, -1, "}},
                "the first pixel lies outside of the map's box of pixels",
                "cuda-sm90a"},
        Planted{"bytes_of_pixels",
                "im2col_convolution",
                {{", 16384);", ", 16368);"}},
                "waits for 0 of 1 arrivals and -16 bytes",
                "cuda-sm90a"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright
