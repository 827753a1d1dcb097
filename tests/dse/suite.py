"""Kernels in the manner of public suites: counted, written, read back and evaluated.

``python -m tests.dse.suite`` counts each for all architectures and prints where requests differ:
loads and stores are what the source says, so that no compiler may change them.
"""
# ruff: noqa: E501

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dse
from symbolic.errors import DseError
from tests.dse.guarding import ARCHS

MODEL = "occupancy + latency_roofline + footprint"
MACHINES = ("a100_80", "v100_sxm2")
#: What every architecture asks of memory alike, of one warp on average.
REQUESTS = ("global_load_requests", "global_store_requests", "atomic_requests")
SHARED = ("shared_load_requests", "shared_store_requests")


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel with its launch."""

    text: str
    block: tuple[int, ...]
    grid: tuple[int, ...]
    set: dict[str, int] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)


GID = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
SUITE: dict[str, Case] = {
    "copy": Case(
        f"__global__ void copy(const float *IN, float *OUT, int N) {{ {GID} if (i < N) OUT[i] = IN[i]; }}",
        (256,), (64,), {"N": 16000},
    ),
    "saxpy": Case(
        f"__global__ void saxpy(const float *x, float *y, float a, int n) {{ {GID} "
        "for (; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i]; }",
        (128,), (40,), {"n": 100000},
    ),
    "matmul": Case(
        "__global__ void matmul(const float *A, const float *B, float *C, int N) {\n"
        "int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "float s = 0; for (int k = 0; k < N; k++) s += A[r * N + k] * B[k * N + c];\n"
        "C[r * N + c] = s; }",
        (16, 16), (8, 8), {"N": 128},
    ),
    "tiled": Case(
        "__global__ void tiled(const float *A, const float *B, float *C, int N) {\n"
        "__shared__ float a[16][16], b[16][16]; int x = threadIdx.x, y = threadIdx.y;\n"
        "int r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x; float s = 0;\n"
        "for (int t = 0; t < N / 16; t++) { a[y][x] = A[r * N + t * 16 + x];\n"
        "b[y][x] = B[(t * 16 + y) * N + c]; __syncthreads();\n"
        "for (int k = 0; k < 16; k++) s += a[y][k] * b[k][x]; __syncthreads(); }\n"
        "C[r * N + c] = s; }",
        (16, 16), (8, 8), {"N": 128},
    ),
    "transpose": Case(
        "__global__ void transpose(const float *in, float *out, int W, int H) {\n"
        "__shared__ float t[32][33]; int x = blockIdx.x * 32 + threadIdx.x;\n"
        "int y = blockIdx.y * 32 + threadIdx.y;\n"
        "for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * W + x];\n"
        "__syncthreads(); x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;\n"
        "for (int j = 0; j < 32; j += 8) out[(y + j) * H + x] = t[threadIdx.x][threadIdx.y + j]; }",
        (32, 8), (16, 16), {"W": 512, "H": 512},
    ),
    "stencil3": Case(
        f"__global__ void stencil3(const float *u, float *v, int n) {{ {GID} "
        "if (i > 0 && i < n - 1) v[i] = 0.25f * u[i - 1] + 0.5f * u[i] + 0.25f * u[i + 1]; }",
        (256,), (32,), {"n": 8192},
    ),
    "jacobi": Case(
        "__global__ void jacobi(const double *U, double *V, int NX, int NY) {\n"
        "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1)\n"
        "V[y * NX + x] = 0.25 * (U[y * NX + x - 1] + U[y * NX + x + 1] + U[(y - 1) * NX + x] +\n"
        "U[(y + 1) * NX + x]); }",
        (32, 8), (8, 32), {"NX": 250, "NY": 256},
    ),
    "heat3d": Case(
        "__global__ void heat3d(const float *a, float *b, int NX, int NY, int NZ) {\n"
        "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "if (x < 1 || y < 1 || x >= NX - 1 || y >= NY - 1) return;\n"
        "for (int z = 1; z < NZ - 1; z++) { int i = (z * NY + y) * NX + x;\n"
        "b[i] = a[i] + 0.1f * (a[i - 1] + a[i + 1] + a[i - NX] + a[i + NX] + a[i - NX * NY] +\n"
        "a[i + NX * NY] - 6 * a[i]); } }",
        (32, 4), (2, 16), {"NX": 64, "NY": 64, "NZ": 33},
    ),
    "reduce": Case(
        "__global__ void reduce(const float *x, float *out, int n) { __shared__ float s[256];\n"
        "int t = threadIdx.x; float a = 0;\n"
        "for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) a += x[i];\n"
        "s[t] = a; __syncthreads();\n"
        "for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; "
        "__syncthreads(); }\n"
        "if (t == 0) out[blockIdx.x] = s[0]; }",
        (256,), (32,), {"n": 65536},
    ),
    "warpsum": Case(
        f"__global__ void warpsum(const int *x, int *out) {{ {GID} int a = x[i];\n"
        "for (int d = 16; d > 0; d >>= 1) a += __shfl_down_sync(0xffffffff, a, d);\n"
        "if (threadIdx.x % 32 == 0) out[i / 32] = a; }",
        (128,), (16,),
    ),
    "scan": Case(
        "__global__ void scan(const int *x, int *y) { __shared__ int s[512]; int t = threadIdx.x;\n"
        "s[t] = x[blockIdx.x * 512 + t]; __syncthreads();\n"
        "for (int d = 1; d < 512; d *= 2) { int v = t >= d ? s[t - d] : 0; __syncthreads();\n"
        "s[t] += v; __syncthreads(); } y[blockIdx.x * 512 + t] = s[t]; }",
        (512,), (8,),
    ),
    "histogram": Case(
        "__global__ void histogram(const unsigned char *data, int *bins, int N) {\n"
        "__shared__ int s[256]; s[threadIdx.x] = 0; __syncthreads();\n"
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)\n"
        "atomicAdd(&s[data[i]], 1); __syncthreads(); atomicAdd(&bins[threadIdx.x], s[threadIdx.x]); }",
        (256,), (16,), {"N": 1 << 16},
    ),
    "softmax": Case(
        "__global__ void softmax(const float *x, float *y, int D) { __shared__ float s[128];\n"
        "const float *row = x + blockIdx.x * D; int t = threadIdx.x; float m = -1e30f;\n"
        "for (int i = t; i < D; i += 128) m = fmaxf(m, row[i]);\n"
        "s[t] = m; __syncthreads();\n"
        "for (int k = 64; k > 0; k /= 2) { if (t < k) s[t] = fmaxf(s[t], s[t + k]); __syncthreads(); }\n"
        "m = s[0]; __syncthreads(); float a = 0;\n"
        "for (int i = t; i < D; i += 128) a += __expf(row[i] - m);\n"
        "s[t] = a; __syncthreads();\n"
        "for (int k = 64; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }\n"
        "for (int i = t; i < D; i += 128) y[blockIdx.x * D + i] = __expf(row[i] - m) / s[0]; }",
        (128,), (64,), {"D": 1000},
    ),
    "spmv_ell": Case(
        f"__global__ void spmv_ell(const float *A, const int *J, const float *x, float *y, int ROWS, "
        f"int K) {{ {GID} if (i >= ROWS) return; float s = 0;\n"
        "for (int k = 0; k < K; k++) s += A[k * ROWS + i] * x[J[k * ROWS + i]]; y[i] = s; }",
        (128,), (32,), {"ROWS": 4000, "K": 27},
    ),
    "spmv_csr": Case(
        f"__global__ void spmv_csr(const int *p, const int *j, const float *a, const float *x, "
        f"float *y, int n) {{ {GID} if (i < n) {{ float s = 0;\n"
        "for (int k = p[i]; k < p[i + 1]; k++) s += a[k] * x[j[k]]; y[i] = s; } }",
        (128,), (32,), {"n": 4096}, {"loaded_line_2": 0, "loaded_line_2_2": 27},
    ),
    "nbody": Case(
        f"__global__ void nbody(const float4 *p, float3 *f, int N) {{ {GID} float4 a = p[i];\n"
        "float fx = 0, fy = 0, fz = 0;\n"
        "for (int j = 0; j < N; j++) { float4 b = p[j]; float x = b.x - a.x, y = b.y - a.y, "
        "z = b.z - a.z;\n"
        "float r = rsqrtf(x * x + y * y + z * z + 1e-6f); r = b.w * r * r * r;\n"
        "fx += r * x; fy += r * y; fz += r * z; }\n"
        "f[i] = make_float3(fx, fy, fz); }",
        (128,), (16,), {"N": 2048},
    ),
    "bitonic": Case(
        f"__global__ void bitonic(int *v, int J, int K) {{ {GID} int o = i ^ J;\n"
        "if (o > i) { int a = v[i], b = v[o]; bool up = (i & K) == 0;\n"
        "v[i] = up ? min(a, b) : max(a, b); v[o] = up ? max(a, b) : min(a, b); } }",
        (256,), (16,), {"J": 64, "K": 512},
    ),
    "oddeven": Case(
        "__global__ void oddeven(int *v, int PHASES) { __shared__ int s[256]; int t = threadIdx.x;\n"
        "s[t] = v[blockIdx.x * 256 + t]; __syncthreads();\n"
        "for (int p = 0; p < PHASES; p++) { if (t % 2 == p % 2 && t < 255) {\n"
        "int a = s[t], b = s[t + 1]; s[t] = min(a, b); s[t + 1] = max(a, b); } __syncthreads(); }\n"
        "v[blockIdx.x * 256 + t] = s[t]; }",
        (256,), (8,), {"PHASES": 17},
    ),
    "gemv": Case(
        "__global__ void gemv(const float *A, const float *x, float *y, int M, int N) {\n"
        "int r = blockIdx.x; float s = 0; if (r < M) {\n"
        "for (int c = threadIdx.x; c < N; c += blockDim.x) s += A[r * N + c] * x[c];\n"
        "for (int d = 16; d; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);\n"
        "if (threadIdx.x == 0) y[r] = s; } }",
        (32,), (100,), {"M": 100, "N": 777},
    ),
    "conv1d": Case(
        f"__global__ void conv1d(const float *x, const float *w, float *y, int N) {{ {GID}\n"
        "float s = 0; for (int k = -4; k <= 4; k++) if (i + k >= 0 && i + k < N) "
        "s += w[k + 4] * x[i + k];\nif (i < N) y[i] = s; }",
        (128,), (8,), {"N": 1000},
    ),
    "tail": Case(
        f"__global__ void tail(int len, int reps, const float *in, float *out) {{ {GID}\n"
        "if (i >= len) return; float s = 0; for (int a = i; a < len; a++)\n"
        "for (int r = 0; r < reps; r++) s += in[r * len + a]; out[i] = s; }",
        (128,), (4,), {"len": 512, "reps": 3},
    ),
    "lu_row": Case(
        "__global__ void lu_row(float *A, int N, int K) {\n"
        "int c = K + 1 + blockIdx.x * blockDim.x + threadIdx.x, r = K + 1 + blockIdx.y;\n"
        "if (c < N && r < N) A[r * N + c] -= A[r * N + K] * A[K * N + c]; }",
        (64,), (4, 200), {"N": 256, "K": 55},
    ),
    "floyd": Case(
        "__global__ void floyd(int *D, int n, int k) {\n"
        "int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;\n"
        "if (x < n && y < n) { int v = D[y * n + k] + D[k * n + x]; D[y * n + x] = "
        "min(D[y * n + x], v); } }",
        (16, 16), (7, 7), {"n": 100, "k": 3},
    ),
    "pathfinder": Case(
        (Path(__file__).with_name("ghost_zones.cu")).read_text(),
        (256,), (20,), {"sweeps": 20, "width": 4000, "zone": 20, "first": 0},
    ),
    "register_tile": Case(
        (Path(__file__).with_name("register_tile.cu")).read_text(),
        (256,), (4, 4), {"n": 512, "depth": 512},
    ),
    "unrolled": Case(
        f"__global__ void unrolled(float *values, float by, int n) {{ {GID}\n"
        "for (int p = 0; p < n; p++) values[i] = values[i] * by + p; }",
        (256,), (16,), {"n": 64},
    ),
    "montecarlo": Case(
        f"__global__ void montecarlo(float *out, int STEPS) {{ {GID} unsigned s = i * 747796405u;\n"
        "float a = 0; for (int k = 0; k < STEPS; k++) { s = s * 1664525u + 1013904223u;\n"
        "a += __logf((s >> 8) * 5.96e-8f + 1e-9f); } out[i] = a; }",
        (128,), (8,), {"STEPS": 100},
    ),
    "mandel": Case(
        f"__global__ void mandel(int *out, int W, int MAXIT) {{ {GID} float c = i * 0.001f, z = 0;\n"
        "int k = 0;\n#pragma unroll 1\nfor (; k < MAXIT; k++) z = z * z + c; out[i] = (int)z; }",
        (128,), (8,), {"MAXIT": 50},
    ),
    "switching": Case(
        f"__global__ void switching(volatile int *x, volatile int *y, int mode, int n) {{ {GID}\n"
        "int a = x[i]; switch (mode) { case 0: a = y[i] + 3; break;\n"
        "case 1: a = y[i] * y[i + 1]; break; case 2: y[i] = a; y[i + 2] = a + 1; a ^= 77; break;\n"
        "case 3: a = a / 7 + y[i] + y[i + 9] + y[i + 3]; break;\n"
        "case 4: for (int k = 0; k < n; k++) a += y[k]; break; case 5: y[5] = 3; a = a * a; break;\n"
        "case 6: a = y[2] % 5; break; case 9: y[0] = 1; y[1] = 2; y[2] = 3; break; default: a = -1; }\n"
        "x[i] = a; }",
        (64,), (4,), {"mode": 4, "n": 10},
    ),
    "search": Case(
        f"__global__ void search(volatile const int *x, int *out, int N, int LIMIT) {{ {GID}\n"
        "int found = -1; for (int k = 0; k < N; k++) { if (k * 3 > LIMIT + threadIdx.x) break;\n"
        "found += x[k * 64 + threadIdx.x]; } out[i] = found; }",
        (64,), (4,), {"N": 100, "LIMIT": 120},
    ),
    "wavefront": Case(
        "__global__ void wavefront(int *M, int S) { __shared__ int s[33][33]; int t = threadIdx.x;\n"
        "for (int d = 0; d < 2 * 32 - 1; d++) { if (t <= d && d - t < 32)\n"
        "s[t + 1][d - t + 1] = max(s[t][d - t], s[t + 1][d - t]) + 1; __syncthreads(); }\n"
        "for (int r = 0; r < 32; r++) M[(blockIdx.x * 32 + r) * S + t] = s[r + 1][t + 1]; }",
        (32,), (4,), {"S": 32},
    ),
    "layernorm": Case(
        "__global__ void layernorm(const float *x, const float *_g, float *y, int D) {\n"
        "__shared__ float s[2]; if (threadIdx.x < 2) s[threadIdx.x] = 0; __syncthreads();\n"
        "float a = 0, b = 0; for (int i = threadIdx.x; i < D; i += blockDim.x) {\n"
        "float v = x[blockIdx.x * D + i]; a += v; b += v * v; }\n"
        "atomicAdd(&s[0], a); atomicAdd(&s[1], b); __syncthreads(); float m = s[0] / D;\n"
        "for (int i = threadIdx.x; i < D; i += blockDim.x)\n"
        "y[blockIdx.x * D + i] = (x[blockIdx.x * D + i] - m) * _g[i]; }",
        (256,), (32,), {"D": 768}, {"trips_line_5": 1, "trips_line_5_2": 1},
    ),
    "rgb": Case(
        f"__global__ void rgb(const uchar4 *in, unsigned char *out, int Width, int _height) {{ {GID}\n"
        "if (i < Width * _height) { uchar4 p = in[i]; out[i] = (p.x * 77 + p.y * 151 + p.z * 28) >> 8; "
        "} }",
        (256,), (64,), {"Width": 127, "_height": 100},
    ),
}  # fmt: skip


def count_case(name: str, arch: str, folder: Path) -> Any:
    """Return the counts of a kernel of the suite."""
    case = SUITE[name]
    path = folder / f"{name}.cu"
    path.write_text(case.text)
    about: dict[str, Any] = {"block": case.block, "grid": case.grid, "arch": arch}
    return dse.kernel(path, dict(case.times), set=case.set, **about)


def requests(counts: Any, names: tuple[str, ...] = REQUESTS) -> dict[str, float]:
    """Return the requests of a warp, by class."""
    return {name: round(counts.numbers.get(name, 0.0), 6) for name in names}


def differences(name: str, folder: Path, archs: tuple[str, ...] = ARCHS) -> Iterator[str]:
    """Yield in what architectures differ from the first."""
    first: dict[str, float] = {}
    for arch in archs:
        result = requests(count_case(name, arch, folder), (*REQUESTS, *SHARED))
        first = first or result
        for each, number in result.items():
            if number != first[each]:
                yield f"{each}: {first[each]} of {archs[0]}, {number} of {arch}"


def main() -> int:
    """Print in what architectures differ."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in SUITE:
            try:
                result = list(differences(name, Path(folder)))
            except DseError as error:
                result = [f"refused: {error}"]
            wrong += bool(result)
            print(f"{name}: {'; '.join(result) or 'the same'}", flush=True)
    print(f"{len(SUITE)} kernels for {len(ARCHS)} architectures, {wrong} with other requests")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
