# sprof record --push: what is sampled arrives while it is sampled, every sample once, whatever the receiver does. The
# receiver is tests/receivers/fake.py.
load ../../receivers/receiver

setup() {
	bats_require_minimum_version 1.5.0
	needs_libcurl
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	cd "$BATS_TEST_TMPDIR"
	start_receiver fake.py taken
}

teardown() {
	for pid in $FAKE $PROGRAM; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true # one that starts a program for ever, until its file system ends
	done
}

record() { # OPTION...: the program is inlined, for 4 s
	run --separate-stderr "$SPROF" record -s timer -F 500 -o x.data --push-every 1s "$@" -- "$TARGETS/inlined" 4000
}

same_self() {
	"$SPROF" report --json -n 0 x.data 2>/dev/null >report.json
	python3 "$RECEIVERS/pushed.py" report report.json >want
	[ -s want ]
	python3 "$RECEIVERS/pushed.py" self taken | grep -v ' marker$' | diff want -
}

segments() { # FOLDER
	ls "$1"/*.data 2>/dev/null
}

@test "what is recorded is pushed every second and at the end, each sample once" {
	record --push "otlp+http://127.0.0.1:$PORT" --label service=shop
	[ "$status" -eq 0 ]
	same_self
	[ "$(ls taken/*.json | wc -l)" -ge 2 ] # four and more where the machine is idle
	[ "$(jq -s 'map(.time) | max - min >= 0.5' taken/*.json)" = true ]
	[[ "$stderr" == *"sprof: pushed "*" samples in "* ]]
	python3 "$RECEIVERS/pushed.py" labels taken | grep -q 'service.name=shop'
}

# bats test_tags=full
@test "a receiver that is down loses nothing within the spool" {
	kill $FAKE
	record --push "parca+http://127.0.0.1:$PORT" --spool spool
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"samples could not be sent now; 'spool' keeps "* ]]
	# The receiver is down for three requests and more; that is one message.
	[ "$(grep -c 'cannot push' <<<"$stderr")" -eq 1 ]
	start_receiver fake.py taken "$PORT"
	echo 'marker 1' >x.folded
	run "$SPROF" push x.folded "parca+http://127.0.0.1:$PORT" --spool spool
	[ "$status" -eq 0 ]
	same_self
	[ "$(ls spool)" = lock ]
}

# bats test_tags=full
@test "a receiver that comes back gets what was kept while the recording goes on" {
	printf '503\n503\nok\n' >taken/mode
	record --push "otlp+http://127.0.0.1:$PORT" --spool spool
	[ "$status" -eq 0 ]
	same_self
	[ "$(ls spool)" = lock ]
}

# bats test_tags=full
@test "a receiver that does not answer holds up no sample, and the end for no longer than its time" {
	echo slow >taken/mode
	SECONDS=0
	record --push "otlp+http://127.0.0.1:$PORT" --push-timeout 2s --retry 0
	[ "$status" -eq 0 ]
	[ "$SECONDS" -lt 40 ]
	[[ "$stderr" == *" 0 lost"* ]]
	[[ "$stderr" == *"are lost: neither sent nor kept"* ]]
}

# bats test_tags=full
@test "when the recorder is killed, what it had written is pushed" {
	"$SPROF" record -s timer -F 500 -o x.data --push "otlp+http://127.0.0.1:$PORT" --push-every 600s \
		-- "$TARGETS/inlined" 60000 3>&- 2>/dev/null &
	recorder=$!
	sleep 4
	PROGRAM=$(pgrep -P $recorder -x inlined | head -1)
	kill -9 $recorder
	kill $PROGRAM
	for _ in $(seq 400); do
		[ ! -e taken/1.json ] || break
		sleep 0.05
	done
	"$SPROF" report --json -n 0 x.data 2>/dev/null >report.json
	python3 "$RECEIVERS/pushed.py" report report.json >want
	[ -s want ]
	python3 "$RECEIVERS/pushed.py" self taken | diff want -
}

@test "what a process is to OpenTelemetry becomes labels, but nothing that is known better" {
	OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES='service.name=no,service.version=1%2C2,process.pid=1,=x,a b=c,team=x'$'\e' \
		"$SPROF" record -s timer -F 500 -o x.data -- "$TARGETS/inlined" 500
	"$SPROF" push x.data "otlp+http://127.0.0.1:$PORT"
	python3 "$RECEIVERS/pushed.py" labels taken >labels
	grep -q ' service.name=shop service.version=1,2 team=x\\u{1b}$' labels
	! grep -q 'process.pid=1 ' labels || false
	"$SPROF" push x.data "otlp+http://127.0.0.1:$PORT" --label service=mine --label team=y
	python3 "$RECEIVERS/pushed.py" labels taken | grep -q ' service.name=mine service.version=1,2 team=y$'
}

@test "what cannot work is an error before the program starts" {
	run --separate-stderr "$SPROF" record -s timer -o x.data --push "otlp+http://127.0.0.1:$PORT" --token-file none -- \
		touch started
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"cannot read 'none': No such file or directory"* ]]
	[ ! -e started ]
	[ ! -e x.data ]
	run "$SPROF" record --label a=b -- true
	[ "$status" -eq 2 ]
	run "$SPROF" record --push http://nowhere -- true
	[ "$status" -eq 2 ]
	run "$SPROF" record --push-every 10ms --push otlp+http://nowhere -- true
	[ "$status" -eq 2 ]
}

# bats test_tags=full
@test "a flight recorder pushes each segment once it is named, every sample once" {
	[ "$("$SPROF" doctor | grep -c '^\(ebpf\|perf\)  *OK')" -gt 0 ] || skip "needs the source ebpf or perf"
	run --separate-stderr "$SPROF" record --continuous x.data --segment 1500ms -F 500 \
		--push "otlp+http://127.0.0.1:$PORT" -- "$TARGETS/inlined" 5000
	echo "$stderr"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"sprof: pushed "*" samples in "* ]]
	[ "$(ls x.data/*.data | wc -l)" -ge 3 ]
	same_self
	[ "$(ls taken/*.json | wc -l)" -ge 3 ]
	[ "$(jq -s 'map(.time) | max - min >= 1' taken/*.json)" = true ] # not all at the end
	run "$SPROF" record --continuous y.data --push-every 5s --push otlp+http://nowhere -- true
	[ "$status" -eq 2 ]
}

# The process that makes requests looks for names that a segment lacks. While such a target runs, ps(1) hangs on the
# whole machine.
# bats test_tags=full
@test "a target that starts a program for ever keeps no segment from being pushed" {
	[ "$("$SPROF" doctor | grep -c '^\(ebpf\|perf\)  *OK')" -gt 0 ] || skip "needs the source ebpf or perf"
	source "$BATS_TEST_DIRNAME/../ready.bash"
	start_ready "$TARGETS/stuck" asked 20
	PROGRAM=$target
	"$SPROF" record --continuous x.data --segment 1s -F 500 --push "otlp+http://127.0.0.1:$PORT" -p "$target" 3>&- 2>log &
	ends_beside_endless_exec $! "$target" x.data log
	[ "$(ls taken/*.json | wc -l)" -ge 2 ]
	! grep -q 'is not pushed\|takes too long' log || false
}

# bats test_tags=full
@test "segments that were kept before they were pushed are pushed from there, every sample once" {
	[ "$("$SPROF" doctor | grep -c '^\(ebpf\|perf\)  *OK')" -gt 0 ] || skip "needs the source ebpf or perf"
	"$SPROF" record --continuous x.data --segment 1s -F 500 --push "otlp+http://127.0.0.1:$PORT" \
		-- "$TARGETS/inlined" 8000 3>&- 2>log &
	local recorder=$! reader segment
	until [ -e x.data/lock ] && pgrep -P $recorder -x inlined; do sleep 0.05; done
	reader=$(ps -o pid=,ni= --ppid "$(pgrep -d, -P $recorder -x sprof)" | awk '$2 == 19 { print $1 }')
	kill -STOP $reader
	sleep 3
	kill -USR2 $recorder
	until grep -q "kept in 'x.data/kept'" log; do sleep 0.05; done
	sleep 1
	# As --keep and --max-size do, and as it is where the file system has no links.
	for segment in x.data/kept/*.data; do rm -f x.data/$(basename $segment); done
	kill -CONT $reader
	wait $recorder
	cat log
	! grep -q 'cannot open' log || false
	[ "$(ls x.data/kept/*.data | wc -l)" -ge 2 ]
	for folder in x.data x.data/kept; do
		"$SPROF" report --json -n 0 $folder 2>/dev/null >report.json
		python3 "$RECEIVERS/pushed.py" report report.json
	done | awk '{ n = $1; $1 = ""; sum[$0] += n } END { for (f in sum) printf "%.0f%s\n", sum[f], f }' | sort >want
	[ -s want ]
	python3 "$RECEIVERS/pushed.py" self taken | sort | diff want -
}

# bats test_tags=full
@test "a flight recorder goes on where its pusher is stopped, and segments that are gone are said" {
	[ "$("$SPROF" doctor | grep -c '^\(ebpf\|perf\)  *OK')" -gt 0 ] || skip "needs the source ebpf or perf"
	"$SPROF" record --continuous x.data --segment 100ms --max-size 1M --push "otlp+http://127.0.0.1:$PORT" \
		-- "$TARGETS/inlined" 8000 3>&- 2>log &
	local recorder=$! reader
	until [ "$(ls x.data/*.data 2>/dev/null | wc -l)" -ge 2 ]; do sleep 0.05; done
	reader=$(ps -o pid=,ni= --ppid "$(pgrep -d, -P $recorder -x sprof)" | awk '$2 == 19 { print $1 }')
	[ -n "$reader" ]
	kill -STOP $reader
	sleep 3
	rm x.data/sprof-*.data
	local nr=$(ls x.data/*.data 2>/dev/null | wc -l)
	sleep 1.5
	[ "$(ls x.data/*.data | wc -l)" -gt "$nr" ] # it records
	kill -CONT $reader
	wait $recorder || true
	cat log
	grep -q "cannot open 'x.data/sprof-" log
	[ "$(ls taken/*.json | wc -l)" -ge 2 ]
}

# bats test_tags=full
@test "a flight recorder goes on where a process that pushes is killed, and says so once" {
	[ "$("$SPROF" doctor | grep -c '^\(ebpf\|perf\)  *OK')" -gt 0 ] || skip "needs the source ebpf or perf"
	local recorder reader sender killed nr segment status
	"$TARGETS/inlined" 600000 >/dev/null 3>&- &
	PROGRAM=$!
	for killed in reader sender; do
		"$SPROF" record --continuous $killed.data --segment 500ms -F 500 \
			--push "otlp+http://127.0.0.1:$PORT" -p $PROGRAM 3>&- 2>log &
		recorder=$!
		until [ "$(segments $killed.data | wc -l)" -ge 3 ]; do
			kill -0 $recorder
			sleep 0.05
		done
		reader=$(ps -o pid=,ni= --ppid "$(pgrep -d, -P $recorder -x sprof)" | awk '$2 == 19 { print $1 }')
		[ -n "$reader" ]
		sender=$(ps -o ppid= -p $reader | tr -d ' ')
		kill -9 ${!killed}
		until grep -q 'the process that pushes has ended: nothing more is pushed' log; do
			kill -0 $recorder
			sleep 0.05
		done
		nr=$(segments $killed.data | wc -l)
		until [ "$(segments $killed.data | wc -l)" -ge $((nr + 4)) ]; do
			kill -0 $recorder
			sleep 0.05
		done
		status=0
		kill -INT $recorder
		wait $recorder || status=$?
		cat log
		[ $status -eq 1 ] # not all was pushed
		[ "$(grep -c 'the process that pushes has ended' log)" -eq 1 ]
		nr=$(segments $killed.data | wc -l)
		grep -q " samples in $nr segments, 0 lost" log
		for segment in $(segments $killed.data); do
			"$SPROF" info --json $segment 2>/dev/null | jq -e '.finished and .lost == 0'
		done
	done
}
