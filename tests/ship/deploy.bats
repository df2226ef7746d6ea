# deploy/: the container image and the DaemonSet, as far as they can be tried without an engine: every command line in them
# is one that sprof takes, and the recorder works with exactly the rights of the DaemonSet.

load ../rights
load ../receivers/receiver

SHIP=$BATS_TEST_DIRNAME

setup() {
	bats_require_minimum_version 1.5.0
	DEPLOY=$SHIP/../../deploy
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "${FAKE:-}" ] || kill "$FAKE" 2>/dev/null || true
}

daemonset() {
	/usr/bin/python3 "$SHIP/daemonset.py" "$DEPLOY/kubernetes/daemonset.yaml" "$@"
}

needs_yaml() {
	/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip 'needs python3-yaml'
}

# The options are read in order, so if the last one is what is refused, all others were taken. WORD...
takes() {
	run --separate-stderr "$SPROF" "$@" --no-such-option
	[ "$status" -eq 2 ] || [ "$status" -eq 125 ]
	[[ "${stderr_lines[0]}" == *"unrecognized option '--no-such-option'"* ]] || { echo "$*: $stderr"; return 1; }
}

@test "the DaemonSet is well formed, and sprof takes its command line" {
	needs_yaml
	daemonset check
	mapfile -t args < <(daemonset args)
	[ "${args[0]}" = record ]
	takes "${args[@]}"
}

@test "the recipe of the image runs goals that exist, and sprof takes its command lines" {
	local file=$DEPLOY/container/Dockerfile line
	grep -q '^ENTRYPOINT \["/usr/bin/sprof"\]$' "$file"
	for goal in $(sed -n 's/^RUN make //p' "$file" | tr -d '&' | sed 's/-j"$(nproc)"//g; s/make//g'); do
		grep -q "^$goal:" "$SHIP/../../Makefile"
	done
	# The commands in comments, with their words joined again.
	line=$(sed -n 's/^#\t*//p' "$file" | sed -z 's/\\\n//g' | sed -n 's/^.* sprof \(record .*\)$/\1/p')
	[ -n "$line" ]
	takes $line
	# Both name the same capabilities.
	needs_yaml
	diff <(daemonset capabilities | sort) <(grep -o -- '--cap-add [A-Z_]*' "$file" | cut -d' ' -f2 | tr A-Z a-z | sort)
}

# The command line of the DaemonSet, in the folder here/, for some seconds, without any right that it does not name, on a
# file system that cannot be written to but at its volumes. OPTION... of setpriv in front
fly() {
	local args word bounding=-all name
	for name in $(daemonset capabilities); do bounding+=,+$name; done
	mkdir -p here/cache
	mapfile -t args < <(daemonset args | sed -e "s|=/var/lib/sprof|=$PWD/here|; s|^--push=.*|--push=otlp+http://127.0.0.1:$PORT|" \
		-e "s/^--segment=.*/--segment=2s/; s/\$(NODE_NAME)/node7/; /^--quiet$/d")
	unshare -m --propagation private bash -c '
		mount --bind "$1" "$1"
		mount -o remount,bind,ro /
		shift
		exec "$@"' bash "$PWD/here" env XDG_CACHE_HOME="$PWD/here/cache" \
		setpriv --bounding-set "$bounding" --inh-caps -all --no-new-privs "$@" \
		"$SPROF" "${args[@]}" -d 5s
}

# bats test_tags=full
@test "the rights of the DaemonSet are enough: other users' processes, their names, and the push" {
	needs_root "for capabilities and mounts"
	needs_yaml
	needs_unshare -m
	needs_libcurl
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
	start_receiver fake.py taken
	# A program of another user, in a root directory and a mount namespace of its own.
	mkdir -m 755 root
	cp "$TARGETS/shares" root/shares
	ldd "$TARGETS/shares" | grep -o '/[^ ]*' | xargs -I{} cp --parents {} root/
	unshare -m chroot --userspec=65534:65534 root /shares 60000 >/dev/null 3>&- &
	local program=$!
	run fly
	kill $program
	echo "$output"
	[ "$status" -eq 0 ]
	! grep 'cannot\|have no names' <<<"$output" || false
	python3 "$RECEIVERS/pushed.py" self taken >self
	grep part_50 self
	python3 "$RECEIVERS/pushed.py" labels taken | grep 'host.name=node7'
	"$SPROF" report --json --comm shares -n 0 here/segments >report.json
	jq -r '.rows[].function' report.json | grep -qx part_50
	"$SPROF" report --json --kind kernel -n 0 here/segments >report.json
	[ "$(jq '[.rows[] | select(.kind == "kernel") | .function | select(startswith("0x") or contains("+0x") | not)] | length' report.json)" -ge 5 ]
}
