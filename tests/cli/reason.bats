# Waits by reason, and how pictures show them.

setup() {
	cd "$BATS_TEST_TMPDIR"
	cat >x.folded <<-'END'
	main;a;work 10
	main;a;read;anon_pipe_read_[k];pipe wait_[w] 20
	main;b;futex_do_wait_[k];lock wait_[w] 30
	main;b;PyEval_RestoreThread;take_gil;futex_do_wait_[k];lock wait_[w] 40
	main;b;take_gil;CPU wait_[w] 2
	main;c;cudaStreamSynchronize;poll;poll wait_[w] 50
	main;c;cudaMemcpyAsync;ioctl;other wait_[w] 3
	main;d;preempted_[w] 5
	main;d;do_nanosleep_[k];sleep_[w] 6
	END
}

@test "a table by reason has the time of each, and what ran" {
	"$SPROF" report --by reason --json x.folded |
		jq -r '.rows[] | "\(.reason // .function) \(.self)"' | sort >rows
	diff rows - <<-'END'
	CPU wait 2
	GIL wait 40
	GPU wait 50
	lock wait 30
	other wait 3
	pipe wait 20
	preempted 5
	running 10
	sleep 6
	END
}

@test "by lock, waits for each lock are a row or the root of their stacks" {
	cat >locks.folded <<-'END'
	main;a;work 10
	main;b;futex_do_wait_[k];lock wait_[w];lock lock (waiting)_[w];woken by run_[w];futex_wake_[k] 30
	main;c;futex_do_wait_[k];lock wait_[w];lock lock (waiting)_[w] 7
	main;b;futex_do_wait_[k];lock wait_[w];lock 0x7f12_[w] 5
	main;b;futex_do_wait_[k];lock wait_[w];woken by run_[w] 4
	main;b;take_gil;futex_do_wait_[k];lock wait_[w];lock 0x7f13_[w] 40
	main;d;do_nanosleep_[k];sleep_[w] 6
	main;d;lock 0x7f12;preempted_[w] 3
	END
	"$SPROF" report --by lock --json locks.folded | jq -r '.rows[] | "\(.function) \(.self)"' | sort >rows
	diff rows - <<-'END'
	GIL 40
	lock 0x7f12 5
	lock lock (waiting) 37
	no lock 19
	unknown lock 4
	END
	"$SPROF" fold locks.folded | awk '{ n += $NF } END { exit n != 105 }'
	"$SPROF" flame --by lock --no-js locks.folded >flame.svg
	grep -A1 '<title>lock lock (waiting)' flame.svg | grep -q '37 .* samples'
}

@test "waits for the GIL and for a GPU are called so in every output" {
	"$SPROF" fold x.folded | grep -q '^main;b;PyEval_RestoreThread;take_gil;futex_do_wait_\[k\];GIL wait_\[w\] 40$'
	"$SPROF" report --json x.folded | jq -e '.rows[] | select(.function == "GPU wait") | .self == 50'
}

@test "a picture by reason puts the stacks of each above it" {
	"$SPROF" flame --by reason --no-js x.folded >flame.svg
	for reason in 'lock wait' 'pipe wait' running; do
		grep -q "<title>$reason" flame.svg
	done
	# The box of the reason stands on the root, and the wait itself at the top of its stack.
	[ "$(grep -c '<title>pipe wait' flame.svg)" = 2 ]
}

