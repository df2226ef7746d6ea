# For tests of record --alloc: programs that allocate known amounts of memory at some places.

# Starts such a program, which waits on its standard input; $go is where to tell it to begin.
start_sites() { # COMMAND...
	mkfifo "$BATS_TEST_TMPDIR/input"
	LD_PRELOAD=${allocator-} "$@" <"$BATS_TEST_TMPDIR/input" >"$truth" 3>&- &
	sites=$!
	pids+=($sites)
	exec {go}>"$BATS_TEST_TMPDIR/input"
	until_says ready
}

until_says() { # WORD
	for _ in $(seq 1200); do
		! grep -q "^$1" "$truth" || return 0
		sleep 0.05
	done
	return 1
}

# Records all that the sites allocate.
record_sites() { # OPTIONS...
	record -v "$@" -p $sites 2>"$BATS_TEST_TMPDIR/said"
	sleep 0.5
	echo >&$go
	until_says end
	kill -INT $recorder
	wait $recorder
	exec {go}>&-
	wait $sites
}

# Compares the sums of each site with the truth: COLUMN FIELD-OF-TRUTH INTERVAL SIGMAS
compare() {
	"$SPROF" fold --column "$1" "$data" | awk -v field="$2" -v interval="$3" -v sigmas="$4" '
	FNR == NR { if (NF == 3) truth[$1] = $field; next }
	{ all += $NF; for (name in truth) if (index($0, name)) sum[name] += $NF }
	function check(name, is, want,   sigma) {
		sigma = want ? (is - want) / sqrt(interval * want) : 0
		printf "%s: %.0f, to be %.0f: %.1f sigma\n", name, is, want, sigma
		if ((sigma < 0 ? -sigma : sigma) > sigmas || (!want && is)) bad = 1
	}
	END {
		for (name in truth) { whole += truth[name]; check(name, sum[name], truth[name]) }
		check("all", all, whole)
		exit bad
	}' "$truth" -
}

# The deviation of each sum from the truth: "COLUMN SITE BYTES TRUTH SIGMA", sigma in bytes. As compare().
deviations() { # COLUMN FIELD-OF-TRUTH INTERVAL
	"$SPROF" fold --column "$1" "$data" | awk -v column="$1" -v field="$2" -v interval="$3" '
	FNR == NR { if (NF == 3) truth[$1] = $field; next }
	{ all += $NF; for (name in truth) if (index($0, name)) sum[name] += $NF }
	END {
		for (name in truth) {
			whole += truth[name]
			print column, name, sum[name] + 0, truth[name], sqrt(interval * truth[name])
		}
		print column, "all", all + 0, whole, sqrt(interval * whole)
	}' "$truth" -
}

# Of the deviations of many recordings: the bias of each sum, in percent and in standard deviations of the mean. A sum
# is biased beyond 4 of these (of 140 sums one in a hundred runs has one by chance), a total beyond 3 if that is more than
# 0.5 %; and of single sums one in 370 is beyond 3 sigma.
judge_deviations() { # FILE
	awk '
	{
		key = $1 " " $2
		nr[key]++
		off[key] += $3 - $4
		truth[key] = $4
		sigma[key] = $5
		if (!$4 && $3) bad = 1
		if ($4) { sums++; beyond += ($3 - $4) / $5 > 3 || ($4 - $3) / $5 > 3 }
	}
	END {
		for (key in nr) {
			if (!truth[key]) continue
			mean = off[key] / nr[key]
			error = sigma[key] / sqrt(nr[key])
			printf "%s: bias %+.3f %%, %+.1f sigma\n", key, 100 * mean / truth[key], mean / error
			if (mean > 4 * error || mean < -4 * error) bad = 1
			off_by = mean < 0 ? -mean : mean
			if (key ~ / all$/ && off_by > 0.005 * truth[key] && off_by > 3 * error) bad = 1
			n = nr[key]
		}
		printf "%d recordings, %d sums, %d beyond 3 sigma\n", n, sums, beyond
		if (beyond > 3 + sums / 100) bad = 1
		exit bad
	}' "$1" | sort
	return "${PIPESTATUS[0]}"
}

