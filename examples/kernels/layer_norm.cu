// Layer normalization of each row of a matrix: (x - mean) / sqrt(variance + 1e-5) gamma + beta.
// A block takes a row and reads it twice, for the mean and the variance, and for the result.
//
// Problem: rows, columns. Block: a multiple of 32 threads. Grid: rows.
// dse: --set columns=4096 --grid 8192

extern "C" __global__ void layer_norm(const float *in, const float *gamma, const float *beta,
                                      float *out, int columns)
{
    __shared__ float2 of_warp[32];
    const float *row = in + (size_t)blockIdx.x * columns;
    float *result = out + (size_t)blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float value = row[i];
        sum += value;
        squares += value * value;
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, lanes);
        squares += __shfl_xor_sync(0xffffffff, squares, lanes);
    }
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0)
        of_warp[warp] = make_float2(sum, squares);
    __syncthreads();
    float2 mine = lane < blockDim.x / 32 ? of_warp[lane] : make_float2(0, 0);
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        mine.x += __shfl_xor_sync(0xffffffff, mine.x, lanes);
        mine.y += __shfl_xor_sync(0xffffffff, mine.y, lanes);
    }
    float mean = mine.x / columns;
    float scale = rsqrtf(mine.y / columns - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        result[i] = (row[i] - mean) * scale * gamma[i] + beta[i];
}
