// C = A B on tensor cores: A and B in half precision, C in single precision, all by rows.
// Each warp computes a tile of WARP_M x WARP_N of C, from tiles of A and B in shared memory.
//
// Problem: M, N, K, multiples of the tiles. For compute capability 7.0 and later.
// Block: 32 (TILE_M / WARP_M) (TILE_N / WARP_N). Grid: N / TILE_N, M / TILE_M.
// dse: --set M=4096,N=4096,K=4096 --block THREADS --grid "N / TILE_N, M / TILE_M"

#include <mma.h>

#ifndef TILE_M
#define TILE_M 128
#endif
#ifndef TILE_N
#define TILE_N 128
#endif
#ifndef TILE_K
#define TILE_K 32
#endif
#ifndef WARP_M
#define WARP_M 64
#endif
#ifndef WARP_N
#define WARP_N 32
#endif
#define THREADS (32 * (TILE_M / WARP_M) * (TILE_N / WARP_N))
#define PAD 8  // halves at the end of a row, so that rows begin in different banks
#define EIGHT 8  // halves that a thread moves at once

using namespace nvcuda;

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_mma(const half *A, const half *B, float *C, int M, int N, int K)
{
    __shared__ __align__(16) half a[TILE_M][TILE_K + PAD];
    __shared__ __align__(16) half b[TILE_K][TILE_N + PAD];
    int first_row = blockIdx.y * TILE_M, first_column = blockIdx.x * TILE_N;
    int warp = threadIdx.x / 32;
    int warp_row = warp / (TILE_N / WARP_N) * WARP_M, warp_column = warp % (TILE_N / WARP_N) * WARP_N;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[WARP_M / 16][WARP_N / 16];
#pragma unroll
    for (int i = 0; i < WARP_M / 16; ++i)
#pragma unroll
        for (int j = 0; j < WARP_N / 16; ++j)
            wmma::fill_fragment(sum[i][j], 0.0f);

    for (int k = 0; k < K; k += TILE_K) {
#pragma unroll
        for (int i = threadIdx.x * EIGHT; i < TILE_M * TILE_K; i += THREADS * EIGHT)
            *(int4 *)&a[i / TILE_K][i % TILE_K] =
                *(const int4 *)&A[(size_t)(first_row + i / TILE_K) * K + k + i % TILE_K];
#pragma unroll
        for (int i = threadIdx.x * EIGHT; i < TILE_K * TILE_N; i += THREADS * EIGHT)
            *(int4 *)&b[i / TILE_N][i % TILE_N] =
                *(const int4 *)&B[(size_t)(k + i / TILE_N) * N + first_column + i % TILE_N];
        __syncthreads();
#pragma unroll
        for (int inner = 0; inner < TILE_K; inner += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[WARP_M / 16];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[WARP_N / 16];
#pragma unroll
            for (int i = 0; i < WARP_M / 16; ++i)
                wmma::load_matrix_sync(left[i], &a[warp_row + 16 * i][inner], TILE_K + PAD);
#pragma unroll
            for (int j = 0; j < WARP_N / 16; ++j)
                wmma::load_matrix_sync(right[j], &b[inner][warp_column + 16 * j], TILE_N + PAD);
#pragma unroll
            for (int i = 0; i < WARP_M / 16; ++i)
#pragma unroll
                for (int j = 0; j < WARP_N / 16; ++j)
                    wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < WARP_M / 16; ++i)
#pragma unroll
        for (int j = 0; j < WARP_N / 16; ++j) {
            int row = first_row + warp_row + 16 * i, column = first_column + warp_column + 16 * j;
            wmma::store_matrix_sync(&C[(size_t)row * N + column], sum[i][j], N, wmma::mem_row_major);
        }
}
