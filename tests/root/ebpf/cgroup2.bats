# Triggers of a flight recorder on cgroups of version 2, which a machine with cgroups of version 1 does not have: Debian's
# kernel boots in qemu, makes a cgroup with limits, and does in it what each trigger is for. triggers.bats has the rest.
# bats file_tags=full
load ../guest

setup_file() {
	cd "$BATS_TEST_DIRNAME/../../.." || return 1
	boot_guest "$TARGETS/shares_static" <<-SCRIPT
		echo "@@ mount"
		mkdir -p /sys/fs/cgroup
		mount -t cgroup2 none /sys/fs/cgroup || exit 1
		echo "+cpu +memory" >/sys/fs/cgroup/cgroup.subtree_control
		mkdir /sys/fs/cgroup/work /sys/fs/cgroup/idle
		echo $((64 << 20)) >/sys/fs/cgroup/work/memory.max
		ls /sys/fs/cgroup/work
		mkdir /sys/fs/cgroup/slice
		echo "+cpu +memory" >/sys/fs/cgroup/slice/cgroup.subtree_control
		shop=/sys/fs/cgroup/slice/shop
		mkdir \$shop
		echo $((64 << 20)) >\$shop/memory.max
		in_shop() { sh -c 'echo \$\$ >/sys/fs/cgroup/slice/shop/cgroup.procs && exec "\$@"' - "\$@"; }
		in_group() { sh -c 'echo \$\$ >/sys/fs/cgroup/work/cgroup.procs && exec "\$@"' - "\$@"; }
		comes() { # TEXT: for at most 40 s
			n=0
			until grep -qF "\$1" log || [ \$n -ge 200 ]; do sleep 0.2; n=\$((n + 1)); done
			grep -cF "\$1" log
		}
		$SPROF record --source ebpf --continuous flight --segment 1h -F 19 --cgroup /work --trigger-rate 199 --trigger-for 5s \
			--trigger memory@/work=40M,memory@/idle=40M,cpu@/work=60%:2s,cpu@/idle=60%:2s \
			--trigger psi@/work=cpu:some:20%,psi@/idle=cpu:some:20%,oom@/work,oom@/idle \
			--trigger oom@/slice/shop,psi@/slice/shop=memory:full:90%,cpu@/slice/shop=60%:2s 2>log &
		recorder=\$!
		n=0
		until ls flight/*.data >/dev/null 2>&1 || [ \$n -ge 300 ]; do sleep 0.2; n=\$((n + 1)); done
		sleep 3
		echo "@@ before"
		cat log
		echo "@@ cpu"
		in_group $TARGETS/shares_static 60000 >/dev/null &
		comes 'trigger cpu@/work=60%:2s: cgroup'
		echo "@@ psi"
		in_group $TARGETS/shares_static 60000 >/dev/null &
		comes 'trigger psi@/work=cpu:some:20%: cgroup'
		killall shares_static
		echo "@@ memory"
		in_group sh -c 'dd if=/dev/zero of=/dev/null bs=50M count=1 2>/dev/null; dd if=/dev/zero bs=50M count=4 2>/dev/null | (sleep 8; cat >/dev/null)' &
		comes 'trigger memory@/work=40M: cgroup'
		wait \$!
		echo "@@ oom"
		in_group dd if=/dev/zero of=/dev/null bs=200M count=1
		comes 'trigger oom@/work: the kernel killed a process for lack of memory in cgroup'
		cat /sys/fs/cgroup/work/memory.events /sys/fs/cgroup/work/cpu.pressure
		echo "@@ removed"
		in_shop dd if=/dev/zero of=/dev/null bs=200M count=1
		n=0
		until rmdir \$shop || [ \$n -ge 100 ]; do sleep 0.1; n=\$((n + 1)); done
		comes 'trigger oom@/slice/shop: the kernel killed a process for lack of memory in cgroup'
		for kind in oom@/slice/shop psi@/slice/shop=memory:full:90% cpu@/slice/shop=60%:2s; do
			comes "the trigger '\$kind' waits: cgroup '\$shop' is gone"
		done
		echo "@@ again"
		mkdir \$shop
		for kind in oom@/slice/shop psi@/slice/shop=memory:full:90% cpu@/slice/shop=60%:2s; do
			comes "the trigger '\$kind' watches cgroup '\$shop' again"
		done
		in_shop $TARGETS/shares_static 60000 >/dev/null &
		comes 'trigger cpu@/slice/shop=60%:2s: cgroup'
		killall shares_static
		kill -INT \$recorder
		wait \$recorder
		echo "@@ log"
		cat log
		echo "@@ info.json"
		$SPROF info --json flight
		echo "@@ kept.json"
		$SPROF info --json flight/kept
		echo "@@ throttled.log"
		mkdir /sys/fs/cgroup/slow
		echo "20000 100000" >/sys/fs/cgroup/slow/cpu.max
		$SPROF record --source ebpf --clock wall -o throttled.data -- sh -c 'echo \$\$ >/sys/fs/cgroup/slow/cgroup.procs && exec $TARGETS/shares_static 1000'
		echo "@@ throttled.stat"
		cat /sys/fs/cgroup/slow/cpu.stat
		echo "@@ throttled.json"
		$SPROF info --json throttled.data
		echo "@@ throttled.runnable"
		$SPROF fold --time --column runnable throttled.data
		echo "@@ end"
	SCRIPT
}

@test "on cgroups of version 2, a trigger fires for what its cgroup does" {
	cat log
	grep -q memory.current mount
	# None of them before there was a reason, and none that cannot work.
	! grep -q 'trigger' before || false
	grep -qx '[1-9]' cpu # the shell of the guest also says which of its jobs were ended
	grep -qx '[1-9]' psi
	grep -qx '[1-9]' memory
	grep -qx '[1-9]' oom
	grep -Eq "trigger cpu@/work=60%:2s: cgroup /sys/fs/cgroup/work took [0-9.]*% of a CPU" log
	grep -Eq "trigger psi@/work=cpu:some:20%: cgroup /sys/fs/cgroup/work waited for a CPU for [0-9.]*% of the time" log
	grep -Eq "trigger memory@/work=40M: cgroup /sys/fs/cgroup/work has [0-9.]* MiB of memory" log
}

@test "and not for what another cgroup does" {
	! grep -q '@/idle.*: cgroup' log || false
}

@test "a trigger fires for the kill that empties its cgroup, which is removed at once" {
	cat log removed
	grep -q "trigger oom@/slice/shop: the kernel killed a process for lack of memory in cgroup /sys/fs/cgroup/slice/shop" log
}

@test "a cgroup that is removed and made again is watched again" {
	cat log removed again
	[ "$(grep -cE "the trigger '(oom|psi|cpu)@/slice/shop.*' waits: cgroup '/sys/fs/cgroup/slice/shop' is gone" log)" = 3 ]
	[ "$(grep -cE "the trigger '(oom|psi|cpu)@/slice/shop.*' watches cgroup '/sys/fs/cgroup/slice/shop' again" log)" = 3 ]
	grep -Eq "trigger cpu@/slice/shop=60%:2s: cgroup /sys/fs/cgroup/slice/shop took [0-9.]*% of a CPU" log
}

@test "each is a mark, and what was before and after it is kept" {
	jq -e '[.marks[].text] | map(select(startswith("trigger "))) | length >= 4' info.json
	jq -e '.segments >= 1 and .samples > 20' kept.json
	jq -e '[.rates[] | .frequency_hz] | index(199)' info.json
}

@test "on cgroups of version 2, time in which a thread was throttled is told from preemption" {
	cat throttled.log throttled.stat
	jq -e '(.thread_times | length) > 0 and all(.thread_times[];
		(.cpu_ns + .runnable_ns + .waiting_ns - .wall_ns | fabs) <= .wall_ns / 1000)' throttled.json
	awk 'NR == FNR { if ($1 == "throttled_usec") kernel = 1000 * $2; next }
		{ all += $NF } /throttled by its cgroup_\[w\]/ { throttled += $NF }
		END { printf "throttled %.1f ms of %.1f ms, kernel %.1f ms\n", throttled / 1e6, all / 1e6, kernel / 1e6
		      exit kernel < 1e9 || throttled < 0.9 * kernel || throttled > 1.3 * kernel + 1e8 }' throttled.stat throttled.runnable
}
