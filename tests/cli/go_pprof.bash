# For tests that ask go tool pprof. Its first call builds it, with all CPUs for a minute; other tests wait for that.

go_pprof() {
	flock "$BUILD/go_pprof.lock" go tool pprof "$@"
}
