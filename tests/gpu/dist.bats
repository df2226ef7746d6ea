# The archive of `make dist`: unpacked into an empty folder it runs without anything from this tree.

setup() {
	bats_require_minimum_version 1.5.0
	local archive=("$BUILD"/sprof-*.tar.gz)
	[ -e "${archive[0]}" ] || skip 'no archive: make dist'
	cd "$BATS_TEST_TMPDIR"
	tar xzf "${archive[0]}"
	cd sprof-*
	ROOT=$PWD
}

# Runs a command with an empty environment.
alone() {
	env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH= "$@"
}

needed() {
	readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | paste -sd ' '
}

newest_glibc() {
	readelf -VW "$1" | sed -n 's/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' | sort -V | tail -1
}

not_newer() { # version, limit
	[ "$(printf '%s\n' "$1" "$2" | sort -V | tail -1)" = "$2" ]
}

@test "nothing but glibc 2.28 is needed" {
	# Before 2.34 a part of glibc was in three libraries of its own.
	[ "$(needed bin/sprof)" = 'libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1' ]
	for program in bin/sprof lib/sprof/libsprof.so lib/sprof/libsprof-gpu.so; do
		not_newer "$(newest_glibc $program)" 2.28
	done
	! readelf -dW bin/sprof | grep -e RPATH -e RUNPATH || false
}

@test "manual pages and completions are in it" {
	for page in "$BATS_TEST_DIRNAME"/../../docs/man/*.1; do
		cmp "$page" "share/man/man1/$(basename "$page")"
	done
	bin/sprof completion bash | cmp - share/bash-completion/completions/sprof
	bin/sprof completion zsh | cmp - share/zsh/site-functions/_sprof
	bin/sprof completion fish | cmp - share/fish/vendor_completions.d/sprof.fish
}

# Start files of this glibc leave constructors to glibc, and an older one does not know that.
@test "constructors are run by the program's own start, once, whatever the glibc" {
	[ "$(nm "$BUILD/dist/sprof" | grep -c ' run_constructors$')" -eq 1 ]
	cat >constructed.c <<-'EOT'
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/stat.h>
		static int nr;
		__attribute__((constructor)) static void count(void) { nr++; }
		__attribute__((destructor)) static void end(void) { puts("ended"); }
		static void *thread(void *p) { return p; }
		int main(int argc, char **argv)
		{
			struct stat s, l;
			pthread_t t;
			int err = pthread_create(&t, 0, thread, &nr) + pthread_join(t, 0);
			err += stat("/proc/self/exe", &s) + lstat("/proc/self/exe", &l);
			printf("%d %d %d %s\n", nr, err, S_ISREG(s.st_mode) && S_ISLNK(l.st_mode), argv[argc - 1]);
		}
	EOT
	local glibc=$BUILD/dist/glibc
	gcc -D_GNU_SOURCE -no-pie -nodefaultlibs -Wl,--wrap=__libc_start_main -o constructed constructed.c "$BUILD/dist/newer.o" \
		-Wl,--no-as-needed $glibc/lib{m.so.6,pthread.so.0,dl.so.2,rt.so.1,c.so.6} -l:libc_nonshared.a -lgcc
	[ "$(./constructed word)" = $'1 0 1 word\nended' ]
	not_newer "$(newest_glibc constructed)" 2.28
}

@test "the archive alone records a program and draws its flame graph" {
	cd "$BATS_TEST_TMPDIR"
	alone "$ROOT/bin/sprof" record -q -s timer -o a.data -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
	alone "$ROOT/bin/sprof" flame -o a.svg a.data
	xmllint --noout a.svg
	[ "$(alone "$ROOT/bin/sprof" info --json a.data | jq .samples)" -gt 0 ]
	alone "$ROOT/bin/sprof" doctor | grep -q '^timer  *OK'
}

# With the archive's library and its copy of the tests. Three tests stand for all.
# bats test_tags=full
@test "the archive's own tests run from any folder" {
	[ -x bats/bin/bats ] || skip 'bats was not there when the archive was made'
	mv "$ROOT" "$BATS_TEST_TMPDIR/moved"
	cd "$BATS_TEST_TMPDIR/moved"
	run alone SPROF="$PWD/bin/sprof" BUILD="$PWD/build" TARGETS="$PWD/build/tests/targets" TMPDIR="$BATS_TEST_TMPDIR" \
		bats/bin/bats --tap -f 'to the nanosecond|whatever rings lost' tests/gpu
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c '^ok' <<<"$output")" -eq 3 ]
}
