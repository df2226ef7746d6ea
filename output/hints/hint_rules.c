/*
 * lint: table. The rules of hints in one place: which functions they look for, from which share of
 * the time they apply, and what they say.
 */
#include "output/hints/hint_rules.h"

#include "core/profile/profile.h"

enum {
	SYSTEM = HINT_MARK_SYSTEM,
	PYTHON = 1 << 1,
	WAIT_FOR_DATA = 1 << 2,
	FETCH = HINT_MARK_FETCH,
	WORKER = HINT_MARK_WORKER,
	SYNC = 1 << 5,
	ITEM = 1 << 6,
	COPY = 1 << 7,
	DEVICE_COPY = 1 << 8,
	SPIN = 1 << 9,
	IMPORT = 1 << 10,
	GPU_START = 1 << 11,
	COMPILE = 1 << 12,
	GC = 1 << 13,
	GIL_WAIT = 1 << 14,
};

enum {
	TIMES = 1 << COLUMN_CPU | 1 << COLUMN_COUNT | 1 << COLUMN_WALL,
	WAITS = 1 << COLUMN_COUNT | 1 << COLUMN_WALL,
	DEVICE = 1 << COLUMN_COUNT | 1 << COLUMN_GPU,
};

#define ANY_SCOPE "([^ (]*\\.)?"

const struct hint_mark hint_marks[] = {
	{ SYSTEM, "kind:^kernel$" },
	{ SYSTEM, "^(__)?(sched_yield|syscall|futex_wait|futex|poll|select|pselect64|nanosleep)$" },
	{ SYSTEM, "kind:^wait$" },
	{ PYTHON, "kind:^python$" },
	{ GIL_WAIT, "^(GIL wait$|take_gil(\\.|$))" },
	{ WAIT_FOR_DATA, "^" ANY_SCOPE "(_try_get_data|_get_data) \\(dataloader\\.py:" },
	{ FETCH, "^" ANY_SCOPE "fetch \\(fetch\\.py:" },
	{ WORKER, "^_worker_loop \\(worker\\.py:" },
	{ SYNC, "^(cuda(Stream|Device|Event|Thread)Synchronize|cu(Stream|Ctx|Event)Synchronize)" },
	{ ITEM, "^at::(_ops::|native::)?(_local_scalar_dense|item)\\b" },
	{ ITEM, "^(aten::(item|_local_scalar_dense)|THPVariable_item)\\b" },
	{ COPY, "^(cudaMemcpy(Async)?|cuMemcpy(HtoD|DtoH|DtoD)?(Async)?(_v2)?)\\b" },
	{ DEVICE_COPY, "^\\[copy host to device\\]$" },
	{ SPIN, "mod:^lib(gomp|iomp5|omp)[-.]" },
	{ SPIN, "^(gomp_(team_)?barrier_wait(_end)?|gomp_team_end|do_(spin|wait))\\b" },
	{ SPIN, "^(__kmp_|(void |bool )?__kmp_wait_|kmp_flag_)" },
	{ SPIN, "^(blas_thread_server|exec_blas(_async_wait)?$)" },
	{ IMPORT, "^_find_and_load \\((<frozen importlib\\._bootstrap>|_bootstrap\\.py):" },
	{ GPU_START, "^(cuInit|cuDevicePrimaryCtxRetain|cuModuleLoad|cuLibraryLoadData)" },
	{ COMPILE, "file:torch/(_dynamo|_inductor)/" },
	{ COMPILE, "^" ANY_SCOPE
		   "_?compile[a-z_]* \\((convert_frame|compile_fx|compiler|async_compile)\\.py:" },
	{ COMPILE, "^nvrtcCompileProgram" },
	{ GC, "^(gc_collect_(main|generations|with_callback|region)|_?PyGC_Collect|_Py_RunGC)\\b" },
	{ 0, NULL },
};

