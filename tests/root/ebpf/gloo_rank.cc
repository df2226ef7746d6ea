// One rank of a job over gloo: gloo_rank STEPS FOLDER. A step computes for 300 us of CPU time and
// sums over all ranks; the ranks find each other in the folder.
//
//	RANK, WORLD_SIZE	its place, as torchrun tells it
//	LATE=RANK:STEP:MS	this rank is late in this step
//	LOST=RANK		this rank leaves before the last step: the others get an exception
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <sched.h>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

// Keeps calls from being tail calls: tests assert the frames of this program.
static volatile int calls;

static double now(clockid_t clock)
{
	timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

extern "C" __attribute__((noinline)) void compute()
{
	double end = now(CLOCK_THREAD_CPUTIME_ID) + 300e-6;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		calls = calls + 1;
}

extern "C" __attribute__((noinline)) void load_batch(double ms)
{
	double end = now(CLOCK_MONOTONIC) + ms / 1000;

	while (now(CLOCK_MONOTONIC) < end)
		calls = calls + 1;
}

static void add(void *to, const void *a, const void *b, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		((float *)to)[i] = ((const float *)a)[i] + ((const float *)b)[i];
}

static void sum(const std::shared_ptr<gloo::Context> &context, float *in, float *out, size_t nr,
		int step)
{
	gloo::AllreduceOptions options(context);

	options.setInput(in, nr);
	options.setOutput(out, nr);
	options.setReduceFunction(add);
	options.setTag((uint32_t)step);
	gloo::allreduce(options);
}

int main(int argc, char **argv)
{
	int nr_steps = argc == 3 ? atoi(argv[1]) : 0, rank = atoi(getenv("RANK")),
	    nr = atoi(getenv("WORLD_SIZE"));
	const char *late = getenv("LATE"), *lost = getenv("LOST");
	int late_rank = -1, late_step = -1;
	double late_ms = 0;
	float in[256] = { 1 }, out[256] = { 0 };

	if (late && sscanf(late, "%d:%d:%lf", &late_rank, &late_step, &late_ms) != 3)
		return 2;
	// No other program is to make a rank late; threads inherit it.
	sched_param real_time = {};
	real_time.sched_priority = 1;
	sched_setscheduler(0, SCHED_FIFO, &real_time);
	gloo::transport::tcp::attr where;
	where.hostname = "localhost";
	auto device = gloo::transport::tcp::CreateDevice(where);
	gloo::rendezvous::FileStore store(argv[2]);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, nr);
	context->connectFullMesh(store, device);

	gloo::BarrierOptions barrier(context);
	gloo::barrier(barrier);
	try {
		for (int step = 0; step < nr_steps; step++) {
			compute();
			if (rank == late_rank && step == late_step)
				load_batch(late_ms);
			if (lost && atoi(lost) == rank && step == nr_steps - 1)
				return 0;
			sum(context, in, out, 256, step);
		}
	} catch (const std::exception &e) {
		printf("lost\n");
		return 0;
	}
	printf("sum %g\n", (double)out[0]);
	return 0;
}