# Records the sites 40 times under STRESS (or RECORDINGS=N times), and compares the means with the truth. On a busy machine
# the ring may overflow: a recording that says it has lost samples is made again, and counted.
many_recordings() { # COMMAND...
	local bad='' nr=0 nr_lost=0 wanted
	wanted=${RECORDINGS:-$([ -n "${STRESS-}" ] && echo 40 || echo 3)}
	: >"$BATS_TEST_TMPDIR/deviations"
	while [ "$nr" -lt "$wanted" ] && [ "$nr_lost" -lt "$wanted" ]; do
		rm -rf "$BATS_TEST_TMPDIR/input" "$truth" "$data"
		start_sites "$@"
		record_sites --alloc=32k
		if [ "$("$SPROF" report --json --column allocated "$data" | jq .lost)" -gt 0 ]; then
			nr_lost=$((nr_lost + 1))
			continue
		fi
		nr=$((nr + 1))
		deviations allocated 2 32768 >>"$BATS_TEST_TMPDIR/deviations"
		deviations live 3 32768 >>"$BATS_TEST_TMPDIR/deviations"
	done
	[ "$nr_lost" = 0 ] || echo "# $BATS_TEST_DESCRIPTION: $nr_lost recordings lost samples" >&3
	judge_deviations "$BATS_TEST_TMPDIR/deviations" >"$BATS_TEST_TMPDIR/judged" || bad=1
	cat "$BATS_TEST_TMPDIR/judged"
	awk -v what="$BATS_TEST_DESCRIPTION: ${1##*/}" '/ all:| recordings,/ { print "# " what ": " $0 }' "$BATS_TEST_TMPDIR/judged" >&3
	[ -z "$bad" ]
}

# Three of the instructions that the hook of its malloc moves take nearly all of the program's time. What an instruction
# takes is seen at it or at the next one, so some of it is seen in the hook.
moved_instructions_are_the_functions_own() { # OPTIONS...
	cat >"$BATS_TEST_TMPDIR/moved.c" <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <time.h>
		static char room[64][64];
		static unsigned int next;
		static void *volatile freed;
		__attribute__((used)) static void *take(size_t size)
		{
			return size <= 64 ? room[next++ % 64] : NULL;
		}
		__asm__(".globl malloc\n.type malloc, @function\nmalloc:\n.cfi_startproc\n"
			"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbx, -16\n"
			"pause\npause\npause\n"
			"mov %rdi, %rbx\ncall take\n"
			"pop %rbx\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size malloc, .-malloc");
		__attribute__((noinline)) void free(void *block)
		{
			if (block)
				freed = block;
		}
		void *calloc(size_t nr, size_t size)
		{
			void *block = malloc(nr * size);
			return block ? memset(block, 0, nr * size) : NULL;
		}
		void *realloc(void *block, size_t size)
		{
			void *other = malloc(size);
			if (other && block)
				memcpy(other, block, size);
			free(block);
			return other;
		}
		int main(void)
		{
			while (clock() < 2 * CLOCKS_PER_SEC)
				for (int i = 0; i < 1000; i++)
					free(malloc(8));
			return 0;
		}
	END
	cc -O1 -w -fno-builtin -o "$data.moved" "$BATS_TEST_TMPDIR/moved.c" # where whoever records may run it
	"${as[@]}" "$SPROF" record -q -F 999 --alloc=1m -o "$data" "$@" -- "$data.moved"
	"$SPROF" fold --column cpu "$data" | sed 's/;\[no kernel stack\]//' | awk '
		{ all += $NF } /;malloc [0-9]+$/ { own += $NF } /;\[allocation hook\][^;]* [0-9]+$/ { hooks += $NF }
		END { print own " of " all ", " hooks " in hooks"; exit !(own > all / 3 && hooks) }'
}

# Records a program that only allocates. The recorder reads the code of the hooks when the first sample lands in it, so
# the first second is left out: on a busy machine that takes a while. OPTIONS...
stacks_through_hooks_are_complete() {
	local share samples hooks
	"${as[@]}" "$TARGETS/alloc_pairs" 600000 3>&- &
	pids+=($!)
	wait_until runs_program $! alloc_pairs
	"${as[@]}" "$SPROF" record -q -F 999 -d 5s --alloc=64k -o "$data" "$@" -p $!
	"$SPROF" fold --column cpu --from=1s "$data" | sed 's/;\[no kernel stack\]//' >"$BATS_TEST_TMPDIR/folded" # timer sees none
	read -r samples share _ < <(awk -f "$BATS_TEST_DIRNAME/../frames.awk" -f "$BATS_TEST_DIRNAME/../completeness.awk" \
		"$BATS_TEST_TMPDIR/folded" | tee "$BATS_TEST_TMPDIR/share")
	hooks=$(awk '/;main;pairs;(.*;)?\[allocation hook\]/ { n += $NF } END { print n + 0 }' "$BATS_TEST_TMPDIR/folded")
	cat "$BATS_TEST_TMPDIR/share"
	echo "$hooks in hooks"
	awk -v share="$share" 'BEGIN { exit !(share >= 99) }'
	((hooks > samples / 50))
}
