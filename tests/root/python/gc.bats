# Time in Python's garbage collector, on every installed CPython from 3.8 on that has its symbols.
load ../recorder
load ../pythons

# Compares the time that the program's own callbacks measured with the samples below the collector's
# functions: they must agree within 3.5 sigma and a point.
collects_as_long_as_it_says() {
	"$SPROF" record -q -o "$data" -F 999 -- "$python" tests/targets/python_gc.py 0.4 >"$truth"
	"$SPROF" report --gc --json "$data" >"$folded" 2>"$folded.err"
	if grep -q 'is stripped' "$folded.err"; then
		echo "no names: $python"
		return 0
	fi
	"$SPROF" fold --focus '^(make_garbage|ask_for_it|compute) \(python_gc' "$data" >"$folded.all"
	jq -r '.rows[] | select(.function | test("^(make_garbage|ask_for_it|compute) ")) | "gc \(.samples)"' "$folded" |
		awk '
			FILENAME == ARGV[1] { ns[$1] = $2; next }
			FILENAME == ARGV[2] { all += $NF; next }
			{ found += $2 }
			END {
				p = ns["gc"] / (ns["gc"] + ns["other"])
				off = found / all - p
				printf "%d of %d samples, %.2f %% of the time in truth\n", found, all, 100 * p
				exit !(all > 100 && off * off < (3.5 * sqrt(p * (1 - p) / all) + 0.01) ^ 2)
			}
		' "$truth" "$folded.all" -
	jq -e '.report == "gc" and .rows[0].function == "all" and (.rows | all(.collections == null)) and
		(.rows[1] | .line == 28 and (.function | startswith("ask_for_it")))' "$folded" >/dev/null
}

@test "report --gc has the collector's true share, and the line that asked for it" {
	each_python collects_as_long_as_it_says
}