const struct hint_rule hint_rules[] = {
	{ .code = "data-wait",
	  .title = "waiting for the workers of a DataLoader",
	  .remedy = "if the workers load all the time, more of them (num_workers) or faster "
		    "loading; if they do not, a larger prefetch_factor, and "
		    "persistent_workers=True",
	  .columns = WAITS,
	  .inner = WAIT_FOR_DATA,
	  .without = WORKER,
	  .min_percent = 10,
	  .of_threads = true,
	  .names_workers = true },
	{ .code = "gil-wait",
	  .title = "threads wait for Python's global interpreter lock",
	  .remedy =
		  "move what holds it to other processes (multiprocessing, DataLoader workers) or "
		  "into calls that release it; more threads do not run Python code faster",
	  .columns = WAITS,
	  .inner = GIL_WAIT,
	  .min_percent = 10,
	  .of_threads = true,
	  .names_holder = true },
	{ .code = "data-main",
	  .title = "loading data in the thread that uses it",
	  .remedy = "DataLoader(num_workers=N) loads it in other processes at the same time",
	  .columns = TIMES,
	  .inner = FETCH,
	  .without = WORKER,
	  .min_percent = 10 },
	{ .code = "sync-item",
	  .title = "waiting for the GPU to read one number (.item(), float(), if tensor:)",
	  .remedy = "keep the number on the GPU (detach it, add it up there) and read it every N "
		    "steps",
	  .columns = TIMES,
	  .outer = ITEM,
	  .inner = SYNC,
	  .min_percent = 5 },
	{ .code = "sync",
	  .title = "waiting for the GPU",
	  .remedy = ".cpu(), .numpy(), print(tensor) and synchronize() wait for all that was "
		    "launched: do it once per N steps, or copy with non_blocking=True",
	  .columns = TIMES,
	  .outer = PYTHON,
	  .inner = SYNC,
	  .without = ITEM,
	  .min_percent = 5 },
	{ .code = "copy-host",
	  .title = "the host is busy copying to or from the GPU",
	  .remedy = "pin_memory=True in the DataLoader and .to(device, non_blocking=True); one "
		    "copy per batch in place of many small ones",
	  .columns = TIMES,
	  .inner = COPY,
	  .without = SYNC,
	  .min_percent = 5 },
	{ .code = "copy-device",
	  .title = "the GPU is busy with copies from the host",
	  .remedy = "keep on the GPU what is used again, copy smaller types (uint8, bfloat16) and "
		    "convert there; sprof report --memcpy says how much is copied",
	  .columns = DEVICE,
	  .inner = DEVICE_COPY,
	  .min_percent = 10,
	  .is_leaf = true },
	{ .code = "threads",
	  .title = "threads of OpenMP or BLAS wait for each other",
	  .remedy = "fewer threads: OMP_NUM_THREADS=N or torch.set_num_threads(N), no more than "
		    "there are cores for all processes together",
	  .columns = TIMES,
	  .inner = SPIN,
	  .min_percent = 15,
	  .is_leaf = true },
	{ .code = "imports",
	  .title = "importing modules",
	  .remedy = "sprof imports says which; record for longer, or attach with -p, to see the "
		    "program itself",
	  .columns = TIMES,
	  .inner = IMPORT,
	  .min_percent = 30,
	  .says_when = true },
	{ .code = "warm-up",
	  .title = "start-up is part of this profile: imports, start of the GPU, compilation",
	  .remedy = "leave it out with --from, or attach with -p once the program has warmed up",
	  .columns = TIMES,
	  .inner = IMPORT | GPU_START | COMPILE,
	  .min_percent = 5,
	  .says_when = true,
	  .unless = "imports" },
	{ .code = "gc",
	  .title = "Python's garbage collection",
	  .remedy = "gc.freeze() after start-up and a higher gc.set_threshold(), or gc.disable() "
		    "and a gc.collect() where a pause does no harm",
	  .columns = TIMES,
	  .inner = GC,
	  .min_percent = 5 },
	{ 0 },
};
