# sprof record --source timer: which processes are sampled with the one that was named.
source=timer
load ../tree

@test "timer: the workers of a pre-forking master are sampled with it" {
	preforked
}

@test "timer: --no-children samples the named process alone" {
	without_children
}

@test "timer: -p NAME samples all processes of that name" {
	by_name
}

@test "timer: --cgroup samples what is in a cgroup, and below it" {
	of_cgroup
}

@test "timer: a recording ends with its cgroup" {
	end_of_cgroup
}

@test "timer: -u samples the processes of a user" {
	of_user
}
