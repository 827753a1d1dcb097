// Small kernels that measure one property of a GPU each; examples/kernels_on_gpu.py runs them.

// Keep the GPU busy for a number of cycles, so that launches can queue up behind it.
extern "C" __global__ void spin(long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

// Nothing: the time of a launch.
extern "C" __global__ void empty()
{
}

// Read a buffer several times, past the L1 cache: the bandwidth of L2, or of DRAM.
extern "C" __global__ void read_buffer(const float4 *data, float *out, int count, int passes)
{
    float sum = 0;
    for (int pass = 0; pass < passes; ++pass)
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
            float4 value = __ldcg(data + i);
            sum += value.x + value.y + value.z + value.w;
        }
    if (sum == 1.5f)  // never: the numbers are whole
        out[0] = sum;
}

// The same through the L1 cache: each block reads its own part again and again.
extern "C" __global__ void read_cached(const float4 *data, float *out, int count, int passes)
{
    const float4 *mine = data + (size_t)blockIdx.x * count;
    float sum = 0;
    for (int pass = 0; pass < passes; ++pass)
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            float4 value = __ldca(mine + i);
            sum += value.x + value.y + value.z + value.w;
        }
    if (sum == 1.5f)
        out[0] = sum;
}

// Read shared memory, 16 bytes a thread and pass, each from a place that the one before decides:
// without that, the compiler reads once.
extern "C" __global__ void read_shared(float *out, int passes)
{
    __shared__ int4 tile[1024];
    tile[threadIdx.x] = make_int4(threadIdx.x ^ 32, 0, 0, 0);
    __syncthreads();
    int place = threadIdx.x, other = threadIdx.x ^ 64, sum = 0;
    for (int pass = 0; pass < passes; pass += 8) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int4 value = tile[place], more = tile[other];
            place = value.x + value.y;
            other = more.x + more.y;
            sum += value.z + value.w + more.z + more.w;
        }
    }
    if (sum + place + other == -1)
        out[0] = sum;
}

// Multiply and add, in eight independent chains of a thread: the peak of an arithmetic unit.
extern "C" __global__ void multiply_add(float *out, float term, int rounds)
{
    float x[8];
    for (int i = 0; i < 8; ++i)
        x[i] = threadIdx.x + i;
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int n = 0; n < 64; ++n)
            x[n % 8] = x[n % 8] * 0.5f + term;
    float sum = 0;
    for (int i = 0; i < 8; ++i)
        sum += x[i];
    if (sum == 1.5f)
        out[0] = sum;
}

// Cycles of dependent operations of one warp: an operation of each kind on the result of the one
// before, and a load from shared memory whose address is the value loaded before.
extern "C" __global__ void dependent(float *values, long long *cycles, int rounds)
{
    __shared__ unsigned ring[32];
    unsigned place = (unsigned)__cvta_generic_to_shared(ring + threadIdx.x);
    ring[threadIdx.x] = (unsigned)__cvta_generic_to_shared(ring + (threadIdx.x + 1) % 32);
    __syncthreads();
    float f = values[0], g = values[1], h = values[2];
    double d = f, e = g, c = h;
    int i = (int)f, j = (int)g, k = (int)h;
    long long stamp[6];
    stamp[0] = clock64();
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int n = 0; n < 64; ++n)
            f = f * g + h;
    stamp[1] = clock64();
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int n = 0; n < 64; ++n)
            d = d * e + c;
    stamp[2] = clock64();
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int n = 0; n < 64; ++n)
            i = i * j + k;
    stamp[3] = clock64();
    float r = f;
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int n = 0; n < 64; ++n)
            asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(r));
    stamp[4] = clock64();
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int n = 0; n < 64; ++n)
            asm volatile("ld.shared.u32 %0, [%0];" : "+r"(place));
    stamp[5] = clock64();
    values[3 + threadIdx.x] = f + (float)d + i + r + place;
    if (threadIdx.x == 0)
        for (int n = 0; n < 5; ++n)
            cycles[n] = stamp[n + 1] - stamp[n];
}
