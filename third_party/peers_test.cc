#include <gtest/gtest.h>

#include "cblas.h"
#include "nlohmann/json.hpp"
#include "oneapi/dnnl/dnnl.hpp"
#include "pthreadpool.h"
#include "xnnpack.h"

namespace tilewright {
namespace {

TEST(OpenblasTest, MultipliesWithAGivenNumberOfThreads) {
  openblas_set_num_threads(1);
  EXPECT_EQ(openblas_get_num_threads(), 1);
  const float a[] = {1, 2, 3, 4};
  const float b[] = {5, 6, 7, 8};
  float c[4] = {};
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1.0f, a, 2, b, 2, 0.0f, c, 2);
  EXPECT_EQ(c[0], 19);
  EXPECT_EQ(c[3], 50);
}

TEST(OnednnTest, StartsACpuEngine) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  EXPECT_EQ(engine.get_kind(), dnnl::engine::kind::cpu);
}

TEST(XnnpackTest, StartsOnAPoolOfItsOwn) {
  EXPECT_EQ(xnn_initialize(/*allocator=*/nullptr), xnn_status_success);
  const pthreadpool_t pool = pthreadpool_create(2);
  EXPECT_EQ(pthreadpool_get_threads_count(pool), 2u);
  pthreadpool_destroy(pool);
}

TEST(NlohmannJsonTest, Parses) { EXPECT_EQ(nlohmann::json::parse("{\"a\": [1, 2]}")["a"][1], 2); }

}  // namespace
}  // namespace tilewright
