# sprof record --source perf: which processes are sampled with the one that was named.
source=perf
load ../tree

@test "perf: the workers of a pre-forking master are sampled with it" {
	preforked
}

@test "perf: --no-children samples the named process alone" {
	without_children
}

@test "perf: -p NAME samples all processes of that name" {
	by_name
}

@test "perf: --cgroup samples what is in a cgroup, and below it" {
	of_cgroup
}

@test "perf: a recording ends with its cgroup" {
	end_of_cgroup
}

@test "perf: -u samples the processes of a user" {
	of_user
}
