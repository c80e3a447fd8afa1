// The test kernels without planted errors, for nvcc (check_nvcc.sh): those for sm_80, with TW_SM90 those for sm_90a.
#ifdef TW_SM90
#include "codegen/cuda/emulator/kernels/attention.h"
#include "codegen/cuda/emulator/kernels/convolution.h"
#include "codegen/cuda/emulator/kernels/product_wgmma.h"

template __global__ void attention::Kernel<kNone>(const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap, tw::f16*, int);
template __global__ void convolution::Kernel<kNone>(const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap, tw::f16*, convolution::Shape);
template __global__ void product_wgmma::Kernel<1, false, kNone>(const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap,
                                                                product_wgmma::Sizes);
template __global__ void product_wgmma::Kernel<1, true, kNone>(const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap,
                                                               product_wgmma::Sizes);
template __global__ void product_wgmma::Kernel<2, false, kNone>(const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap, const __grid_constant__ TwTensorMap,
                                                                product_wgmma::Sizes);
#else
#include "codegen/cuda/emulator/kernels/product_mma.h"
#include "codegen/cuda/emulator/kernels/rows.h"

template __global__ void product_mma::Kernel<kNone>(const tw::f16*, const tw::f16*, tw::f16*, int, int, int);
template __global__ void rows::Softmax<kNone>(const float*, float*, int);
template __global__ void rows::MatrixVector<kNone>(const float*, const float*, float*, int, int);
template __global__ void rows::ProductWmma<kNone>(const tw::f16*, const tw::f16*, float*, int, int);
#endif
