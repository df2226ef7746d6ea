# sprof push, and the real Parca, OpenTelemetry Collector and API of Pyroscope that `make receivers` builds: what they
# store is asked back, and is the recording stack by stack, with inlined functions and lines.
#
# bats file_tags=full

GOLDEN=$BATS_TEST_DIRNAME/../golden
RECEIVERS=$BATS_TEST_DIRNAME/../receivers

setup() {
	bats_require_minimum_version 1.5.0
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
	cd "$BATS_TEST_TMPDIR"
	cp "$GOLDEN/recordings/complete.data" "$GOLDEN"/output/{hostile,kinds,split}.folded .
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	record_here
}

needs() { # PROGRAM
	[ -x "$BUILD/receivers/$1" ] || skip "needs Parca and others: make receivers (ten minutes, network)"
}

teardown() {
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
}

# A recording of now, with inlined functions; where none can be made, the others are enough.
record_here() {
	FILES="complete.data hostile.folded kinds.folded split.folded"
	"$SPROF" record -s timer -F 500 -o here.data -- "$TARGETS/inlined" 1000 >/dev/null 2>&1 || return 0
	FILES="$FILES here.data"
}

start() { # COMMAND...
	"$@" >server.log 2>&1 3>&- &
	SERVER=$!
	for _ in $(seq 400); do
		! (: </dev/tcp/127.0.0.1/$PORT) 2>/dev/null || return 0
		sleep 0.1
	done
	cat server.log
	return 1
}

want() { # FILE
	"$SPROF" export -f json -o want.json "$1" 2>/dev/null
	python3 "$RECEIVERS/stored.py" json want.json >want
	[ -s want ]
	"$SPROF" report --json -n 0 "$1" >report.json 2>/dev/null
	python3 "$RECEIVERS/pushed.py" report report.json | sort >want.self
}

# FORMAT FILE: compares what is stored with want, and its self times with those of sprof report
compare() {
	python3 "$RECEIVERS/stored.py" "$1" "$2" | diff want -
	python3 "$RECEIVERS/stored.py" "$1" "$2" self | sort | diff want.self -
}

# FORMAT FILE: has the receiver stored all of it?
has_come() {
	python3 "$RECEIVERS/stored.py" "$1" "$2" 2>/dev/null | cmp -s want -
}

# What Parca has of a run: waits until it can be asked for.
ask_parca() { # RUN
	local type
	type=$(curl -s "http://127.0.0.1:$PORT/api/profiles/types" | jq -r --arg run "$1" '.types[] |
		select(.sampleType != "samples" and (.name == "count") == ($run | endswith("folded"))) |
		[.name, .sampleType, .sampleUnit, .periodType, .periodUnit] + (if .delta then ["delta"] else [] end) | join(":")')
	curl -sG "http://127.0.0.1:$PORT/api/profiles/query" --data-urlencode mode=MODE_MERGE \
		--data-urlencode "merge.query=$type{run=\"$1\"}" --data-urlencode reportType=REPORT_TYPE_PPROF \
		--data-urlencode merge.start=2000-01-01T00:00:00Z --data-urlencode merge.end=2100-01-01T00:00:00Z |
		jq -r .pprof | base64 -d >answer.pb.gz
}

@test "Parca has every sample, with inlined functions, lines and odd names" {
	needs parca
	printf 'object_storage:\n  bucket:\n    type: FILESYSTEM\n    config:\n      directory: ./data\n' >parca.yaml
	start "$BUILD/receivers/parca" --config-path=parca.yaml --http-address=127.0.0.1:$PORT
	for file in $FILES; do
		"$SPROF" push --label run=$file $file "parca+http://127.0.0.1:$PORT"
	done
	for file in $FILES; do
		want $file
		for _ in $(seq 50); do
			ask_parca $file || true
			! has_come pprof answer.pb.gz || break
			sleep 0.2
		done
		compare pprof answer.pb.gz
	done
}

# PROTOCOL SCHEME
check_collector() {
	needs collector
	cat >collector.yaml <<-EOF
		receivers: {otlp: {protocols: {$1: {endpoint: "127.0.0.1:$PORT"}}}}
		exporters: {file: {path: $PWD/out.json, flush_interval: 100ms}}
		service:
		  telemetry: {metrics: {level: none}}
		  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
	EOF
	start "$BUILD/receivers/collector" --config collector.yaml --feature-gates service.profilesSupport
	for file in $FILES; do
		before=$(cat out.json 2>/dev/null | wc -l)
		"$SPROF" push $file "$2://127.0.0.1:$PORT"
		want $file
		for _ in $(seq 50); do
			tail -n +$((before + 1)) out.json >new.json || true
			! has_come collector new.json || break
			sleep 0.2
		done
		compare collector new.json
	done
}

@test "a Collector has every sample by HTTP, with inlined functions, lines and odd names" {
	check_collector http otlp+http
}

@test "a Collector has every sample by gRPC, with inlined functions, lines and odd names" {
	check_collector grpc grpc
}

@test "a Collector that takes no profiles says so by gRPC, and one that takes few bytes gets small requests" {
	needs collector
	cat >collector.yaml <<-EOF
		receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:$PORT"}}}}
		exporters: {file: {path: $PWD/out.json, flush_interval: 100ms}}
		service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [file]}}}
	EOF
	start "$BUILD/receivers/collector" --config collector.yaml
	run --separate-stderr "$SPROF" push kinds.folded "grpc://127.0.0.1:$PORT" --retry 0
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"it answers UNIMPLEMENTED: unknown service opentelemetry.proto.collector.profiles"* ]]
	[[ "$stderr" == *"hint: an OpenTelemetry Collector takes profiles with --feature-gates"* ]]
	kill $SERVER
	wait $SERVER || true
	sed -i s/traces/profiles/ collector.yaml
	start "$BUILD/receivers/collector" --config collector.yaml --feature-gates service.profilesSupport
	head -c 16000000 /dev/urandom | od -An -v -tx1 -w80 | sed 's/ //g; s/$/ 1/' >big.folded # 32 MB of names
	run --separate-stderr "$SPROF" push big.folded "grpc://127.0.0.1:$PORT"
	echo "$stderr"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"pushed 200000 samples in "* ]]
	[ "$(sed -n 's/.* in \([0-9]*\) requests.*/\1/p' <<<"$stderr")" -gt 8 ]
}

@test "Pyroscope's API takes every sample, with inlined functions, lines and odd names" {
	needs pyroscope
	mkdir stored
	start "$BUILD/receivers/pyroscope" 127.0.0.1:$PORT stored
	for file in $FILES; do
		rm -f stored/*
		"$SPROF" push $file "pyroscope+http://127.0.0.1:$PORT"
		want $file
		compare pprof stored
	done
	grep -q '^__name__=process_cpu service_name=make host=[^ ]* .*pid=[0-9]' server.log
}
