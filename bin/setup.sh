# Makes a checkout ready to run. The commands beside this file set `root` and source it:
#
#   set_up [EXTRAS]   returns once the package and its EXTRAS (dev, or dev,bench) are installed,
#                     with `root` absolute and `python` naming the interpreter to run; otherwise
#                     says why not in one sentence and exits with status 2
#
# A stamp per set of extras lies in the virtual environment and is written last, so that a set-up
# cut short is done again. It names the checkout and the environment, so that a moved or copied one
# is noticed, and bears the date of the newest file that says what to install (pyproject.toml, or a
# lock in requirements/), so that a newer one is installed.

venv=${KINGDOM_VENV:-$root/.venv}

set_up() {
    umask go-w # others may run what is installed, and never change it
    is_ready "${1-}" || (prepare "${1-}") || exit
    is_ready "${1-}" || fail "$venv changed while it was being set up: run this again."
    root=$recorded_root
    python=$recorded_venv/bin/python
}

# Built-in tests only: this runs at every start.
is_ready() {
    stamp=$venv/ready${1:+-$1}
    [ -r "$stamp" ] && [ -x "$venv/bin/python" ] && is_from_here "$stamp" &&
        find_newest "${1-}" && ! [ "$newest" -nt "$stamp" ]
}

find_newest() {
    newest=$root/pyproject.toml
    list_locks "$1"
    for file in $locks; do
        if [ "$root/$file" -nt "$newest" ]; then newest=$root/$file; fi
    done
}

list_locks() {
    locks=''
    IFS=,
    for name in runtime build $1; do locks="$locks requirements/$name.txt"; done
    unset IFS
}

is_from_here() {
    { IFS= read -r recorded_root && IFS= read -r recorded_venv; } <"$1" &&
        [ "$recorded_root" -ef "$root" ] && [ "$recorded_venv" -ef "$venv" ]
}

prepare() {
    . "$root/bin/packages.sh"
    claim_place
    find_python
    lock
    is_ready "$1" && return
    # Whoever had the lock may have made the environment or left half of one.
    find_python
    say "Setting up Kingdom (once) …"
    start_log
    note_date "$1"
    ask_about_tools
    make_venv
    install_package "$1"
    install_tools
    write_stamps "$1"
}

say() {
    printf '%s\n' "$1" >&2
}

fail() {
    say "$1"
    exit 2
}

fail_to_write() {
    fail "Kingdom cannot write to $venv: name a directory where it may, for example with: export KINGDOM_VENV=\$HOME/.cache/kingdom-venv"
}

# The name may be whatever a person typed, so a directory that holds other things is left alone.
claim_place() {
    unset CDPATH PYTHONHOME PYTHONPATH
    root=$(cd -P -- "$root" && pwd)
    venv=${KINGDOM_VENV:-$root/.venv}
    if [ -d "$venv" ] && ! [ -e "$venv/pyvenv.cfg" ] && ! [ -e "$venv/setup.lock" ] &&
        [ -n "$(ls -A "$venv" 2>/dev/null)" ]; then
        fail "$venv is neither empty nor a virtual environment: name another directory in KINGDOM_VENV."
    fi
    mkdir -p "$venv" 2>/dev/null && [ -w "$venv" ] || fail_to_write
    venv=$(cd -P -- "$venv" && pwd)
}

find_python() {
    python=$venv/bin/python
    is_venv_usable && return
    if [ -n "${KINGDOM_PYTHON-}" ]; then
        set -- "$KINGDOM_PYTHON"
    else
        set -- python3 python3.14 python3.13 python3.12 python3.11 python
    fi
    found='' incomplete=''
    for python; do
        version=$("$python" --version 2>&1) || continue
        version=${version#Python }
        version=${version%%[!0-9a-z.+]*}
        found="$found${found:+, }$python $version"
        is_recent "$version" || continue
        can_make_venv "$python" && return
        incomplete=${incomplete:-$python $version}
    done
    [ -z "$incomplete" ] || fail_without_venv_module
    [ -z "${KINGDOM_PYTHON-}" ] || fail_with_given_python
    fail_without_python
}

is_venv_usable() {
    ! [ -e "$venv/unfinished" ] && [ -x "$venv/bin/python" ] &&
        { ! [ -e "$venv/origin" ] || is_from_here "$venv/origin"; } &&
        "$venv/bin/python" -c '
import os, sys, sysconfig
recent = sys.version_info >= (3, 11) and sys.prefix != sys.base_prefix
sys.exit(not (recent and os.path.isdir(sysconfig.get_path("purelib"))))
' 2>/dev/null
}

is_recent() {
    minor=${1#3.}
    minor=${minor%%.*}
    case $1-$minor in
        3.*-[0-9] | 3.*-[0-9][0-9]) [ "$minor" -ge 11 ] ;;
        *) return 1 ;;
    esac
}

