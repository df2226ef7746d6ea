# Runs a script once for all tests of a file, in the kernel that boot_old_kernel boots. What the script prints after a line
# "@@ NAME" becomes the content of the file NAME, and the tests read these.

boot_guest() { # PROGRAM...: the script is standard input
	local start=$SECONDS status=0
	cat >"$BATS_FILE_TMPDIR/script"
	tests/root/boot_old_kernel "$BATS_FILE_TMPDIR/script" "$BATS_FILE_TMPDIR/output" "$SPROF" "$@" >"$BATS_FILE_TMPDIR/boot" || status=$?
	echo "$status" >"$BATS_FILE_TMPDIR/status"
	[ $status -ne 0 ] || echo "# the 6.1 kernel ran in qemu for $((SECONDS - start)) s" >&3
	[ ! -f "$BATS_FILE_TMPDIR/output" ] || (cd "$BATS_FILE_TMPDIR" &&
		awk '/^@@ / { file = $2; printf "" >file; next } file { print >file }' output)
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
	case $(cat status) in
	0) ;;
	77) skip "$(cat boot)" ;;
	*) cat boot; return 1 ;;
	esac
}
