# For tests of one source: compares the same targets with their truth, started and attached to, as
# root and as an ordinary user. The file that loads this one sets source=NAME.
# tests/root/kernel.bash tells what each test leaves behind.
load ../kernel

setup() {
	data=$BATS_TEST_TMPDIR/data truth=$BATS_TEST_TMPDIR/truth folded=$BATS_TEST_TMPDIR/folded
	as=() place='' pids=()
	run "$SPROF" record -q -o "$data" --source $source -- true
	[[ $output != *"sample with $source"* ]] || skip "${lines[0]}"
}

teardown() {
	cd "$BATS_TEST_DIRNAME/../../.."
	[ -z "${pids[*]-}" ] || kill -9 "${pids[@]}" 2>/dev/null || true
	[ -z "$place" ] || rm -rf "$place"
}

# From here on sprof and its targets run as the user nobody, from a folder that this user may enter.
# An ordinary user stays the same user.
as_nobody() {
	place=$(mktemp -d /tmp/sprof-source.XXXXXX)
	cp "$SPROF" "$(dirname "$SPROF")/libsprof.so" "$place/"
	cp -r "$TARGETS" "$place/targets"
	mkdir "$place/out"
	chmod 755 "$place"
	SPROF=$place/sprof TARGETS=$place/targets data=$place/out/data
	if [ "$(id -u)" = 0 ]; then
		chown 65534:65534 "$place/out"
		as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	fi
	cd "$place/out"
}

fold_here() {
	"$SPROF" fold "$data" >"$folded"
	cd "$BATS_TEST_DIRNAME/../../.."
}

started() { # TARGET ARGUMENTS...
	"${as[@]}" "$SPROF" record -o "$data" --source $source -F ${hz:-999} -- "$TARGETS/$1" "${@:2}" >"$truth"
	fold_here
}

attached() { # TARGET ARGUMENTS...
	[ "$source" != timer ] || needs_attach
	"${as[@]}" "$TARGETS/$1" "${@:2}" >"$truth" 3>&- &
	local pid=$!
	wait_until runs_program $pid "$1"
	sleep 0.3
	"${as[@]}" "$SPROF" record -o "$data" --source $source -F 999 -d 1500ms -p $pid
	wait $pid
	fold_here
}

# Compares two profiles of the same program with known numbers of samples: the two shares of each
# stack must be within 3 sigma of the difference of two binomials. Only stacks that match a pattern
# count. Interrupts come when others want the CPU and not all sources see them, so what they
# interrupt counts.
same_shares() { # FOLDED FOLDED PATTERN
	awk -v pattern="$3" '
		{ n = $NF; $NF = "" }
		$0 !~ pattern { next }
		{ sub(/;[^;]*_\[k\].*/, " ") }
		NR == FNR { a[$0] += n; all_a += n; next }
		{ b[$0] += n; all_b += n; a[$0] += 0 }
		END {
			if (all_a < 200 || all_b < 100)
				exit 1
			for (s in a) {
				p = (a[s] + b[s]) / (all_a + all_b)
				sigma = sqrt(p * (1 - p) * (1 / all_a + 1 / all_b))
				off = sigma ? (a[s] / all_a - b[s] / all_b) / sigma : 0
				printf "%.2f %% %.2f %% %+.1f sigma %s\n", 100 * a[s] / all_a, 100 * b[s] / all_b, off, s
				bad += off * off > 9
				nr++
			}
			exit bad || nr < 3
		}
	' "$1" "$2"
}