can_make_venv() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null
}

fail_with_given_python() {
    if [ -n "$found" ]; then version="is Python $version"; else version="does not run"; fi
    fail "KINGDOM_PYTHON has to name Python 3.11 or newer, but $KINGDOM_PYTHON $version: change or unset it."
}

fail_without_python() {
    find_package_manager
    case $manager in
        apt-get) packages="python3${found:+.11} python3${found:+.11}-venv" ;;
        dnf | yum) packages=python3.11 ;;
        zypper) packages=python311 ;;
        apk) packages=python3 ;;
        *) packages=python ;;
    esac
    fail "Kingdom needs Python 3.11 or newer and found ${found:-none}: install it with: $(install_command "$packages") (or name one in KINGDOM_PYTHON)."
}

fail_without_venv_module() {
    find_package_manager
    version=${incomplete##* }
    case $manager in
        apt-get) packages=python${version%.*}-venv ;;
        *) packages=python3-pip ;;
    esac
    fail "Python $version (${incomplete% *}) lacks the venv module that Kingdom needs: install it with: $(install_command "$packages")"
}

# The lock belongs to the open file: it ends with the last process that has it, however that ends.
lock() {
    exec 9>>"$venv/setup.lock"
    "$python" -c '
import fcntl, sys
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print(sys.argv[1], file=sys.stderr, flush=True)
    fcntl.flock(9, fcntl.LOCK_EX)
except OSError:
    pass  # a file system without locks
' "Another set-up of Kingdom is running, waiting for it …" 9>&9
}

start_log() {
    log=$venv/setup.log
    { printf '' >"$log"; } 2>/dev/null || fail_to_write
}

# Taken before the installation: a file that changes during it is newer than the stamp.
note_date() {
    find_newest "$1"
    touch -r "$newest" "$venv/.tmp-date" || fail_to_write
    # Dates may be coarser where the environment is than where the checkout is.
    if [ "$newest" -nt "$venv/.tmp-date" ]; then touch "$venv/.tmp-date"; fi
}

make_venv() {
    if [ "$python" != "$venv/bin/python" ]; then
        printf '' >"$venv/unfinished"
        rm -rf "$venv/bin" "$venv/include" "$venv/lib" "$venv/lib64" "$venv/share" \
            "$venv/pyvenv.cfg" "$venv/origin" "$venv"/ready*
        step "$(resolved "$python")" -m venv --without-pip "$venv"
    fi
    "$venv/bin/python" -c 'import pip' 2>/dev/null || step "$venv/bin/python" -m ensurepip
    printf '%s\n' "$root" "$venv" >"$venv/origin" || fail_to_write
}

# The name python3 means another version after an upgrade of the system, for which the environment
# is empty; the name python3.11 disappears, which is noticed. Shims go by their name and keep it.
resolved() {
    place=$(command -v "$1")
    target=$(readlink -f "$place" 2>/dev/null) && can_make_venv "$target" && place=$target
    printf '%s' "$place"
}

install_package() {
    cd -- "$root" || exit
    # A person's settings for pip may point out of the environment.
    unset PIP_TARGET PIP_PREFIX PIP_ROOT
    export PIP_USER=0 PIP_REQUIRE_HASHES=0
    list_locks "$1"
    set --
    for file in $locks; do set -- "$@" -r "$file"; done
    run_pip --require-hashes "$@"
    run_pip --no-deps --no-build-isolation --editable .
}

run_pip() {
    step "$venv/bin/python" -P -m pip install --disable-pip-version-check --no-input "$@"
}

# Complaints are kept in memory too, because a full disk takes no log.
step() {
    complaints=$({ "$@" >>"$log" </dev/null; } 2>&1)
    status=$?
    { printf '%s\n' "$complaints" >>"$log"; } 2>/dev/null
    [ "$status" -eq 0 ] || explain
}

