// One step of a diffusion on a grid of cells: a cell and its four neighbours; the border stays.
//
// Problem: width, height. Block: X, Y threads. Grid: ceil(width / X), ceil(height / Y).
// dse: --set width=8192,height=8192 --block 32,8
// dse: --grid "ceil(width / block_x), ceil(height / block_y)"

extern "C" __global__ void stencil2d(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int i = y * width + x;
    float here = in[i];
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        here += 0.1f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4 * here);
    out[i] = here;
}
