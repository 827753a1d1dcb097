// The exclusive scan of each segment of an array: a block writes, for each element, the sum of the
// elements before it in the segment, and the total of the segment. The same kernel scans the totals
// of a longer array.
//
// Problem: n. Block: a multiple of 32 threads, a segment. Grid: ceil(n / block).
// dse: --set n=16777216 --grid "ceil(n / block_x)"

extern "C" __global__ void scan(const float *in, float *out, float *totals, int n)
{
    __shared__ float of_warp[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float value = i < n ? in[i] : 0.0f;
    float sum = value;
    for (int lanes = 1; lanes < 32; lanes *= 2) {
        float other = __shfl_up_sync(0xffffffff, sum, lanes);
        if (lane >= lanes)
            sum += other;
    }
    if (lane == 31)
        of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        float before = lane < blockDim.x / 32 ? of_warp[lane] : 0.0f;
        for (int lanes = 1; lanes < 32; lanes *= 2) {
            float other = __shfl_up_sync(0xffffffff, before, lanes);
            if (lane >= lanes)
                before += other;
        }
        of_warp[lane] = before;
    }
    __syncthreads();
    if (warp > 0)
        sum += of_warp[warp - 1];
    if (i < n)
        out[i] = sum - value;
    if (threadIdx.x == blockDim.x - 1)
        totals[blockIdx.x] = sum;
}
