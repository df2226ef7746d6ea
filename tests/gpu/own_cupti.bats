# Which libcupti the agent takes, and that a program that maps one of its own is not disturbed: fake ones here, real ones
# in real_driver.bats.

load fake.bash

setup_file() {
	local t=$BATS_FILE_TMPDIR
	[ -e tests/gpu/own_cupti.c ] || return 0
	mkdir -p "$t/new"
	gcc -shared -fpic -O1 -w -DFAKE_VERSION=12 -DFAKE_API_VERSION=28 -DNEWEST -Wl,-soname,libcupti.so.12 -D_GNU_SOURCE -I. \
		-o "$t/new/libcupti.so.12" tests/gpu/fake_{cupti,pc,records,buffers,clock}.c tests/gpu/own_cupti.c
	ln -s libcupti.so.12 "$t/new/libcupti.so"
	gcc -O1 -w -o "$t/own_cupti" tests/gpu/own_cupti.c
	gcc -shared -fpic -w -DLIBRARY -DNEEDED=cuptiNewest -Wl,--disable-new-dtags,-rpath,"$t/new" -o "$t/library.so" \
		tests/gpu/own_cupti.c -L"$t/new" -lcupti
	gcc -shared -fpic -w -Wl,-z,lazy -Wl,--disable-new-dtags,-rpath,"$t/new" -o "$t/competitor.so" \
		tests/gpu/competing_profiler.c -L"$t/new" -lcupti -ldl
}

setup() {
	fake_setup
	[ -e tests/gpu/own_cupti.c ] || skip 'no sources here'
	PROGRAM=$BATS_FILE_TMPDIR/own_cupti
	OLD=$BUILD/tests/gpu/cuda12
}

@test "a program that loads a newer libcupti after cuInit works, and is recorded with the older one" {
	"$PROGRAM" "$BATS_FILE_TMPDIR/library.so" 100 >"$BATS_TEST_TMPDIR/without"
	for way in named searched; do
		[ $way = named ] || { unset SPROF_CUPTI; export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$OLD; }
		record -- "$PROGRAM" "$BATS_FILE_TMPDIR/library.so" 100
		echo "$way: $(cat "$t/got")"
		grep -qx 'own libcupti 28' <<<"$output"
		diff "$BATS_TEST_TMPDIR/without" <(grep -e '^cuInit' -e '^own' -e '^launched' <<<"$output")
		grep -qx 'cupti 26 libcupti.so.12' <<<"$output"
		[ "$(fold_sum kernel count)" -eq 100 ]
	done
}

# bats test_tags=full
@test "a profiler with a libcupti of its own gets the driver, and sprof gets it back" {
	COMPETITOR=$BATS_FILE_TMPDIR/competitor.so record --records -- "$WORK" launch:100 competitor:50 idle:6000 launch:200
	echo "$output" | grep -v -e '^record' -e '^api'
	grep -q '^competitor error 0 kernels 50 ' <<<"$output"
	grep -q '^failure 2 .*competitor.so subscribes to CUPTI and gets it' <<<"$output"
	[ "$(fold_sum kernel count)" -eq 300 ]
}

# Puts the older libcupti where $1 says and the newer one where $2 says, and prints the version that was taken.
taken() { # folder of the older, folder of the newer, launches
	mkdir -p "$1" "$2"
	cp "$OLD/libcupti.so.12" "$1"
	cp "$BATS_FILE_TMPDIR/new/libcupti.so.12" "$2"
	record -- "$PROGRAM" - 10
	[ "$(fold_sum kernel count)" -eq 10 ]
	sed -n 's/^cupti //p' <<<"$output"
}

