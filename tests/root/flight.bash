# For tests of flight recorders: one that records into $dir, with its messages in $log.
load ../recorder

# Starts it, and returns when there is a segment. OPTIONS...
fly() {
	"$SPROF" record --continuous "$dir" "$@" 3>&- 2>"$log" &
	recorder=$!
	pids+=($recorder)
	until segments | grep -q .; do
		kill -0 $recorder
		sleep 0.05
	done
}

segments() {
	find "$dir" -maxdepth 1 -name 'sprof-*.data' 2>/dev/null | sort
}

# Ends the recorder and checks that it ends well. [SIGNAL]
land() {
	kill -${1:-INT} $recorder
	wait $recorder
}

said() { # TEXT
	grep -qF -- "$1" "$log"
}

setup() {
	needs_bpf
	pids=() dir=$BATS_TEST_TMPDIR/flight log=$BATS_TEST_TMPDIR/log
}
