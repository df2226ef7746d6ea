# a Python service on its GIL: two clients ask for a report, three for something small

case_gil() {
	local port path
	start "$work/port" /usr/bin/python3 tests/cases/service.py
	local service=${started[0]}
	port=$(first_line "$work/port") || return
	for path in /report /report /small /small /small; do
		start /dev/null python3 tests/cases/client.py "$port" $path
	done
	record "a Python service on its GIL" "--hide 'kind:^(native|kernel|unknown)\$'" -d 4s -p "$service" || return
	"$SPROF" report --hints "$folder/gil.data" | sed -n '/global interpreter lock/,/^ *evidence/p' | fold -s -w 120 | sed 's/^/    /'
	verdict "the hint says who has the GIL" "$("$SPROF" report --hints --json "$folder/gil.data" |
		jq 'if any(.rows[]; .code == "gil-wait" and .percent > 20) then 1 else 0 end')"
	"$SPROF" report --hints "$folder/gil.data" >"$work/hints"
	verdict "which is below render_report" "$(grep -cE 'held *the GIL was below render_report' "$work/hints")"
	most "requests wait for the GIL" 10 ';Handler.do_GET \(service.py:10\)' 'GIL wait_'
}
