# sprof push, against a receiver in Python that answers as it is told (tests/receivers/fake.py). What it took is decoded
# by protoc, and its sums must be those of the report.
load ../receivers/receiver

GOLDEN=$BATS_TEST_DIRNAME/../golden

setup() {
	bats_require_minimum_version 1.5.0
	needs_libcurl
	cd "$BATS_TEST_TMPDIR"
	cp "$GOLDEN/recordings/complete.data" "$GOLDEN/output/hostile.folded" .
	start_fake taken
}

teardown() {
	for pid in $FAKES; do
		kill "$pid" 2>/dev/null || true
	done
}

start_fake() { # FOLDER [PORT]
	start_receiver fake.py "$@"
	FAKES="$FAKES $FAKE"
}

push() { # [OPTION...]
	run --separate-stderr "$SPROF" push --retry 0 "$@"
}

same_sums() { # FILE
	"$SPROF" report --json -n 0 "$1" >report.json 2>/dev/null
	python3 "$GOLDEN/../cli/readers/sums.py" report report.json >want
	[ -s want ]
	python3 "$RECEIVERS/pushed.py" sums taken | diff want -
}

@test "every receiver gets the samples of the report, odd names included" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	for receiver in otlp pyroscope pyroscope-ingest parca; do
		for file in complete.data hostile.folded; do
			rm -f taken/*.json taken/*.body
			kill "${FAKES##* }"
			start_fake taken
			push "$receiver+http://127.0.0.1:$PORT" $file
			[ "$status" -eq 0 ]
			same_sums $file
		done
	done
}

@test "each process is a series with its labels, and those of the user replace them" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	push "pyroscope+http://127.0.0.1:$PORT" complete.data --label service=shop --label team.name=blue
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"pushed 400 samples in 1 requests"* ]]
	python3 "$RECEIVERS/pushed.py" labels taken >labels
	[ "$(wc -l <labels)" -eq 2 ]
	[ "$(grep -c '^__name__=process_cpu comm=[^ ]* .*host=[^ ]* pid=[0-9]* service_name=shop team_name=blue$' labels)" -eq 2 ]
	rm taken/1.*
	kill "${FAKES##* }"
	start_fake taken
	push "otlp+http://127.0.0.1:$PORT" complete.data
	python3 "$RECEIVERS/pushed.py" labels taken | grep -q 'host.name=.* process.pid=[0-9]* service.name=make$'
}

@test "the path or the port of a URL says what listens there" {
	push "http://127.0.0.1:$PORT/tenant/ingest?x=1" hostile.folded
	[ "$status" -eq 0 ]
	[[ "$(jq -r .path taken/1.json)" == "/tenant/ingest?x=1&format=pprof&"* ]]
	push "http://127.0.0.1:$PORT/api/profiles/writeraw" hostile.folded
	[ "$status" -eq 0 ]
	jq -e .series taken/2.body
	push "http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 2 ]
	[[ "$stderr" == *"which receiver is it? say --receiver NAME, one of otlp, otlp-grpc, pyroscope, pyroscope-ingest, parca"* ]]
	push "http://127.0.0.1:4318" hostile.folded # nothing may listen there; what matters is the guess
	[[ "$stderr" != *"which receiver"* ]]
}

@test "a URL that cannot be pushed to is refused before anything is read" {
	for url in ftp://h:4318 http://:4318 http://u:secret@h:4318 'http://h:4318/#x' http://h:x/ http://h:123456/ \
		"parco+http://h" "http://h:4318/"$'\t'; do
		push --receiver otlp "$url" hostile.folded
		[ "$status" -eq 2 ]
		[[ "$stderr" == *"cannot push to that URL: "* ]]
		[[ "$stderr" != *secret* ]]
	done
	for label in x '=x' 'a b=c' 'a=' $'a=b\nc' "a=$(printf '%0600d' 0)"; do
		push --label "$label" "otlp+http://127.0.0.1:$PORT" hostile.folded
		[ "$status" -eq 2 ]
		[[ "$stderr" == *"is no label: "* ]]
	done
	[ ! -e taken/1.json ]
}

@test "a token and headers come from files or the environment, and are in no message" {
	printf 's3cret-t0ken\n' >token
	printf '# tenants\nX-Scope-OrgID: blue\n\n' >headers
	push --token-file token --header-file headers "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 0 ]
	[ "$(jq -r '.headers.Authorization' taken/1.json)" = "Bearer s3cret-t0ken" ]
	[ "$(jq -r '.headers["X-Scope-OrgID"]' taken/1.json)" = blue ]
	SPROF_PUSH_TOKEN=other push "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$(jq -r '.headers.Authorization' taken/2.json)" = "Bearer other" ]
	printf 'a\r\nEvil: yes\n' >token
	push --token-file token "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"use the token of 'token': it is no single word"* ]]
	printf 'no colon\n' >headers
	push --header-file headers "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"read line 1 of 'headers': it is not 'Name: value'"* ]]
	mkfifo pipe
	push --token-file pipe "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[ ! -e taken/3.json ]
}

# bats test_tags=full
@test "a receiver that is busy is asked again, and not before it said" {
	printf '429 after 2\n503\nok\n' >taken/mode
	push --retry 30s "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 0 ]
	[ "$(jq -s '.[1].time - .[0].time >= 1.9 and .[2].time > .[1].time' taken/[123].json)" = true ]
	cmp taken/1.body taken/3.body
	# A pause that is longer than the time for further tries is not waited for.
	kill "${FAKES##* }"
	rm taken/*.json
	echo '429 after 86400' >taken/mode
	start_fake taken
	push --retry 2s "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[ "$(ls taken/*.json | wc -l)" -eq 1 ]
}

@test "a refusal is said with the first line of the answer, made safe" {
	echo colours >taken/mode
	push --retry 5s "otlp+http://127.0.0.1:$PORT" hostile.folded --receiver otlp
	[ "$status" -eq 1 ]
	[ ! -e taken/2.json ] # no other try can help
	echo colours >taken/mode
	push "parca+http://127.0.0.1:$PORT" hostile.folded
	[[ "$stderr" == *'it answers 400: \u{1b}[2Jgone\u{7} \u{202e}zzz'* ]]
	[[ "$stderr" != *"second line"* ]]
	[ "$(wc -L <<<"$stderr")" -lt 400 ]
	echo status >taken/mode
	push "otlp+http://127.0.0.1:$PORT" hostile.folded
	[[ "$stderr" == *"it answers 400: bad profile"* ]]
	echo 401 >taken/mode
	push "otlp+http://127.0.0.1:$PORT" hostile.folded
	[[ "$stderr" == *"hint: --token-file FILE holds the token"* ]]
	[[ "$stderr" == *"samples in 1 requests are lost: neither sent nor kept"* ]]
}

# bats test_tags=full
@test "a receiver that fails again and again is one message, whatever numbers are in its answers" {
	echo numbered >taken/mode
	push --retry 3s "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[ "$(ls taken/*.json | wc -l)" -ge 2 ]
	[ "$(grep -c 'cannot push' <<<"$stderr")" -eq 1 ]
	[[ "$stderr" == *"it answers 503: busy, request 1"* ]]
}

@test "what a receiver says that it left out is said" {
	echo partial >taken/mode
	push "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *'left out 3 profiles: too\u{1b}[31m old'* ]]
}

# bats test_tags=full
@test "a receiver that is slow or lies costs no more than its time, and no redirection is followed" {
	start_fake other
	echo "http://127.0.0.1:$PORT/v1development/profiles" >taken/elsewhere
	PORT=$(cat taken/port)
	printf 't\n' >token
	for mode in slow drip hang-up garbage endless-body endless-headers to-file to-host; do
		echo $mode >taken/mode
		SECONDS=0
		push --push-timeout 2s --token-file token "otlp+http://127.0.0.1:$PORT" hostile.folded
		[ "$status" -eq 1 ]
		[ "$SECONDS" -lt 20 ]
		[[ "$stderr" == *"sprof: cannot push to 'http://127.0.0.1:$PORT/v1development/profiles': "* ]]
	done
	[[ "$stderr" == *"it answers 307, a redirection, which is not followed"* ]]
	[ ! -e other/1.json ]
}

@test "what cannot be sent is kept in the spool, and sent at the next push" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	echo 503 >taken/mode
	push --spool spool "otlp+http://127.0.0.1:$PORT" complete.data
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"400 samples could not be sent now; 'spool' keeps 1 requests"* ]]
	[ "$(stat -c %a spool)" = 700 ]
	push --spool spool "otlp+http://127.0.0.1:$PORT" complete.data
	[[ "$stderr" == *"'spool' keeps 2 requests"* ]]
	rm taken/*.json
	kill "${FAKES##* }"
	echo ok >taken/mode
	start_fake taken
	push --spool spool "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"in 3 requests"* ]]
	[ "$(ls spool)" = lock ]
	"$SPROF" report --json complete.data 2>/dev/null | jq .samples
	[ "$(python3 "$RECEIVERS/pushed.py" labels taken | wc -l)" -eq 5 ]
}

@test "the spool keeps within its size: the oldest goes, and is counted" {
	echo 503 >taken/mode
	head -c 8000 /dev/urandom | od -An -tx1 -w8 | sed 's/ //g; s/$/ 1/' >big.folded
	for i in 1 2 3 4 5 6 7; do
		push --spool spool --spool-size 100K "parca+http://127.0.0.1:$PORT" big.folded
	done
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"are lost: neither sent nor kept"* ]]
	[ "$(du -sb spool | cut -f1)" -le $((100 * 1024 + 8192)) ]
	[ "$(ls spool/*.push | wc -l)" -ge 1 ]
}

@test "a spool that is damaged, or that others may write to, does no harm" {
	mkdir -m 700 spool
	printf 'sprof push 1\notlp\n1\n1\n\n\nbody' >spool/0000000001-1.push
	printf 'sprof push 1\notlp\n1\n1\n?x\r\nEvil: 1\n\nbody' >spool/0000000002-1.push
	printf 'no request' >spool/0000000003-1.push
	ln -s /etc/passwd spool/0000000004-1.push
	mkfifo spool/0000000005-1.push
	push --spool spool "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$(cat taken/1.body)" = body ]
	[ ! -e taken/3.json ]
	[[ "$stderr" == *"'spool/0000000002-1.push' is damaged: it is removed"* ]]
	[[ "$stderr" == *"'spool/0000000003-1.push' is damaged: it is removed"* ]]
	chmod 777 spool
	push --spool spool "otlp+http://127.0.0.1:$PORT" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"keep profiles in 'spool': others may write to it"* ]]
}

@test "TLS: only certificates of the file are trusted, and a proxy is asked as curl's variables say" {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost 2>/dev/null
	cat >tls.py <<-'EOF'
		import http.server, ssl, sys
		class H(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        self.rfile.read(int(self.headers["Content-Length"]))
		        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
		    def log_message(self, *a): pass
		s = http.server.HTTPServer(("127.0.0.1", 0), H)
		c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain("cert.pem", "key.pem")
		s.socket = c.wrap_socket(s.socket, server_side=True)
		open("tls.port", "w").write(str(s.server_port)); s.serve_forever()
	EOF
	python3 tls.py 3>&- 2>/dev/null &
	FAKES="$FAKES $!"
	for _ in $(seq 200); do [ ! -s tls.port ] || break; sleep 0.05; done
	url=otlp+https://localhost:$(cat tls.port)
	push --ca-file cert.pem "$url" hostile.folded
	[ "$status" -eq 0 ]
	push "$url" hostile.folded
	[ "$status" -eq 1 ]
	[[ "$stderr" == *certificate* ]]
	http_proxy=http://127.0.0.1:$PORT push otlp+http://nowhere.invalid:4318 hostile.folded
	[ "$status" -eq 0 ]
	[ "$(jq -r .path taken/1.json)" = http://nowhere.invalid:4318/v1development/profiles ]
}

@test "a file that cannot be read is an error, and nothing is sent" {
	push "otlp+http://127.0.0.1:$PORT" missing.data
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"cannot open 'missing.data'"* ]]
	[ ! -e taken/1.json ]
}
