// The sum of an array: each thread adds up elements a grid apart, a block adds up its threads,
// and one thread of a block adds the block's sum to the result, which is 0 before the launch.
//
// Problem: n. Block: a multiple of 32 threads. Grid: any, at most ceil(n / block).
// dse: --set n=16777216 --grid 1024

extern "C" __global__ void reduction(const float *in, float *sum, int n)
{
    __shared__ float of_warp[32];
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += in[i];
    for (int lanes = 16; lanes > 0; lanes /= 2)
        mine += __shfl_down_sync(0xffffffff, mine, lanes);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0)
        of_warp[warp] = mine;
    __syncthreads();
    if (warp == 0) {
        mine = lane < blockDim.x / 32 ? of_warp[lane] : 0.0f;
        for (int lanes = 16; lanes > 0; lanes /= 2)
            mine += __shfl_down_sync(0xffffffff, mine, lanes);
        if (lane == 0)
            atomicAdd(sum, mine);
    }
}
