// The softmax of each row of a matrix: exp(x - max) / sum exp(x - max). A block takes a row and
// reads it three times, for the largest value, for the sum, and for the result.
//
// Problem: rows, columns. Block: a multiple of 32 threads. Grid: rows.
// dse: --set columns=4096 --grid 8192

__device__ float largest(float value, float *of_warp)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, lanes));
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0)
        of_warp[warp] = value;
    __syncthreads();
    value = lane < blockDim.x / 32 ? of_warp[lane] : -3.4e38f;
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, lanes));
    return value;
}

__device__ float total(float value, float *of_warp)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffff, value, lanes);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0)
        of_warp[warp] = value;
    __syncthreads();
    value = lane < blockDim.x / 32 ? of_warp[lane] : 0.0f;
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffff, value, lanes);
    return value;
}

extern "C" __global__ void softmax(const float *in, float *out, int columns)
{
    __shared__ float most[32], sums[32];
    const float *row = in + (size_t)blockIdx.x * columns;
    float *result = out + (size_t)blockIdx.x * columns;
    float top = -3.4e38f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        top = fmaxf(top, row[i]);
    top = largest(top, most);
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += __expf(row[i] - top);
    float scale = 1.0f / total(sum, sums);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        result[i] = scale * __expf(row[i] - top);
}
