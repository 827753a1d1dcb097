// The accelerations that all bodies give each one: x, y, z and mass of a body in a float4.
// A block reads the bodies in tiles of its size into shared memory.
//
// Problem: n. Block: BLOCK. Grid: ceil(n / BLOCK).
// dse: --set n=65536 --block BLOCK --grid "ceil(n / BLOCK)"

#ifndef BLOCK
#define BLOCK 256
#endif

extern "C" __global__ void nbody(const float4 *bodies, float4 *accelerations, int n)
{
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 nowhere = make_float4(0, 0, 0, 0);
    float4 mine = i < n ? bodies[i] : nowhere;
    float x = 0, y = 0, z = 0;
    for (int first = 0; first < n; first += BLOCK) {
        // a body without mass fills the last tile
        tile[threadIdx.x] = first + threadIdx.x < n ? bodies[first + threadIdx.x] : nowhere;
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < BLOCK; ++j) {
            float dx = tile[j].x - mine.x, dy = tile[j].y - mine.y, dz = tile[j].z - mine.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
            float pull = tile[j].w * inverse * inverse * inverse;
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
        __syncthreads();
    }
    if (i < n)
        accelerations[i] = make_float4(x, y, z, 0);
}
