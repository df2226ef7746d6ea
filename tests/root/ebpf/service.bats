# A recorder that a service manager runs: sd_notify, counters for Prometheus, and the unit file.
bats_require_minimum_version 1.5.0
load ../recorder

setup() {
	needs_bpf
	pids=() data=$BATS_TEST_TMPDIR/s.data heard=$BATS_TEST_TMPDIR/heard
}

# A service manager: writes each datagram as a line, "|" between its lines.
manage() {
	export NOTIFY_SOCKET=$BATS_TEST_TMPDIR/notify
	start python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode().replace("\n", "|"), file=open(sys.argv[2], "a"), flush=True)' "$NOTIFY_SOCKET" "$heard"
	wait_until test -S "$NOTIFY_SOCKET"
}

hears() { # PATTERN
	grep -q -- "$1" "$heard" 2>/dev/null
}

@test "the service manager hears of the start, the watchdog and the end" {
	work shares 30000
	manage
	WATCHDOG_USEC=600000 "$SPROF" record -q --continuous "$BATS_TEST_TMPDIR/flight" -p ${pids[0]} 3>&- &
	recorder=$!
	pids+=($recorder)
	wait_until hears '^READY=1|STATUS='
	wait_until hears '^WATCHDOG=1$'
	wait_until hears '^STATUS=Sampling at 99 Hz: [0-9]* samples, 0 lost, [0-9]* bytes written$'
	sleep 1.2
	[ "$(grep -c '^WATCHDOG=1$' "$heard")" -ge 3 ]
	! hears '^STOPPING=1' || false
	kill -TERM $recorder
	wait $recorder
	wait_until hears '^STOPPING=1|STATUS='
	cat "$heard"
	[ "$(grep -c '^READY=1' "$heard")" = 1 ]
}

scraped() { # PATTERN
	curl -s --max-time 5 "http://127.0.0.1:$port/metrics" >"$BATS_TEST_TMPDIR/metrics"
	grep -q -- "$1" "$BATS_TEST_TMPDIR/metrics"
}

# bats test_tags=full
@test "counters are served to Prometheus, whatever clients do" {
	work shares 60000
	"$SPROF" record --continuous "$BATS_TEST_TMPDIR/flight" --segment 500ms -F 999 -p ${pids[0]} --metrics 0 --trigger memory=1K 3>&- 2>"$BATS_TEST_TMPDIR/log" &
	recorder=$!
	pids+=($recorder)
	wait_until grep -q 'metrics are served at port' "$BATS_TEST_TMPDIR/log"
	port=$(sed -n 's/.*metrics are served at port \([0-9]*\).*/\1/p' "$BATS_TEST_TMPDIR/log")
	wait_until scraped '^sprof_segments_total [1-9]'
	cat "$BATS_TEST_TMPDIR/metrics"
	grep -q '^sprof_samples_total [1-9]' "$BATS_TEST_TMPDIR/metrics"
	grep -q '^sprof_lost_samples_total 0$' "$BATS_TEST_TMPDIR/metrics"
	grep -q '^sprof_triggers_total 1$' "$BATS_TEST_TMPDIR/metrics"
	grep -q '^sprof_frequency_hertz 999$' "$BATS_TEST_TMPDIR/metrics"
	grep -q '^sprof_cpu_seconds_total{part="bpf"} 0\.[0-9]*$' "$BATS_TEST_TMPDIR/metrics"
	grep -q '^sprof_resident_memory_bytes [1-9][0-9]\{6,\}$' "$BATS_TEST_TMPDIR/metrics"
	# Each line is a comment, or a name with a value.
	! grep -vE '^# (HELP|TYPE) sprof_[a-z_]+ |^sprof_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.]+$' "$BATS_TEST_TMPDIR/metrics" || false
	# Only this machine can ask.
	grep -qi "^ *[0-9]*: 0100007F:$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp
	# Two hundred connections that say nothing, or never end: it samples on, and answers.
	start python3 -c 'import socket, sys, time
held = []
for i in range(200):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    s.setblocking(False)
    if i % 2: s.send(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 1000)
    held.append(s)
    time.sleep(0.005)
time.sleep(60)' "$port"
	sleep 2
	wait_until scraped '^sprof_samples_total'
	local before=$(awk '$1 == "sprof_samples_total" { print $2 }' "$BATS_TEST_TMPDIR/metrics")
	sleep 1.5
	wait_until scraped '^sprof_samples_total'
	[ "$(awk '$1 == "sprof_samples_total" { print $2 }' "$BATS_TEST_TMPDIR/metrics")" -gt "$before" ]
	[ "$(ls /proc/$recorder/fd | wc -l)" -lt 200 ]
	kill -INT $recorder
	wait $recorder
}

@test "an address that cannot be served is refused before anything is recorded" {
	run --separate-stderr "$SPROF" record --metrics example.org:80 -o "$data" -- true
	[ "$status" -eq 125 ]
	[ "${stderr_lines[0]}" = "sprof: cannot serve metrics at 'example.org:80': it is no ADDRESS:PORT" ]
	[ ! -e "$data" ]
}

@test "the unit file says nothing that systemd does not know" {
	command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
	sed "s|^ExecStart=[^ ]*|ExecStart=$(command -v true)|" deploy/sprof.service >"$BATS_TEST_TMPDIR/sprof.service"
	run systemd-analyze verify --man=no "$BATS_TEST_TMPDIR/sprof.service"
	[ "$status" -eq 0 ]
	! grep -F "sprof.service" <<<"$output" || false
}

# The rights of the unit: another user, these capabilities and no others, no new privileges.
# bats test_tags=full
@test "the rights of the unit are enough, without root" {
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	local caps=$(sed -n 's/^AmbientCapabilities=//p' deploy/sprof.service | tr ' ' '\n' | sed 's/^CAP_//' | tr A-Z a-z) set= c
	for c in $caps; do set+=,+$c; done
	[ -n "$set" ]
	work shares 30000
	install -d -o 65534 -g 65534 "$BATS_TEST_TMPDIR/state"
	chmod o+x "$BATS_TEST_TMPDIR" "$(dirname "$BATS_TEST_TMPDIR")" "$(dirname "$(dirname "$BATS_TEST_TMPDIR")")"
	install -m 755 "$SPROF" /tmp/sprof-unit.$$
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps="-all$set" --ambient-caps="-all$set" --bounding-set="-all$set" \
		/tmp/sprof-unit.$$ record -a --all-users -d 3s --continuous "$BATS_TEST_TMPDIR/state/flight" --segment 1s --max-overhead 50% --trigger psi=cpu:some:1%
	rm /tmp/sprof-unit.$$
	echo "$stderr"
	[ "$status" -eq 0 ]
	"$SPROF" fold "$BATS_TEST_TMPDIR/state/flight" 2>/dev/null | grep -q ';main;part_50'
	[ "$("$SPROF" info --json "$BATS_TEST_TMPDIR/state/flight" 2>/dev/null | jq -r .source)" = ebpf ]
}
