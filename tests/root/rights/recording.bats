# sprof with capabilities on its file, run by an ordinary user: record and dump use them to look at processes, and for
# nothing that the user names.
load lent

@test "its capabilities are enough for ebpf, and the recording is the user's" {
	"${as[@]}" "$SPROF" record -q -o data --source ebpf -- "$place/targets/shares" 300 >/dev/null
	"${as[@]}" "$SPROF" fold data | grep -q ';main'
	[ "$(stat -c '%u %a' data)" = '65534 600' ]
}

@test "no recording is written where the user may not" {
	# With this one a recorder that did not turn its rights off could write there.
	PATH=$PATH:/usr/sbin setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_override=ep "$SPROF"
	run "${as[@]}" "$SPROF" record -q -o "$place/data" --source ebpf -- "$place/targets/shares" 100
	[ "$status" -eq 125 ]
	[[ $output == *"cannot write '$place/data': Permission denied"* ]]
	[ ! -e "$place/data" ]
}

@test "a program that the user may not read is started, and none of its names are shown" {
	cp "$place/targets/shares" "$place/closed"
	chmod 711 "$place/closed"
	"${as[@]}" "$SPROF" record -q -o data --source ebpf -- "$place/closed" 300 >/dev/null
	! "${as[@]}" "$SPROF" fold data 2>/dev/null | grep -q ';main' || false
}

# bats test_tags=full
@test "while it samples, only capabilities that sampling uses are left" {
	local recorder status_of
	# Only --calls uses the first one.
	PATH=$PATH:/usr/sbin setcap cap_sys_admin,cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore=ep "$SPROF"
	"${as[@]}" "$SPROF" record -q -o data --source ebpf -- sleep 3 3>&- &
	recorder=$!
	pids+=($recorder)
	while [ ! -s data ]; do
		kill -0 $recorder
		sleep 0.1
	done
	sleep 0.3
	status_of=$(cat /proc/$recorder/status)
	grep -q '^NoNewPrivs:.1' <<<"$status_of"
	# bpf, perfmon, sys_ptrace, dac_read_search, checkpoint_restore
	grep -q '^CapPrm:.000001c000080004$' <<<"$status_of"
	wait $recorder
}

# bats test_tags=full
@test "root's recorder keeps of its capabilities only those that its source uses" {
	local source kept
	local -A allowed=( # beside ptrace, dac_read_search, checkpoint_restore, kill and syslog
		[ebpf]=$((1 << 38 | 1 << 39)) # perfmon, bpf
		[perf]=$((1 << 38 | 1 << 23)) # perfmon; sys_nice, for the readers of Python frames
		[timer]=$((1 << 21 | 1 << 1)) # sys_admin, to read seccomp filters; dac_override, for /proc/PID/mem
	)
	local follows=$((1 << 19 | 1 << 2 | 1 << 40 | 1 << 5 | 1 << 34))
	for source in ebpf perf timer; do
		"$plain" record -q -o data.$source --source $source -- sleep 3 3>&- &
		pids+=($!)
		sleep 1.5
		kept=0x$(sed -n 's/^CapPrm:.//p' /proc/$!/status)
		echo "$source keeps $kept"
		[ $((kept & ~(follows | allowed[$source]))) -eq 0 ]
		grep -q '^NoNewPrivs:.1' /proc/$!/status
		wait $!
	done
}

@test "a program that record starts can still gain rights, as sudo does" {
	cp "$(command -v id)" "$place/id"
	chmod 4755 "$place/id"
	[ "$("${as[@]}" "$SPROF" record -q -o data --source ebpf -- "$place/id" -u)" = 0 ]
}

@test "dump shows a process of the user's" {
	"${as[@]}" "$place/targets/shares" 5000 >/dev/null 3>&- &
	pids+=($!)
	sleep 0.3
	"${as[@]}" "$SPROF" dump -p $! | grep -q main
}

@test "a program gets the environment that was typed, and sprof does not use it" {
	local source
	for source in ebpf perf timer; do
		"${as[@]}" env -i PATH="$PATH" LD_LIBRARY_PATH=/nowhere TMPDIR=/elsewhere GLIBC_TUNABLES=glibc.malloc.check=0 \
			EMPTY= LD_PRELOAD="$place/libsprof-gpu.so" \
			"$SPROF" record -q -o data --gpu off --source $source -- env >printed
		grep -x 'LD_LIBRARY_PATH=/nowhere' printed
		grep -x 'TMPDIR=/elsewhere' printed
		grep -x 'GLIBC_TUNABLES=glibc.malloc.check=0' printed
		grep -x 'EMPTY=' printed
		grep -Ex "LD_PRELOAD=(.*:)?$place/libsprof-gpu.so" printed
	done
}

