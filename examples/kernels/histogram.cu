// The histogram of 256 values: each block counts in shared memory and adds its counts to the
// result, which is 0 before the launch. How many threads of a warp meet in one bin depends on the
// data.
//
// Problem: n. Block: any number of threads. Grid: any, at most ceil(n / block).
// dse: --set n=16777216 --grid 1024

#define BINS 256

extern "C" __global__ void histogram(const unsigned *values, unsigned *counts, int n)
{
    __shared__ unsigned of_block[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        of_block[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&of_block[values[i] % BINS], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        atomicAdd(&counts[i], of_block[i]);
}
