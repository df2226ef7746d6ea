# For tests that need more than an ordinary user or a container has: each says what is missing, and the test is skipped.

needs_root() { # WHAT-FOR
	[ "$(id -u)" = 0 ] || skip "needs root${1:+, to $1}"
}

# Seccomp filters must be those of all programs here, as in a container: then it is known what they do to a target, also
# to one that sprof starts.
needs_known_filters() {
	[ "$(nr_filters self)" = 0 ] || [ "$(nr_filters self)" = "$(nr_filters 1)" ] ||
		skip "programs here have $(nr_filters self) seccomp filters, the first process $(nr_filters 1): none can be attached to"
}

needs_attach() {
	needs_known_filters
	[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ] ||
		skip "kernel.yama.ptrace_scope is not 0"
}

# A container may refuse it; and in a chroot that is no mount point there can be no other mounts.
needs_unshare() { # OPTIONS...
	local reason
	reason=$(unshare "$@" true 2>&1) || skip "$reason (unshare $*)"
}

# What a filter does to a target can be read, by root, only from a process that has no filter itself.
needs_no_filter() {
	[ "$(nr_filters self)" = 0 ] || skip "all programs here have $(nr_filters self) seccomp filters, as in a container"
}

# System call 310 (x86-64) of a program on itself. Docker refuses it until version 23.
needs_process_vm_readv() {
	perl -e 'my $to = "x"; my $at = pack("PQ", $to, 1); exit(syscall(310, $$ + 0, $at, 1, $at, 1, 0) != 1)' ||
		skip "process_vm_readv is refused here, so what comes and goes cannot be read safely (docs/attach.md)"
}

# Copies sprof to a folder of the user nobody and gives the copy capabilities, as an administrator would; sets SPROF,
# place (the teardown removes it), out (a folder of nobody's) and as (runs a command as nobody). CAPABILITIES...
lend_rights() {
	local IFS=,
	needs_root "to give a file capabilities"
	place=$(mktemp -d /tmp/sprof-rights.XXXXXX) out=$place/out
	cp "$SPROF" "$(dirname "$SPROF")"/libsprof*.so "$place/"
	mkdir "$out"
	chmod 755 "$place"
	chown 65534:65534 "$out"
	PATH=$PATH:/usr/sbin setcap "$*=ep" "$place/sprof" 2>"$place/why" || skip "files get no capabilities here: $(cat "$place/why")"
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	SPROF=$place/sprof
	"${as[@]}" "$SPROF" --version >/dev/null || skip "this sandbox does not let a user run a file with capabilities"
}

nr_filters() { # PID
	awk '/^Seccomp:/ { mode = $2 } /^Seccomp_filters:/ { nr = $2 } END { print mode ? nr : 0 }' "/proc/$1/status"
}
