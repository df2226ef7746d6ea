# Measures what sprof record --alloc costs per pair of malloc and free, while it is attached and
# after it has gone, beside heaptrack, memray and the heap profilers of jemalloc and gperftools where they are installed.

memory_block() { # contender: one block of the pairs process
	local ns
	echo >&"${PAIRS[1]}"
	read -r ns <&"${PAIRS[0]}"
	[ -z "$1" ] || note "$1" "$ns"
}

preloadable() { # library: its path
	ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ { print $NF; exit }'
}

memory_gperftools() { # pairs
	local library
	library=$(preloadable libtcmalloc.so.4)
	[ -n "$library" ] || return 0
	note memory_tcmalloc "$(echo | LD_PRELOAD=$library "$tools/pairs" "$1")"
	note memory_gperftools "$(echo | HEAPPROFILE=$work/gperftools LD_PRELOAD=$library "$tools/pairs" $(($1 / 200)) 2>/dev/null)"
}

# It runs Python programs alone, so the pairs are made in a library that one calls.
memory_memray() { # pairs
	command -v memray >/dev/null || return 0
	[ "$tools/pairs.so" -nt tests/bench/pairs.c ] || "$CC" -O2 -fPIC -shared -D_GNU_SOURCE -o "$tools/pairs.so" tests/bench/pairs.c
	note memory_python "$(python3 tests/bench/pairs.py "$tools/pairs.so" "$1")"
	rm -f "$work/memray"
	note memory_memray "$(memray run -q --aggregate -o "$work/memray" tests/bench/pairs.py "$tools/pairs.so" $(($1 / 20)) | grep -E '^[0-9.]+$')"
}

memory_rivals() { # pairs
	local jemalloc conf=prof:true,prof_active:true,lg_prof_sample:19,prof_prefix:$work/jeprof
	if command -v heaptrack >/dev/null; then
		note memory_heaptrack "$(echo | heaptrack -o "$work/heaptrack" "$tools/pairs" $(($1 / 20)) 2>/dev/null | grep -E '^[0-9.]+$' | tail -1)"
	fi
	memory_gperftools "$1"
	memory_memray "$1"
	jemalloc=$(preloadable libjemalloc.so.2)
	[ -n "$jemalloc" ] || return 0
	note memory_jemalloc "$(echo | LD_PRELOAD=$jemalloc "$tools/pairs" "$1")"
	echo | LD_PRELOAD=$jemalloc MALLOC_CONF=$conf "$tools/pairs" "$1" >"$work/prof" 2>"$work/prof.said"
	[ -s "$work/prof.said" ] || note memory_jeprof "$(cat "$work/prof")"
}

bench_memory() {
	local nr=${QUICK:+4000000} recorder
	nr=${nr:-20000000}
	build_tool pairs
	coproc PAIRS { exec "$tools/pairs" "$nr"; }
	memory_block '' # warm
	for _ in $(seq "$ROUNDS"); do
		memory_block memory_alone
		rm -f "$work/data"
		"$SPROF" record -q -F 49 --alloc -o "$work/data" -p "$PAIRS_PID" &
		recorder=$!
		until [ -e "$work/data" ]; do sleep 0.05; done
		sleep 0.5
		memory_block '' # the interval adapts
		memory_block memory_attached
		kill -INT $recorder
		wait $recorder || true
		memory_block memory_detached
		memory_rivals "$nr"
	done
	end "$PAIRS_PID"
	title "malloc and free of 64 bytes, $nr pairs; added to the pair"
	row "alone" "$(median memory_alone)" ns
	row "sprof record --alloc, attached" "$(paired memory_attached - memory_alone)" ns 5
	row "and after it has gone" "$(paired memory_detached - memory_alone)" ns 0.5
	[ ! -e "$work/memory_heaptrack" ] || row "heaptrack, preloaded" "$(paired memory_heaptrack - memory_alone)" ns
	[ ! -e "$work/memory_memray" ] || row "memray, aggregated" "$(paired memory_memray - memory_python)" ns
	[ ! -e "$work/memory_gperftools" ] || row "gperftools' heap profiler" "$(paired memory_gperftools - memory_tcmalloc)" ns
	if [ -e "$work/memory_jeprof" ]; then
		row "jemalloc's profiler, 512 KiB" "$(paired memory_jeprof - memory_jemalloc)" ns
	else
		echo "  skipped: jemalloc is not installed or has no profiler here"
	fi
}
