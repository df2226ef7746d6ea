# Parts of a real CUDA that need no GPU, fetched once and kept outside of the build: $SPROF_TEST_CACHE, else
# ~/.cache/sprof-tests. Each function prints the folder, or fails where there is no network.

CACHE=${SPROF_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sprof-tests}

# Runs a command that fills a new folder, and only then gives it its name. Where the command failed after seconds of
# waiting, it is not run again in this run of tests, whose cache holds that mark: a network that does not answer would
# take minutes of every test.
filled() { # name, command...
	local to=$CACHE/$1 new start=$SECONDS unreachable=${XDG_CACHE_HOME:-$BUILD}/unreachable-by-$2
	shift
	if [ ! -e "$to" ]; then
		[ ! -e "$unreachable" ] && mkdir -p "$CACHE" && new=$(mktemp -d "$CACHE/new.XXXXXX") || return 1
		if ! (cd "$new" && "$@") >/dev/null 2>&1 || ! mv -T "$new" "$to" 2>/dev/null; then
			rm -r "$new"
			((SECONDS - start < 5)) || touch "$unreachable"
			[ -e "$to" ] || return 1
		fi
	fi
	echo "$to"
}

unpack_wheel() { # package==version: unpacks it here
	timeout 60 python3 -m pip -q --retries 1 --timeout 10 download --no-deps --only-binary :all: -d download "$1" &&
		python3 -m zipfile -e download/*.whl . && rm -r download &&
		find . -path './nvidia/*' -type f -name 'lib*' ! -name 'libcupti.so*' -delete # most of the bytes
}

wheel() { # package, version
	filled "$1-$2" unpack_wheel "$1==$2"
}

# A Debian package of the component non-free, from the archive that this machine has its own packages from.
unpack_deb() { # package
	local archive=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' | awk '$3 == "main" { print $1, $2; exit }')
	local options=(-o Dir::Etc::sourcelist="$PWD/sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/lists" -o Dir::Cache="$PWD/apt" -o APT::Sandbox::User=root)
	[ -n "$archive" ] || return 1
	mkdir -p lists/partial apt/archives/partial
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive non-free" >sources
	timeout 60 apt-get "${options[@]}" -qq update && timeout 60 apt-get "${options[@]}" -qq download "$1" &&
		dpkg-deb -x "$1"_*.deb . && rm -rf lists apt sources "$1"_*.deb
}

# The folder of a real libcuda.so.1 (29 MB), which cannot work without a GPU, but loads what is to be injected.
real_driver() {
	local at
	[ "$(uname -m)" = x86_64 ] && at=$(filled libcuda1 unpack_deb libcuda1) || return 1
	echo "$at/usr/lib/x86_64-linux-gnu/nvidia/current"
}

# The folder of a libcupti, for instance nvidia-cuda-cupti-cu12 12.9.79.
real_cupti() { # package, version
	local at
	at=$(wheel "$1" "$2") && dirname "$at"/nvidia/*/lib/libcupti.so.1*
}

# All versions that sprof is tested with, a line for each.
real_cupti_versions() {
	cat <<-'END'
		nvidia-cuda-cupti-cu11 11.8.87
		nvidia-cuda-cupti-cu12 12.1.105
		nvidia-cuda-cupti-cu12 12.9.79
		nvidia-cuda-cupti 13.0.85
		nvidia-cuda-cupti 13.5.25
	END
}
