# sprof record --source timer: which processes are sampled with the one that was named.
source=timer
load ../tree

# bats test_tags=full
@test "timer: the workers of a pre-forking master are sampled with it" {
	preforked
}

# bats test_tags=full
@test "timer: --no-children samples the named process alone" {
	without_children
}

# bats test_tags=full
@test "timer: -p NAME samples all processes of that name" {
	by_name
}

# bats test_tags=full
@test "timer: --cgroup samples what is in a cgroup, and below it" {
	of_cgroup
}

# bats test_tags=full
@test "timer: a recording ends with its cgroup" {
	end_of_cgroup
}

# bats test_tags=full
@test "timer: -u samples the processes of a user" {
	of_user
}

# bats test_tags=full
@test "timer: a backend of PostgreSQL is sampled with the server" {
	of_postgres
}

# bats test_tags=full
@test "timer: a recorder that its target has started leaves itself out" {
	started_by_target
}
