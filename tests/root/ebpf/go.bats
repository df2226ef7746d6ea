# sprof record on a Go program that was linked without symbols and DWARF.
load ../kernel

setup() {
	needs_bpf
	PATH=$PATH:/usr/local/go/bin
	command -v go >/dev/null || skip "needs go (apt-get install golang-go)"
	cp tests/targets/goroutines.go "$BATS_TEST_TMPDIR/main.go"
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

@test "a stripped Go program has the functions and lines of one that is not" {
	build whole
	build stripped -ldflags '-s -w'
	sampled whole
	sampled stripped
}
