// What samples of CUDA's toolkit say of vectors component by component, as far as texts lack it.
#pragma once

#define PAIRWISE(V, S, OP, TWO, ALL)                                                        \
    inline __device__ V operator OP(V a, V b) { return TWO(a, OP, b); }                     \
    inline __device__ V operator OP(V a, S b) { return TWO(a, OP, ALL(b)); }                \
    inline __device__ V operator OP(S a, V b) { return TWO(ALL(a), OP, b); }                \
    inline __device__ void operator OP##=(V &a, V b) { a = TWO(a, OP, b); }                 \
    inline __device__ void operator OP##=(V &a, S b) { a = TWO(a, OP, ALL(b)); }
#define EVERY(V, S, TWO, ALL) \
    PAIRWISE(V, S, +, TWO, ALL) PAIRWISE(V, S, -, TWO, ALL) PAIRWISE(V, S, *, TWO, ALL) PAIRWISE(V, S, /, TWO, ALL)

#define OF2(N, S) \
    inline __device__ S##2 every_##S##2(S s) { return make_##S##2(s, s); }
#define OF3(N, S) \
    inline __device__ S##3 every_##S##3(S s) { return make_##S##3(s, s, s); }
#define OF4(N, S) \
    inline __device__ S##4 every_##S##4(S s) { return make_##S##4(s, s, s, s); }
OF2(2, float) OF3(3, float) OF4(4, float) OF2(2, int) OF3(3, int) OF4(4, int)

#define F2(a, OP, b) make_float2((a).x OP (b).x, (a).y OP (b).y)
#define F3(a, OP, b) make_float3((a).x OP (b).x, (a).y OP (b).y, (a).z OP (b).z)
#define F4(a, OP, b) make_float4((a).x OP (b).x, (a).y OP (b).y, (a).z OP (b).z, (a).w OP (b).w)
#define I2(a, OP, b) make_int2((a).x OP (b).x, (a).y OP (b).y)
#define I3(a, OP, b) make_int3((a).x OP (b).x, (a).y OP (b).y, (a).z OP (b).z)
#define I4(a, OP, b) make_int4((a).x OP (b).x, (a).y OP (b).y, (a).z OP (b).z, (a).w OP (b).w)
EVERY(float2, float, F2, every_float2)
EVERY(float3, float, F3, every_float3)
EVERY(float4, float, F4, every_float4)
EVERY(int2, int, I2, every_int2)
EVERY(int3, int, I3, every_int3)
EVERY(int4, int, I4, every_int4)

inline __device__ float2 operator-(float2 a) { return make_float2(-a.x, -a.y); }
inline __device__ float3 operator-(float3 a) { return make_float3(-a.x, -a.y, -a.z); }
inline __device__ float4 operator-(float4 a) { return make_float4(-a.x, -a.y, -a.z, -a.w); }
inline __device__ float2 make_float2(float s) { return every_float2(s); }
inline __device__ float3 make_float3(float s) { return every_float3(s); }
inline __device__ float3 make_float3(float4 a) { return make_float3(a.x, a.y, a.z); }
inline __device__ float4 make_float4(float s) { return every_float4(s); }
inline __device__ float4 make_float4(float3 a, float w) { return make_float4(a.x, a.y, a.z, w); }
inline __device__ float dot(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
inline __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline __device__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
template <typename V> inline __device__ float length(V a) { return sqrtf(dot(a, a)); }
template <typename V> inline __device__ V normalize(V a) { return a * rsqrtf(dot(a, a)); }

#undef PAIRWISE
#undef EVERY
#undef OF2
#undef OF3
#undef OF4
#undef F2
#undef F3
#undef F4
#undef I2
#undef I3
#undef I4
