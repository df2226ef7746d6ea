# What processes publish of themselves in their memory (OTEP 4719) becomes labels of what is pushed. The program is
# tests/targets/otel_context.c; the receiver is tests/receivers/fake.py.
load ../../receivers/receiver

setup() {
	bats_require_minimum_version 1.5.0
	needs_libcurl
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "${FAKE:-}" ] || kill "$FAKE" 2>/dev/null || true
	[ -z "${programs[*]-}" ] || kill "${programs[@]}" 2>/dev/null || true
}

# The labels of a recording, as a receiver gets them
labels() { # [FILE]
	rm -f taken/*.json taken/*.body
	start_receiver fake.py taken
	"$SPROF" push "${1:-x.data}" "otlp+http://127.0.0.1:$PORT"
	python3 "$RECEIVERS/pushed.py" labels taken >labels
	cat labels
	kill $FAKE
}

sources() {
	"$SPROF" doctor | awk '$1 ~ /^(ebpf|perf|timer)$/ && $2 == "OK" { print $1 }'
}

@test "what a process has published becomes labels, in place of what its environment says" {
	OTEL_SERVICE_NAME=env OTEL_RESOURCE_ATTRIBUTES='team=red,zone=z' \
		"$SPROF" record -q -s timer -F 500 -o x.data -- "$TARGETS/otel_context" 1500 memfd
	labels
	grep -q 'service.name=published shop ' labels
	grep -qF 'deployment.environment.name=prod\u{1b}[31m ' labels
	grep -q 'service.version=1,2=3% team=blue zone=z$' labels
	! grep -q 'process.pid=1 ' labels || false
}

# bats test_tags=full
@test "a process that publishes late, or before it is attached to, is understood by every source" {
	local source mode i recorders=()
	programs=()
	for source in $(sources); do
		for mode in late memfd; do
			"$TARGETS/otel_context" 600000 $mode >/dev/null 3>&- &
			programs+=($!)
			"$SPROF" record -q -s "$source" -F 500 -d 6s -o "$source-$mode" -p $! 3>&- &
			recorders+=($!)
		done
	done
	[ "${#recorders[@]}" -ge 2 ] # there is always a source
	sleep 3
	for ((i = 0; i < ${#programs[@]}; i += 2)); do
		kill -USR1 "${programs[i]}"
	done
	for i in "${recorders[@]}"; do
		wait "$i"
	done
	for source in $(sources); do
		for mode in late memfd; do
			echo "$source, $mode"
			labels "$source-$mode"
			grep 'service.name=published shop .*team=blue$' labels
		done
	done
}

# bats test_tags=full
@test "what is published wrongly is left out, and a valid one beside it is found" {
	run --separate-stderr "$SPROF" record -s timer -F 500 -o x.data -- "$TARGETS/otel_context" 1500 unready version \
		nowhere protected unsigned
	[ "$status" -eq 0 ]
	labels
	grep 'service.name=otel_context$' labels
	for mode in large garbage; do
		run --separate-stderr "$SPROF" record -s timer -F 500 -o x.data -- "$TARGETS/otel_context" 1500 $mode
		[ "$status" -eq 0 ]
		[[ "$stderr" == *"the context of OpenTelemetry that process "*" has published is left out: "* ]]
	done
	run --separate-stderr "$SPROF" record -s timer -F 500 -o x.data -- "$TARGETS/otel_context" 1500 version unsigned memfd
	[ "$status" -eq 0 ]
	labels
	grep 'service.name=published shop ' labels
}
