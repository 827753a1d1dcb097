// y = A x for a sparse matrix by rows (CSR). LANES threads share a row, so the passes of the loop
// depend on the lengths of the rows.
//
// Problem: rows. Block: a multiple of 32 threads. Grid: ceil(LANES rows / block).
// dse: --set rows=1048576 --grid "ceil(LANES * rows / block_x)"
// dse: --times loaded_line_19=16,loaded_line_20=0 --define LANES=8

#ifndef LANES
#define LANES 8
#endif

extern "C" __global__ void spmv_csr(const int *start, const int *column, const float *value,
                                    const float *x, float *y, int rows)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int row = thread / LANES, lane = thread % LANES;
    float sum = 0;
    if (row < rows) {
        int end = start[row + 1];
        for (int i = start[row] + lane; i < end; i += LANES)
            sum += value[i] * x[column[i]];
    }
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, lanes, LANES);
    if (row < rows && lane == 0)
        y[row] = sum;
}