@test "a program's environment has nothing that sprof sets for itself" {
	run "${as[@]}" env -i PATH="$PATH" DEBUGINFOD_URLS=http://127.0.0.1:1 \
		"$SPROF" record -q -o data --gpu off --source ebpf --debuginfod -- env
	[[ $output != *DEBUGINFOD_TIMEOUT* ]]
	[[ $output == *DEBUGINFOD_URLS* ]]
}

@test "two capabilities are enough for a user's own processes" {
	PATH=$PATH:/usr/sbin setcap cap_bpf,cap_perfmon=ep "$SPROF"
	"${as[@]}" "$place/targets/shares" 20000 >/dev/null 3>&- &
	pids+=($!)
	sleep 0.3
	"${as[@]}" "$SPROF" record -q -o data --source ebpf -d 700ms -p ${pids[0]}
	"${as[@]}" "$SPROF" fold data | grep -q ';main'
}

@test "debuginfod's servers and cache lead to no file that the user may not read" {
	ldconfig -p | grep -q libdebuginfod.so.1 || skip "needs libdebuginfod1"
	command -v gcc >/dev/null || skip "needs gcc"
	echo 'int hidden_name(void) { for (volatile long i = 0; i < 400000000; i++); return 0; } int main(void) { return hidden_name(); }' >"$place/spin.c"
	gcc -g -O1 -fno-inline -Wl,--build-id=0x1234567890abcdef1234567890abcdef12345678 -o "$place/spin" "$place/spin.c"
	cp "$place/spin" "$place/secret.debug"
	chmod 600 "$place/secret.debug"
	strip "$place/spin"
	mkdir -p served/buildid/1234567890abcdef1234567890abcdef12345678
	ln -s "$place/secret.debug" served/buildid/1234567890abcdef1234567890abcdef12345678/debuginfo
	chown -R 65534 served
	"${as[@]}" env DEBUGINFOD_URLS="file://$out/served" DEBUGINFOD_CACHE_PATH="$out/cache" \
		"$SPROF" record -q -o data --source ebpf --debuginfod -- "$place/spin" 2>/dev/null
	"${as[@]}" "$SPROF" fold data >folded
	grep -q '^spin;' folded
	[ "$(grep -c hidden_name folded)" -eq 0 ]
}

# bats test_tags=full
@test "unwind tables are kept in the user's cache only, and none of a file that the user may not read" {
	local nr id
	cp "$place/targets/shares" "$place/closed"
	id=$(readelf -n "$place/closed" | sed -n 's/.*Build ID: //p')
	chmod 711 "$place/closed"
	mkdir -m 700 "$place/roots" own-cache
	chown 65534:65534 own-cache
	XDG_CACHE_HOME=$place/roots run "${as[@]}" "$SPROF" record -v -o data --source ebpf -- "$place/closed" 300
	[[ $output == *"unwind tables are not kept: '$place/roots"* ]]
	[ -z "$(ls "$place/roots")" ]
	XDG_CACHE_HOME=$out/own-cache "${as[@]}" "$SPROF" record -q -o data --source ebpf -- "$place/closed" 300 >/dev/null
	nr=$(ls own-cache/sprof | wc -l)
	[ "$nr" -ge 1 ] # libc
	[ -n "$id" ]
	[ -z "$(find own-cache/sprof -name "$id*")" ]
	[ "$(stat -c '%u %a' own-cache/sprof/* | sort -u)" = '65534 600' ]
	chmod 755 "$place/closed"
	XDG_CACHE_HOME=$out/own-cache "${as[@]}" "$SPROF" record -q -o data --source ebpf -- "$place/closed" 300 >/dev/null
	[ -n "$(find own-cache/sprof -name "$id*")" ]
}

@test "top reads no description of a terminal that the user names" {
	local variables="TERM=sprof-own TERMINFO=$PWD/terminfo"
	mkdir terminfo
	infocmp -x xterm | sed 's/^xterm|/sprof-own|/' | tic -x -o terminfo -
	"${as[@]}" env $variables tput cup 1 1
	run timeout 20 script -qec "${as[*]} env $variables $SPROF top -- sleep 0.5" /dev/null
	[[ $output == *"the terminal 'sprof-own' cannot place text"* ]]
	mkdir home
	mv terminfo home/.terminfo
	"${as[@]}" env TERM=sprof-own HOME="$PWD/home" tput cup 1 1
	run timeout 20 script -qec "${as[*]} env TERM=sprof-own HOME=$PWD/home $SPROF top -- sleep 0.5" /dev/null
	[[ $output == *"the terminal 'sprof-own' cannot place text"* ]]
}