@test "waits have a texture for each group of reasons, and what runs has none" {
	"$SPROF" flame --no-js x.folded >flame.svg
	class() { grep -o "<g class=\"[a-z0-9]*\"><title>$1" flame.svg | cut -d'"' -f2 | sort -u; }
	[ "$(class 'lock wait')" = w0 ]
	[ "$(class 'GIL wait')" = w0 ]
	[ "$(class 'pipe wait')" = w1 ]
	[ "$(class 'other wait')" = w2 ]
	[ "$(class 'sleep')" = w3 ]
	[ "$(class 'preempted')" = w4 ]
	[ "$(class 'work' | cut -c1)" = n ]
	for i in 0 1 2 3 4; do
		grep -q "<pattern id=\"sprof-w$i\"" flame.svg
		grep -q "\.w$i{fill:url(#sprof-w$i)}" flame.svg
	done
	# The five textures differ.
	[ "$(grep -o '<path class="wl wl[0-4]" d="[^"]*"' flame.svg | grep -o 'd=.*' | sort -u | wc -l)" = 5 ]
	grep -q '>waiting: lock</text>' flame.svg
	# A picture of CPU time names no waits.
	printf 'main;work 3\n' | "$SPROF" flame --no-js - >cpu.svg
	! grep -q 'waiting: lock\|sleep, poll' cpu.svg || false
}

# A large tree is drawn from an outline, which leaves out what is below narrow boxes.
@test "the legend has a reason whose waits are all too narrow to be drawn" {
	cd "$BATS_TEST_TMPDIR"
	awk 'BEGIN { print "main;work 100000000"; for (i = 0; i < 300; i++) printf "main;a%d;b;lock wait_[w] 1\n", i }' >narrow.folded
	"$SPROF" flame -o narrow.svg narrow.folded
	grep -q '>waiting: lock</text>' narrow.svg
	! grep -q '>sleep, poll</text>' narrow.svg || false
}

# What a wait was for may have any name, that of another reason, too.
objects() {
	cat <<-'END'
	main;a;poll wait_[w];lock.pid_[w] 20
	main;b;socket wait_[w];127.0.0.1:80_[w] 20
	main;c;poll wait_[w];127.0.0.1:80_[w] 20
	main;d;pipe wait_[w];pipe jobs_[w];woken by lock_[w];futex_wake_[k] 20
	main;e;disk wait_[w];sleep_[w] 20
	main;f;lock wait_[w];woken by CPU wait_[w] 20
	END
}

@test "what a wait was for, and who ended it, have the texture of its reason" {
	objects >objects.folded
	classes() { grep -o '<g class="w[0-9]*"><title>[^<]*' "$1" | sed 's/.*"\(w.*\)"><title>/\1 /' | paste -sd,; }
	"$SPROF" flame --no-js objects.folded >flame.svg
	[ "$(classes flame.svg)" = "w3 poll wait,w3 lock.pid,w1 socket wait,w1 127.0.0.1:80,w3 poll wait,w3 127.0.0.1:80,w1 pipe wait,w1 pipe jobs,w1 woken by lock,w1 disk wait,w1 sleep,w0 lock wait,w0 woken by CPU wait" ]
	# The legend has the groups that the picture has.
	[ "$(grep -o '<g class="w[0-9]"><rect' flame.svg | cut -d'"' -f2 | paste -sd' ')" = "w0 w1 w3" ]
	# By lock there are no reasons: the locks are drawn as such.
	printf 'main;a;lock wait_[w];lock 0x7f12_[w] 3\nmain;b;lock wait_[w] 2\n' | "$SPROF" flame --no-js --by lock - >locks.svg
	! grep -q '<g class="w[1-9]"' locks.svg || false
	[ "$(grep -c '<g class="w0"><title>' locks.svg)" = 5 ]
}

# What the waker had waited for before: the frames of another thread, with a reason of their own.
@test "a chain of waits has one reason, and each of its waits the texture of its own" {
	cat >chain.folded <<-'END'
	main;reads;pipe wait_[w];pipe jobs_[w];woken by b_[w];write;run;waited before_[w];futex;lock wait_[w];lock 0x7f12_[w];woken by c_[w];wake;waited before_[w];sleep_[w] 20
	END
	"$SPROF" report --by reason --json chain.folded | jq -e '[.rows[] | .reason // .function] == ["pipe wait"]'
	"$SPROF" report --by lock --json chain.folded | jq -e '[.rows[] | .function] == ["no lock"]'
	classes() { grep -o '<g class="[wt][0-9]*"><title>[^<]*' "$1" | sed 's/.*"\(.*\)"><title>/\1 /' | paste -sd,; }
	"$SPROF" flame --no-js chain.folded >flame.svg
	[ "$(classes flame.svg)" = "t2 all,w1 pipe wait,w1 pipe jobs,w1 woken by b,t2 waited before,w0 lock wait,w0 lock 0x7f12,w0 woken by c,t2 waited before,w3 sleep" ]
	[ "$(grep -o '<g class="w[0-9]"><rect' flame.svg | cut -d'"' -f2 | paste -sd' ')" = "w0 w1 w3" ]
}

@test "the first frame of a wait is its reason, not what it was for or what ended it" {
	cat >wakers.folded <<-'END'
	main;take_gil;futex_do_wait_[k];lock wait_[w];lock 0x5603e4e58120_[w];woken by holds_lock_[w];futex_wake_[k];run 7
	main;b;socket wait_[w];127.0.0.1:5432_[w] 3
	_start;main;epoll_wait;do_epoll_wait_[k];poll wait_[w];127.0.0.1:6379_[w] 5
	END
	"$SPROF" report --by reason --json wakers.folded | jq -r '.rows[] | "\(.reason // .function) \(.self)"' | sort >rows
	diff rows - <<-'END'
	GIL wait 7
	socket wait 3
	END
	jq -n 'input.idle == 5' <("$SPROF" report --json wakers.folded) | grep -q true
}
