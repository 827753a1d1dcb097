// y = a x + y: two loads, one fused multiplication and addition, and one store a thread.
//
// Problem: n. Block: any number of threads. Grid: ceil(n / block).
// dse: --set n=16777216 --grid "ceil(n / block_x)"

extern "C" __global__ void axpy(const float *x, float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
