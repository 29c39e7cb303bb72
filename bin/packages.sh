# The packages of the system that a set-up wants; bin/setup.sh sources this when it has work to do.

# Sets `wanted` to what to install; before all that takes long, so that nobody waits for a question.
# Enter means yes. Without a terminal nobody is asked.
ask_about_tools() {
    find_package_manager
    list_missing_tools
    wanted=$missing${missing:+${optional:+ }}$optional
    [ -n "$wanted" ] || return 0
    if ! may_install || { [ -t 0 ] && [ -t 2 ] && ! is_agreed; }; then wanted=''; fi
}

is_agreed() {
    printf '%s' "Install $wanted with $manager? [Y/n] " >&2
    read -r answer || { say '' && return 1; }
    case $answer in
        '' | [Yy]*) ;;
        *) return 1 ;;
    esac
}

install_tools() {
    if [ -n "$wanted" ]; then
        say "Installing $wanted with $manager …"
        # Apart, because not every system has the optional ones.
        # shellcheck disable=SC2086 # the names are words
        { install_packages $missing; install_packages $optional; } >>"$log" 2>&1 </dev/null 9>&-
        list_missing_tools
    fi
    [ -z "$missing" ] || say "Soldiers need $missing: install with: $(install_command "$missing")"
    [ -z "$optional" ] || say "$optional is optional and missing: install with: $(install_command "$optional")"
}

list_missing_tools() {
    missing='' optional=''
    for tool in tmux git; do
        command -v "$tool" >/dev/null || missing="$missing${missing:+ }$tool"
    done
    if [ "$manager" != brew ] && [ "$(uname)" = Linux ] && ! command -v bwrap >/dev/null; then
        optional=bubblewrap
    fi
}

install_packages() {
    [ $# -eq 0 ] || run_install "$@" || { run_update && run_install "$@"; }
}

find_package_manager() {
    as_root=''
    for manager in apt-get dnf yum pacman apk zypper brew ''; do
        if [ -z "$manager" ] || command -v "$manager" >/dev/null; then break; fi
    done
    if [ "$manager" != brew ] && [ "$(id -u)" -ne 0 ]; then as_root=sudo; fi
}

install_command() {
    if [ -n "$manager" ]; then
        printf '%s' "$as_root${as_root:+ }$manager $(install_verb) $1"
    else
        printf '%s' "your system's package manager ($1)"
    fi
}

install_verb() {
    case $manager in
        pacman) printf '%s' -S ;;
        apk) printf '%s' add ;;
        *) printf '%s' install ;;
    esac
}

may_install() {
    [ -n "$manager" ] && { [ -z "$as_root" ] || sudo -n true 2>/dev/null; }
}

run_install() {
    case $manager in
        apt-get) run_manager env DEBIAN_FRONTEND=noninteractive apt-get install -y "$@" ;;
        dnf | yum) run_manager "$manager" install -y "$@" ;;
        pacman) run_manager pacman -S --noconfirm "$@" ;;
        zypper) run_manager zypper --non-interactive install "$@" ;;
        *) run_manager "$manager" "$(install_verb)" "$@" ;;
    esac
}

# A fresh machine often has no lists of packages yet.
run_update() {
    case $manager in
        pacman) run_manager pacman -Sy ;;
        zypper) run_manager zypper --non-interactive refresh ;;
        dnf | yum) run_manager "$manager" makecache ;;
        *) run_manager "$manager" update ;;
    esac
}

run_manager() {
    if [ -n "$as_root" ]; then sudo -n "$@"; else "$@"; fi
}
