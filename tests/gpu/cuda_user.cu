// A CUDA C program, for nvcc: the launches that <<<>>> makes, through the runtime. Prints what it ran.
#include <cstdio>
#include <cstdlib>

__global__ void multiply(const float *a, const float *b, float *c, int n)
{
	int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (int i = 0; i < n; i++)
		sum += a[row * n + i] * b[i * n + column];
	c[row * n + column] = sum;
}

__global__ void add(float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		a[i] += b[i];
}

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "cuda_user: %s\n", cudaGetErrorString(error));
	exit(3);
}

int main(int argc, char **argv)
{
	const int n = 512, rounds = argc > 1 ? atoi(argv[1]) : 100;
	const size_t bytes = sizeof(float) * n * n;
	float *a, *b, *c, *host = (float *)calloc(n * n, sizeof(float)), ms;
	cudaEvent_t before, after;

	check(cudaMalloc(&a, bytes));
	check(cudaMalloc(&b, bytes));
	check(cudaMalloc(&c, bytes));
	check(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
	check(cudaMemset(b, 0, bytes));
	check(cudaEventCreate(&before));
	check(cudaEventCreate(&after));
	check(cudaEventRecord(before));
	for (int i = 0; i < rounds; i++) {
		multiply<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
		add<<<n * n / 256, 256>>>(c, a, n * n);
	}
	check(cudaEventRecord(after));
	check(cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost));
	check(cudaEventElapsedTime(&ms, before, after));
	printf("cuda multiply=%d add=%d events_ns=%.0f\n", rounds, rounds, ms * 1e6);
	return 0;
}
