# A library is loaded into a running program.
bats_require_minimum_version 1.5.0
without_filter=true # with one, it is not known what the library would be allowed
load ../attach

guest() {
	grep -c 'libguest\.so' /proc/"$target"/maps
}

# Loads the library again and again. TIMES COMMAND...
loads() {
	export GUEST_SAYS=$BATS_TEST_TMPDIR/says.$1.$3
	target "${@:2}"
	drive dlopen "$target" "$TARGETS/libguest.so" $(($1 * times)) 2000
	grep -qE 'ok [1-9]' "$BATS_TEST_TMPDIR/figures"
	nothing_stays
	[ "$(guest)" -ge 4 ]
	[ "$(cat "$GUEST_SAYS")" = "arrived in $target" ] # once
}

# bats test_tags=full, stress
@test "dlopen from outside: while threads allocate" {
	loads 10 "$TARGETS/storm" malloc 5000
	ends_well
}

# bats test_tags=full, stress
@test "dlopen from outside: while threads load and unload" {
	loads 10 "$TARGETS/storm" dlopen 5000
	ends_well
}

# bats test_tags=full, stress
@test "dlopen from outside: while threads come and go, and children are forked" {
	loads 10 "$TARGETS/storm" thread 3000
	ends_well
	loads 11 "$TARGETS/storm" fork 4000
	ends_well
}

# bats test_tags=full, stress
@test "dlopen from outside: in every kind of waiting" {
	loads 20 "$TARGETS/blocked" 4000
	ends_well
}

# bats test_tags=full, stress
@test "dlopen from outside: registers are as they were" {
	loads 20 "$TARGETS/registers" 4000
	ends_well
}

# bats test_tags=full, stress
@test "dlopen from outside: python3" {
	loads 10 python3 -c 'import os, time
open(os.environ["READY_FILE"], "w").close()
end = time.time() + 4
while time.time() < end: sum(i * i for i in range(10000)); time.sleep(0.001)'
	ends_well
}

# bats test_tags=full
@test "dlopen from outside: a loader that is locked is left alone" {
	target "$TARGETS/loader_locked" 4000
	run "$DRIVERS/dlopen" "$target" "$TARGETS/libguest.so" 1 300
	echo "$output"
	[ "$status" -eq 2 ]
	[ "${lines[0]}" = "refused: its loader is locked by another thread" ]
	nothing_stays
	sleep 3
	drive dlopen "$target" "$TARGETS/libguest.so" 1
	ends_well
}

@test "dlopen from outside: a library that is not there says so" {
	target "$TARGETS/blocked" 20000
	run "$DRIVERS/dlopen" "$target" /no/such/library.so
	echo "$output"
	[ "$status" -eq 2 ]
	[[ ${lines[0]} == "refused: dlopen(3) says: /no/such/library.so: cannot open shared object file"* ]]
	nothing_stays
	ends_well
}

@test "dlopen from outside: a static program has none" {
	target "$TARGETS/blocked_static" 20000
	run "$DRIVERS/dlopen" "$target" "$TARGETS/libguest.so"
	echo "$output"
	[ "$status" -eq 2 ]
	[ "${lines[0]}" = "refused: it has no dlopen(3): it is linked statically" ]
	ends_well
}

# The first look at a stack reads files, and takes longer than any limit on a busy machine.
@test "dlopen from outside: the first look at the stack does not use up the time for the others" {
	export GUEST_SAYS=$BATS_TEST_TMPDIR/says
	target python3 -c 'import os, time
open(os.environ["READY_FILE"], "w").close()
time.sleep(100)'
	drive dlopen "$target" "$TARGETS/libguest.so" 1 0
	grep -q 'ok 1' "$BATS_TEST_TMPDIR/figures"
}

@test "dlopen from outside: where no child can read its files, nothing is loaded" {
	target "$TARGETS/blocked" 20000
	run "$DRIVERS/dlopen" "$target" "$TARGETS/libguest.so" 1 1000 100000
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *"refused: the functions of "*" are not known: "* ]]
	nothing_stays
	[ "$(guest)" -eq 0 ]
	ends_well
}
