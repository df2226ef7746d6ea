# For tests that need more than an ordinary user or a container has: each says what is missing, and the test is skipped.

needs_root() { # WHAT-FOR
	[ "$(id -u)" = 0 ] || skip "needs root${1:+, to $1}"
}

# Where a seccomp filter lies over everything, as in a container, sprof cannot tell what it would do to the target.
needs_attach() {
	! grep -q '^Seccomp:.*[12]' /proc/self/status || skip "a seccomp filter lies over all programs here: none can be attached to"
	[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ] ||
		skip "kernel.yama.ptrace_scope is not 0"
}

# A container may refuse it; and in a chroot that is no mount point there can be no other mounts.
needs_unshare() { # OPTIONS...
	local reason
	reason=$(unshare "$@" true 2>&1) || skip "$reason (unshare $*)"
}
