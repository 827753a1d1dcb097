// C = A B in single precision, with tiles of A and B in shared memory and a tile of C in registers.
// A is M x K, B is K x N, C is M x N, all by rows.
//
// Problem: M, N, K. Block: TILE_N / THREAD_N, TILE_M / THREAD_M. Grid: ceil(N / TILE_N), ceil(M / TILE_M).
// dse: --set M=4096,N=4096,K=4096 --block "TILE_N / THREAD_N, TILE_M / THREAD_M"
// dse: --grid "ceil(N / TILE_N), ceil(M / TILE_M)"

#ifndef TILE_M
#define TILE_M 64
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef TILE_K
#define TILE_K 16
#endif
#ifndef THREAD_M
#define THREAD_M 4
#endif
#ifndef THREAD_N
#define THREAD_N 4
#endif
#define THREADS ((TILE_M / THREAD_M) * (TILE_N / THREAD_N))

extern "C" __global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K)
{
    // one column more than the tile, so that the rows of A begin in different banks
    __shared__ float a[TILE_M][TILE_K + 1];
    __shared__ float b[TILE_K][TILE_N];
    int first_row = blockIdx.y * TILE_M, first_column = blockIdx.x * TILE_N;
    int thread = threadIdx.y * (TILE_N / THREAD_N) + threadIdx.x;
    float sum[THREAD_M][THREAD_N] = {};

    for (int k = 0; k < K; k += TILE_K) {
        for (int i = thread; i < TILE_M * TILE_K; i += THREADS) {
            int row = first_row + i / TILE_K, column = k + i % TILE_K;
            a[i / TILE_K][i % TILE_K] = row < M && column < K ? A[row * K + column] : 0.0f;
        }
        for (int i = thread; i < TILE_K * TILE_N; i += THREADS) {
            int row = k + i / TILE_N, column = first_column + i % TILE_N;
            b[i / TILE_N][i % TILE_N] = row < K && column < N ? B[row * N + column] : 0.0f;
        }
        __syncthreads();
        for (int inner = 0; inner < TILE_K; ++inner)
            for (int i = 0; i < THREAD_M; ++i)
                for (int j = 0; j < THREAD_N; ++j)
                    sum[i][j] += a[threadIdx.y * THREAD_M + i][inner] * b[inner][threadIdx.x * THREAD_N + j];
        __syncthreads();
    }
    for (int i = 0; i < THREAD_M; ++i)
        for (int j = 0; j < THREAD_N; ++j) {
            int row = first_row + threadIdx.y * THREAD_M + i;
            int column = first_column + threadIdx.x * THREAD_N + j;
            if (row < M && column < N)
                C[row * N + column] = sum[i][j];
        }
}
