// Kernels that stream arrays of doubles, one element a thread.

__global__ void init(double *a, double v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = (i + 1) * v;
}

__global__ void copy(const double *a, double *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i];
}

__global__ void triad(double *a, const double *b, const double *c, double s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] + s * c[i];
}

__global__ void daxpy(const double *x, double *y, double a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

__global__ void muladdsub(const double *x, const double *y, double *p, double *s, double *d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] = x[i] * y[i];
        s[i] = x[i] + y[i];
        d[i] = x[i] - y[i];
    }
}
