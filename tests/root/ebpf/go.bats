# sprof record on Go programs, also on one that was linked without symbols and DWARF.
load ../kernel

setup() {
	needs_bpf
	PATH=$PATH:/usr/local/go/bin
	command -v go >/dev/null || skip "needs go (apt-get install golang-go)"
	cp tests/targets/goroutines.go "$BATS_TEST_TMPDIR/main.go"
}

version() { # the minor number of Go's version
	go env GOVERSION | sed -E 's/^go1\.([0-9]+).*/\1/'
}

build() { # NAME FLAGS...
	(cd "$BATS_TEST_TMPDIR" && GO111MODULE=off GOFLAGS='' GOPROXY=off GOTOOLCHAIN=local \
		GOCACHE=${GOCACHE:-$OLDPWD/build/go-cache} go build -o "$1" "${@:2}" main.go)
}

# Records a program, and looks for its busiest function and the text of its lines.
sampled() { # PROGRAM
	"$SPROF" record -q -o "$data" -F 999 -- "$BATS_TEST_TMPDIR/$1" 1500
	fold
	[ "$(samples 'main\.deep')" -gt $(($(samples .) / 2)) ]
	"$SPROF" lines -n 3 -i "$data" >"$BATS_TEST_TMPDIR/$1.lines"
	cat "$BATS_TEST_TMPDIR/$1.lines"
	grep -q 'return deep(n-1)' "$BATS_TEST_TMPDIR/$1.lines"
}

# bats test_tags=full
@test "a stripped Go program has the functions and lines of one that is not" {
	build whole
	build stripped -ldflags '-s -w'
	sampled whole
	sampled stripped
}

# The runtime's work for a goroutine (collecting, allocating) is on the stack of the thread, and has
# the goroutine's functions as its callers. Not so in the first samples: until the rules of a new
# program are there, a sample has a copy of the thread's stack only. So a first recording waits for
# the rules and keeps them, and a second one is judged.
reach_the_goroutine() { # PROGRAM PATTERN
	local share pid messages=$BATS_TEST_TMPDIR/messages
	"$BATS_TEST_TMPDIR/$1" 120000 >/dev/null 3>&- &
	pid=$!
	for _ in $(seq 20); do # a busy machine takes longer
		sleep 0.5
		"$SPROF" record -o "$data" -F 99 -d 100ms -p $pid 2>"$messages"
		grep -q 'tables are not ready' "$messages" || break
	done
	"$SPROF" record -q -o "$data" -F 999 -d 2500ms -p $pid
	kill $pid
	fold
	awk -f tests/root/frames.awk -f tests/root/completeness.awk "$folded" | tee "$BATS_TEST_TMPDIR/share"
	read -r _ share _ <"$BATS_TEST_TMPDIR/share"
	[ "$(samples "$2")" -gt 20 ]
	awk -v share="$share" 'BEGIN { exit !(share > 99) }'
}

# bats test_tags=full
@test "stacks on the stack of a thread reach the goroutine, stripped or not" {
	[ "$(version)" -ge 21 ] || skip "Go before 1.21 keeps no frame pointer there"
	cp tests/targets/go_collector.go "$BATS_TEST_TMPDIR/main.go"
	build whole
	build stripped -ldflags '-s -w'
	reach_the_goroutine whole ';runtime\\.goexit.*;runtime\\.systemstack'
	reach_the_goroutine stripped ';runtime\\.goexit.*;runtime\\.systemstack'
}

# bats test_tags=full
@test "C that Go calls, and Go that it calls back, have all their callers" {
	[ "$(version)" -ge 21 ] || skip "Go before 1.21 keeps no frame pointer there"
	cp tests/targets/go_cgo.go "$BATS_TEST_TMPDIR/main.go"
	CGO_ENABLED=1 build mixed
	reach_the_goroutine mixed ';runtime\\.goexit.*;main\\.main;.*;runtime\\.asmcgocall.*;outer_\\[i\\];spin'
	[ "$(samples ';main\\.main;.*;runtime\\.asmcgocall.*;crosscall2;.*;main\\.goBack')" -gt 20 ]
}
