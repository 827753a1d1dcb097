// The transpose of a matrix, through tiles in shared memory, so that loads and stores are
// contiguous. in is height x width, out is width x height.
//
// Problem: width, height. Block: TILE, ROWS. Grid: ceil(width / TILE), ceil(height / TILE).
// dse: --set width=8192,height=8192 --block TILE,ROWS
// dse: --grid "ceil(width / TILE), ceil(height / TILE)"

#ifndef TILE
#define TILE 32
#endif
#ifndef ROWS
#define ROWS 8
#endif
#ifndef PAD
#define PAD 1  // one column more than the tile, so that a column lies in different banks
#endif

extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS)
        if (x < width && y + i < height)
            tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS)
        if (x < height && y + i < width)
            out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}
