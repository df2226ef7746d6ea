# Compares sprof with the profilers of Python that are on the PATH, on the four parts of
# tests/targets/python_shares.py. Prints the largest error of a part's share over all rounds,
# against the truth of runs without a profiler, and the CPU and wall time of the same work relative
# to such a run. "watched_by_nobody" is another such run and shows the noise. Each rival samples
# about 1000 times a second, which is sprof's rate for a program that it starts.
bench_rivals() {
	local python turns=${QUICK:+300} contender contenders="watched_by_nobody sprof sprof_timer cprofile"
	python=$(command -v python3)
	turns=${turns:-2000}
	title "Python profilers, $("$python" -V), shares of four parts and cost"
	for contender in py-spy austin scalene; do
		if [ -x "$(command -v $contender)" ] && $contender --version >"$work/version" 2>&1; then
			echo "  $(head -1 "$work/version")"
			contenders+=" $contender"
		else
			echo "  $contender is left out: it is not on the PATH, or does not run"
		fi
	done
	if "$python" -c 'import profiling.sampling' 2>/dev/null; then
		contenders+=" tachyon"
	else
		echo "  the interpreter's own sampler is left out: it came with CPython 3.15"
	fi
	for _ in $(seq "$ROUNDS"); do
		for contender in bare $contenders; do
			rival "$contender" "$python" tests/targets/python_shares.py "${turns}x" "$work/took" >"$work/truth" 2>"$work/said" || {
				echo "  $contender failed: $(tail -1 "$work/said")"
				continue
			}
			read -r cpu wall <"$work/took"
			note "rivals.$contender.cpu" "$cpu"
			note "rivals.$contender.wall" "$wall"
			rival_shares "$contender" "$python" >>"$work/rivals.$contender.shares"
			"$python" tests/bench/shares_of.py truth "$work/truth" >>"$work/rivals.$contender.clock"
		done
	done
	for contender in $contenders; do
		[ -s "$work/rivals.$contender.shares" ] || continue
		row "$contender, error of shares" "$(shares_error "$contender.shares" bare.shares)" points
		case $contender in
		sprof*) row "$contender, beside the clocks of the same runs" \
			"$(shares_error "$contender.shares" "$contender.clock")" points "$(sampling_error "$contender")" ;;
		esac
		row "$contender, CPU time of the program" "$(paired "rivals.$contender.cpu" / rivals.bare.cpu)" x
		row "$contender, wall time of the program" "$(paired "rivals.$contender.wall" / rivals.bare.wall)" x
	done
}

rival() { # contender, python, program and arguments
	local contender=$1 python=$2
	shift 2
	case $contender in
	bare | watched_by_nobody) "$python" "$@" ;;
	sprof) "$SPROF" record -q -F 999 -o "$work/data" -- "$python" "$@" ;;
	sprof_timer) "$SPROF" record -q -F 999 -s timer -o "$work/data" -- "$python" "$@" ;;
	cprofile) "$python" -m cProfile -o "$work/profile" "$@" ;;
	py-spy) py-spy record -r 999 -f raw -o "$work/profile" -- "$python" "$@" ;;
	austin) austin -i 1000us -o "$work/profile" "$python" "$@" ;;
	scalene) scalene run --cpu-only -o "$work/profile.json" "$1" --- "${@:2}" ;;
	tachyon) "$python" -m profiling.sampling run -r 1000 --collapsed -o "$work/profile" "$@" ;;
	esac
}

rival_shares() { # contender, python
	case $1 in
	bare | watched_by_nobody) set -- "$@" truth "$work/truth" ;;
	sprof | sprof_timer)
		note "rivals.$1.samples" "$(info .samples)"
		"$SPROF" fold "$work/data" >"$work/profile"
		set -- "$@" folded "$work/profile"
		;;
	cprofile) set -- "$@" pstats "$work/profile" ;;
	scalene) set -- "$@" scalene "$work/profile.json" ;;
	*) set -- "$@" folded "$work/profile" ;;
	esac
	"$2" tests/bench/shares_of.py "$3" "$4"
}

# Adds one point to what chance may add to a share of a half: two standard errors of all samples
# together.
sampling_error() { # contender
	awk '{ n += $1 } END { printf "%.2f", 1 + 100 / sqrt(n) }' "$work/rivals.$1.samples"
}

# The largest difference between the mean shares of two contenders, in points.
shares_error() { # a, b
	awk '{ sum[FILENAME, $1] += $2; nr[FILENAME, $1]++; part[$1] }
		END {
			for (p in part) {
				error = sum[ARGV[1], p] / nr[ARGV[1], p] - sum[ARGV[2], p] / nr[ARGV[2], p]
				error = error < 0 ? -error : error
				most = error > most ? error : most
			}
			print 100 * most
		}' "$work/rivals.$1" "$work/rivals.$2"
}