# bats test_tags=full
@test "the newest libcupti is taken, of wheels, conda environments, toolkits and search paths" {
	local t=$BATS_TEST_TMPDIR way folder
	unset SPROF_CUPTI
	for way in "CONDA_PREFIX=$t/0 lib" "VIRTUAL_ENV=$t/1 lib/python3.12/site-packages/nvidia/cuda_cupti/lib" \
		"PYTHONPATH=$t/2 nvidia/cuda_cupti/lib" "CUDA_HOME=$t/3 extras/CUPTI/lib64"; do
		export "${way%% *}"
		folder=$(sed 's/^[^=]*=//; s/ /\//' <<<"$way")
		LD_LIBRARY_PATH=$BUILD/tests/gpu:$t/old taken "$t/old" "$folder" >"$t/got"
		echo "$way: $(cat "$t/got")"
		grep -qx '28 libcupti.so.12' "$t/got"
		LD_LIBRARY_PATH=$BUILD/tests/gpu:$t/old2 taken "$folder" "$t/old2" >"$t/got"
		echo "$way, the other way round: $(cat "$t/got")"
		grep -qx '28 libcupti.so.12' "$t/got"
		unset "${way%%=*}"
		rm -r "$t"/*
	done
}

@test "a libcupti that the driver does not know is passed over" {
	unset SPROF_CUPTI
	LD_LIBRARY_PATH=$BUILD/tests/gpu:$BUILD/tests/gpu/cuda13:$OLD FAKE_DRIVER_VERSION=12020 record -- "$PROGRAM" - 10
	grep -qx 'cupti 26 libcupti.so.12' <<<"$output"
	LD_LIBRARY_PATH=$BUILD/tests/gpu:$BUILD/tests/gpu/cuda13:$OLD FAKE_DRIVER_VERSION=13000 record -- "$PROGRAM" - 10
	grep -qx 'cupti 130000 libcupti.so.13' <<<"$output"
}

@test "frames of a libcuda without symbols have the names of the API's functions" {
	local t=$BATS_TEST_TMPDIR
	strip -s -o "$t/libcuda.so.1" "$BUILD/tests/gpu/libcuda.so.1"
	LD_LIBRARY_PATH=$t run --separate-stderr timeout 60 "$SPROF" record -s timer --gpu on -o "$t/g.data" -- "$PROGRAM" - 50
	[ "$status" -eq 0 ]
	"$SPROF" fold --column gpu "$t/g.data" >"$t/got"
	cat "$t/got"
	grep -Eq 'main;(launch;)?cuLaunchKernel;cuLaunchKernel;kernel_\[g\] 50000$' "$t/got"
}

# Of a stripped library the exported function keeps its name; the function inside it has none.
@test "frames of a libcudart without symbols have the names of the API's functions" {
	local t=$BATS_TEST_TMPDIR
	cat >"$t/runtime.c" <<-'END'
		typedef int launcher(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
		static volatile int calls;
		static __attribute__((noinline)) int inside(launcher *launch, void *kernel)
		{
			int err = launch(kernel, 10, 1, 1, 1, 1, 1, 0, 0, 0, 0);

			calls++;
			return err;
		}
		int cudaLaunchKernel(void *launch, void *kernel)
		{
			int err = inside(launch, kernel);

			calls++;
			return err;
		}
	END
	cat >"$t/user.c" <<-'END'
		#include <dlfcn.h>
		int cudaLaunchKernel(void *, void *);
		int main(void)
		{
			void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *kernel;
			int (*init)(unsigned) = dlsym(cuda, "cuInit");
			int (*get)(void **, void *, const char *) = dlsym(cuda, "cuModuleGetFunction");
			int err = init(0) || get(&kernel, 0, "kernel");

			for (int i = 0; !err && i < 50; i++)
				err = cudaLaunchKernel(dlsym(cuda, "cuLaunchKernel"), kernel);
			return err;
		}
	END
	gcc -shared -fpic -O1 -s -Wl,-soname,libcudart.so.12 -o "$t/libcudart.so.12" "$t/runtime.c"
	gcc -O1 -o "$t/user" "$t/user.c" "$t/libcudart.so.12" -ldl
	strip -s -o "$t/libcuda.so.1" "$BUILD/tests/gpu/libcuda.so.1"
	LD_LIBRARY_PATH=$t run --separate-stderr timeout 60 "$SPROF" record -s timer --gpu on -o "$t/g.data" -- "$t/user"
	[ "$status" -eq 0 ]
	"$SPROF" fold --column gpu "$t/g.data" >"$t/got"
	cat "$t/got"
	grep -Eq 'main;cudaLaunchKernel(;cuLaunchKernel){3};kernel_\[g\] 50000$' "$t/got"
}