# One pattern a line.
FULL_DISK='No space left on device
Disk quota exceeded'
NOT_WRITABLE='\[Errno (13|30)\]
Read-only file system'
NO_COMPILER="command '[^']*' failed: No such file or directory
No such file or directory: '[^/']*(cc|c\+\+|g\+\+|clang)[^/']*'
unable to execute '
Unknown compiler
no acceptable C compiler
Python\.h: No such file or directory
linker .* not found
[Cc]argo.* is not installed
Rust not found"
OTHER_HASH='DO NOT MATCH THE HASHES'
NOT_TRUSTED='CERTIFICATE_VERIFY_FAILED'
NOT_REACHED='Max retries exceeded
connection broken by
name resolution
Name or service not known
ProxyError
[Rr]ead timed out
Connection (refused|reset|aborted)
is unreachable'
NOT_FOUND='from versions: none'

explain() {
    if complains_of "$FULL_DISK"; then
        fail "The disk is full: make room for about 300 MB where $venv and temporary files lie, and run this again (details: $log)."
    elif complains_of "$NOT_WRITABLE"; then
        fail_to_write
    elif complains_of "$OTHER_HASH"; then
        fail "The package registry sent a file for $(mismatched_package) whose hash is not in requirements/, so it was not installed: check PIP_INDEX_URL and run this again (details: $log)."
    elif complains_of "$NO_COMPILER"; then
        fail_to_compile
    elif complains_of "$NOT_TRUSTED"; then
        fail "The certificate of the package registry is not trusted here: name its authority in PIP_CERT and run this again (details: $log)."
    elif complains_of "$NOT_REACHED"; then
        fail "The package registry cannot be reached: check the network, HTTPS_PROXY and PIP_INDEX_URL, and run this again (details: $log)."
    elif complains_of "$NOT_FOUND"; then
        fail "The package registry cannot be reached or lacks a package ($(last_error)): check the network and PIP_INDEX_URL, and run this again (details: $log)."
    fi
    fail "Kingdom's packages could not be installed: $(last_error) (details: $log)."
}

mismatched_package() {
    printf '%s\n' "$complaints" | sed -n 's/^ *\([A-Za-z0-9._-]*==[^ ]*\) from .*/\1/p' | head -n 1
}

last_error() {
    line=$(printf '%s\n' "$complaints" | sed -n 's/^ *ERROR: *//p' | tail -n 1)
    printf '%s' "${line:-it stopped with status $status}"
}

complains_of() {
    printf '%s\n' "$complaints" | grep -Eq "$1"
}

fail_to_compile() {
    find_package_manager
    case $manager in
        apt-get) packages="build-essential python3-dev" rust=cargo ;;
        dnf | yum | zypper) packages="gcc gcc-c++ python3-devel" rust=cargo ;;
        pacman) packages=base-devel rust=rust ;;
        apk) packages="build-base python3-dev" rust=cargo ;;
        *) packages=gcc rust=rust ;;
    esac
    if complains_of '[Cc]argo|[Rr]ust'; then packages="$packages $rust"; fi
    fail "$(failed_package) must be compiled for this machine, which lacks a compiler: install one with: $(install_command "$packages") (details: $log)."
}

failed_package() {
    name=$(printf '%s\n' "$complaints" |
        sed -n 's/.*[Bb]uilding wheel for \([A-Za-z0-9._-]*\).*/\1/p' | head -n 1)
    # One that fails before its wheel is begun is the last that pip collected.
    [ -n "$name" ] || name=$(sed -n 's/^ *Collecting \([A-Za-z0-9._-]*\).*/\1/p' "$log" | tail -n 1)
    printf '%s' "${name:-A package}"
}

# A larger set holds the smaller ones.
write_stamps() {
    rm -f "$venv/unfinished"
    for name in ready ${1:+"ready-${1%%,*}" "ready-$1"}; do
        cp "$venv/origin" "$venv/.tmp-stamp" &&
            touch -r "$venv/.tmp-date" "$venv/.tmp-stamp" &&
            mv -f "$venv/.tmp-stamp" "$venv/$name" || fail_to_write
    done
    rm -f "$venv/.tmp-date"
}
