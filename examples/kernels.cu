// Four kernels limited by different resources: bandwidth, neighbours, special functions, arithmetic.

extern "C" __global__ void triad(float *a, const float *b, const float *c, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = b[i] + s * c[i];
}

// the mean of a cell and its four neighbours, of rows of 4096 cells
extern "C" __global__ void stencil(const float *in, float *out, int n)
{
    const int width = 4096;
    int i = blockIdx.x * blockDim.x + threadIdx.x + width;
    if (i < n - width)
        out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

// prices of call options (Black and Scholes 1973), as an approximation of the normal law has them
__device__ float normal(float d)
{
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float sum = k * (0.31938153f + k * (-0.356563782f
        + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * __expf(-0.5f * d * d) * sum;
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void options(const float *price, const float *strike, const float *years,
                                   float *call, float rate, float spread, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float root = years[i] * rsqrtf(years[i]);
    float d1 = __fdividef(__logf(__fdividef(price[i], strike[i]))
        + (rate + 0.5f * spread * spread) * years[i], spread * root);
    float d2 = d1 - spread * root;
    call[i] = price[i] * normal(d1) - strike[i] * __expf(-rate * years[i]) * normal(d2);
}

// forces of all bodies on each
extern "C" __global__ void bodies(const float4 *body, float4 *force, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 mine = body[i];
    float x = 0, y = 0, z = 0;
    for (int j = 0; j < n; ++j) {
        float4 other = body[j];
        float dx = other.x - mine.x, dy = other.y - mine.y, dz = other.z - mine.z;
        float near = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
        float pull = other.w * near * near * near;
        x += dx * pull;
        y += dy * pull;
        z += dz * pull;
    }
    force[i] = make_float4(x, y, z, 0);
}
