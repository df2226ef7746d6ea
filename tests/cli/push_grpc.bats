# sprof push over gRPC, against a receiver in Python that speaks HTTP/2 as it is told (tests/receivers/fake_grpc.py).
# The real Collector is asked in receivers.bats.
load ../receivers/receiver

GOLDEN=$BATS_TEST_DIRNAME/../golden

setup() {
	bats_require_minimum_version 1.5.0
	needs_libcurl
	cd "$BATS_TEST_TMPDIR"
	cp "$GOLDEN/recordings/complete.data" "$GOLDEN/output/hostile.folded" .
	start_fake
}

teardown() {
	[ -z "${FAKE:-}" ] || kill "$FAKE" 2>/dev/null || true
}

start_fake() { # [CERTIFICATE KEY]
	[ -z "${FAKE:-}" ] || kill "$FAKE"
	rm -f taken/*.json taken/*.body
	start_receiver fake_grpc.py taken "$@"
}

push() { # [OPTION...]
	run --separate-stderr "$SPROF" push --retry 0 "$@"
}

nr_taken() {
	ls taken | grep -c '\.json$'
}

@test "a receiver of gRPC gets the samples of the report, odd names included" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	for file in complete.data hostile.folded; do
		start_fake
		push "grpc://127.0.0.1:$PORT" $file
		[ "$status" -eq 0 ]
		"$SPROF" report --json -n 0 $file >report.json 2>/dev/null
		python3 "$GOLDEN/../cli/readers/sums.py" report report.json >want
		[ -s want ]
		python3 "$RECEIVERS/pushed.py" sums taken | diff want -
	done
}

# bats test_tags=full
@test "a call that fails for now is made again, after the pause that is asked for" {
	printf '14\nbusy\nok\n' >taken/mode
	push --retry 30s "grpc://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"it answers UNAVAILABLE: refused with 14"* ]]
	[ "$(jq -s '.[2].time - .[1].time >= 1.9' taken/[123].json)" = true ]
	cmp taken/1.body taken/3.body
}

# bats test_tags=full
@test "a call that no other try can help is made once, and what is wrong with the call itself is kept" {
	for mode in 3 8 13; do
		echo $mode >taken/mode
		start_fake
		push --retry 30s --spool spool "grpc://127.0.0.1:$PORT" hostile.folded
		[ "$status" -eq 1 ]
		[ "$(nr_taken)" -eq 1 ]
		[[ "$stderr" == *"are lost: neither sent nor kept"* ]]
	done
	for mode in 7 12 16 17 no-status bad-status; do
		echo $mode >taken/mode
		start_fake
		rm -rf spool
		push --retry 30s --spool spool "grpc://127.0.0.1:$PORT" hostile.folded
		[ "$status" -eq 1 ]
		[[ "$stderr" == *"'spool' keeps 1 requests"* ]]
		case $mode in
		7 | 16) [[ "$stderr" == *"hint: --token-file FILE holds the token"* ]] ;;
		12) [[ "$stderr" == *"it answers UNIMPLEMENTED: refused with 12"* ]] ;;
		17 | bad-status) [[ "$stderr" == *"it answers an unknown status"* ]] ;;
		no-status) [[ "$stderr" == *"its answer has no status of gRPC"* ]] ;;
		esac
	done
	echo ok >taken/mode
	start_fake
	push --spool spool "grpc://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 0 ]
	[ "$(nr_taken)" -ge 2 ]
	[ "$(ls spool)" = lock ]
}

@test "the reason of a refusal is made safe, and what was left out is said" {
	echo colours >taken/mode
	push "grpc://127.0.0.1:$PORT" hostile.folded
	[[ "$stderr" == *'it answers INVALID_ARGUMENT: \u{1b}[2Jgone\u{7} \u{202e}z'* ]]
	[ "$(wc -L <<<"$stderr")" -lt 400 ]
	echo partial >taken/mode
	push "grpc://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *'left out 3 profiles: too\u{1b}[31m old'* ]]
	echo compressed >taken/mode # which was not asked for
	push "grpc://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 0 ]
}

# bats test_tags=full
@test "a receiver that breaks the rules of HTTP/2, or is slow, costs no more than its time" {
	for mode in slow hang-up garbage no-trailers reset go-away http-502 redirect endless-data endless-headers \
		endless-trailers pings; do
		echo $mode >taken/mode
		start_fake
		SECONDS=0
		push --push-timeout 2s "grpc://127.0.0.1:$PORT" hostile.folded
		echo "$mode: $stderr"
		[ "$status" -eq 1 ]
		[ "$SECONDS" -lt 20 ]
		[[ "$stderr" == *"sprof: cannot push to 'http://127.0.0.1:$PORT/opentelemetry"* ]]
	done
	echo half-message >taken/mode
	start_fake
	push "grpc://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 0 ]
}

@test "what speaks HTTP/1.1 alone is no receiver of gRPC" {
	kill $FAKE
	rm taken/port
	python3 "$RECEIVERS/fake.py" taken 3>&- 2>/dev/null &
	FAKE=$!
	for _ in $(seq 200); do [ ! -e taken/port ] || break; sleep 0.05; done
	push "grpc://127.0.0.1:$(cat taken/port)" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"cannot push to"* ]]
	[ "$(nr_taken)" -eq 0 ]
}

@test "TLS: only certificates of the file are trusted" {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost 2>/dev/null
	start_fake cert.pem key.pem
	push --ca-file cert.pem "grpcs://localhost:$PORT" hostile.folded
	[ "$status" -eq 0 ]
	[ "$(nr_taken)" -eq 1 ]
	push "grpcs://localhost:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *certificate* ]]
	[ "$(nr_taken)" -eq 1 ]
}

@test "grpc:// is for the receiver otlp-grpc alone" {
	push --receiver parca "grpc://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 2 ]
	[[ "$stderr" == *"parca is not reached by gRPC, only otlp-grpc is"* ]]
	push "otlp-grpc+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 0 ]
}

@test "a libcurl without HTTP/2 is said before anything is sent" {
	command -v cc >/dev/null || skip "needs a compiler"
	printf '#include <curl/curl.h>\n' >old.c
	printf 'int curl_%s(void) { return 0; }\n' >>old.c global_init easy_init easy_setopt easy_perform easy_getinfo \
		easy_reset easy_cleanup easy_strerror slist_append slist_free_all
	sed -i 's/#include .*/struct { int age; const char *version; unsigned number; const char *host; int features; } info = { 0, "7.1" };\nvoid *curl_version_info(int age) { return \&info; }/' old.c
	cc -w -shared -fPIC -o libcurl.so.4 old.c
	LD_LIBRARY_PATH=$PWD push "grpc://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"cannot push by gRPC: libcurl 7.1 has no HTTP/2"* ]]
	[[ "$stderr" == *"hint: the receiver otlp sends the same by HTTP/1.1"* ]]
}
