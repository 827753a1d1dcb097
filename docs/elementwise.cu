// Operators of PyTorch as its vectorized_elementwise_kernel computes them: blocks of 128 threads,
// four elements a thread in one request. OP is the operator; with TWO it has two arrays.

#ifndef TWO
#define TWO 1
#endif
#define add(a, b) (a + b)
#define mul(a, b) (a * b)
#define div(a, b) (a / b)
#define pow(a, b) exp2f(b * log2f(a))
#define relu(a, b) (a > 0 ? a : 0)
#define gelu(a, b) (0.5f * a * (1 + erff(0.70710678f * a)))
#define tanh(a, b) tanhf(a)

extern "C" __global__ void elementwise(const float4 *in, const float4 *other, float4 *out, float b,
                                       int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (4 * i + 3 < n) {
        float4 x = in[i];
        float4 y = TWO ? other[i] : make_float4(b, b, b, b);
        out[i] = make_float4(OP(x.x, y.x), OP(x.y, y.y), OP(x.z, y.z), OP(x.w, y.w));
    }
}
