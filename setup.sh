#!/usr/bin/env bash
# Sets up what the command after it needs, then runs that command in the environment.
#
#   ./setup.sh                                   set up the core
#   ./setup.sh testbed run scenarios/quickstart.yaml
#   ./setup.sh --extra NAME [command]            also install an extra of pyproject.toml; `testbed` names the one it needs
#   ./setup.sh test [pytest arguments]           set up everything this machine allows, run the whole suite
#   ./setup.sh --guest [command]                 also install what guests with Wi-Fi radios need (docs/guest.md); as root
#   ./setup.sh --ns3 [command]                   also install ns-3 (docs/ns3.md): 500 MB, minutes; as root for a compiler
#   ./setup.sh --mininet-wifi SOURCE [command]   also install Mininet-WiFi, from a checkout or anything that pip can
#                                                install, and what it needs (docs/mininet-wifi.md); as root for Debian's
#                                                packages
#
# A command `testbed ...` that lacks an extra gets it: it is started again after the extra was installed, once.
#
# The environment is in .venv beside this file (or in $TESTBED_VENV). Setting up again costs nothing: a stamp file has
# the fingerprint of what was installed. Only Mininet-WiFi is installed again whenever it is named.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${TESTBED_VENV:-$root/.venv}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }
refuse() { say "$*"; exit 2; }
scratch=
trap '[ -z "$scratch" ] || rm -rf "$scratch"' EXIT
trap 'exit 130' INT # pip ends by itself, without saying that it was interrupted
# The command that was started here has started this file again, for an extra (testbed/extras.py).
needed=${TESTBED_SETUP:+, which this command needs}
extras=
unset TESTBED_SETUP TESTBED_EXTRAS

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    die "Python 3.11 or newer is needed and was not found; install it or name it: PYTHON=/path/to/python ./setup.sh ..."
}

make_venv() {
    local python
    python=$(find_python)
    say "creating $venv with $("$python" --version)"
    if ! "$python" -m venv --clear "$venv" >/dev/null 2>&1; then
        # Debian keeps venv's bootstrap in a package of its own.
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
            say "installing python3-venv"
            { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv; } >/dev/null
            "$python" -m venv --clear "$venv"
        else
            die "$python cannot make virtual environments; on Debian or Ubuntu: apt-get install python3-venv"
        fi
    fi
}

# install NAME REQUIREMENT [WHY]: installs the project with the extras that REQUIREMENT names, once per fingerprint. What
# was installed before stays.
install() {
    local name=$1 requirement=$2 why=${3:-} fingerprint
    fingerprint="$root $(cksum <"$root/pyproject.toml")"
    if is_installed "$name"; then return; fi
    "$venv/bin/python" -c '' 2>/dev/null || make_venv
    say "installing $requirement$why"
    (cd "$root" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$requirement") ||
        { say "pip cannot install $requirement"; return 3; }
    printf '%s' "$fingerprint" >"$venv/.installed-$name"
    printf '%s' "$fingerprint" >"$venv/.installed-core" # every requirement holds the core
}

is_installed() {
    [ -x "$venv/bin/python" ] && [ -f "$venv/.installed-$1" ] && [ "$(cat "$venv/.installed-$1")" = "$fingerprint" ]
}

# Installs an extra by its name.
install_extra() {
    local name=$1 known
    known=$(sed -n '/^\[project.optional-dependencies\]/,/^\[/s/^\([a-z0-9-]*\) = \[.*/\1/p' "$root/pyproject.toml")
    case $name in
        '') refuse "--extra: name one of: ${known//$'\n'/, }" ;;
        mininet-wifi) refuse "--extra mininet-wifi: Mininet-WiFi is in no extra: ./setup.sh --mininet-wifi SOURCE" ;;
    esac
    grep -qxF -e "$name" <<<"$known" || refuse "--extra $name: found no such extra; allowed: ${known//$'\n'/, }"
    if [ "$name" = ns3 ]; then install_ns3 || exit 3; else check_stamp "$name"; install "$name" ".[$name]" "$needed"; fi
    extras="$extras $name"
}

# Forgets that an extra was installed, if it has been removed since.
check_stamp() {
    local stamp=$venv/.installed-$1
    [ ! -f "$stamp" ] || "$venv/bin/python" -P -m testbed.extras "$1" 2>/dev/null || rm -f "$stamp"
}

# The Debian packages that guests need and that are missing, each recognised by a program in it. Arguments: more packages.
missing_guest_packages() {
    local entry
    for entry in qemu-system-x86:qemu-system-x86_64 e2fsprogs:mke2fs busybox-static:busybox iproute2:ip babeld:babeld "$@"; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${entry#*:}" >/dev/null 2>&1 || printf '%s ' "${entry%%:*}"
    done
}

# Installs what guests need, as root; the kernel itself is fetched later and never installed. Arguments: more packages.
install_guest_packages() {
    local packages
    command -v apt-get >/dev/null 2>&1 || { say "guests need Debian or Ubuntu: there is no apt-get here"; return 1; }
    packages=$(missing_guest_packages "$@")
    if [ -z "$packages" ] && [ -n "$(apt-cache search --names-only '^linux-image-(amd64|generic)$')" ]; then return; fi
    if [ "$(id -u)" != 0 ]; then
        say "guests with Wi-Fi radios need: apt-get install --no-install-recommends $packages(as root)"
        return 1
    fi
    say "installing ${packages:-lists of packages }for guests"
    apt-get update -qq >/dev/null || return 1
    # shellcheck disable=SC2086  # a list of words
    [ -z "$packages" ] || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
}

# Installs ns-3, and first the C++ compiler and the headers that it is loaded with, where they are missing.
install_ns3() {
    local packages=
    install core '.' || return 1
    command -v g++ >/dev/null 2>&1 || packages="g++"
    "$venv/bin/python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || packages="$packages python3-dev"
    if [ -n "$packages" ]; then
        if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
            say "ns-3 needs, on Debian or Ubuntu: apt-get install $packages (as root)"
            return 1
        fi
        say "installing $packages for ns-3"
        apt-get update -qq >/dev/null || return 1
        # shellcheck disable=SC2086  # a list of words
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null || return 1
    fi
    check_stamp ns3
    install ns3 '.[ns3]' "$needed" || return 1
    "$venv/bin/python" -m testbed.backends.ns3.installation
}

# Installs Mininet-WiFi from SOURCE, with the Mininet that it needs, which is newer than Debian's and PyPI's. It needs no
# compiler: `mnexec` is taken out of Debian's package, and the project has a replacement for `hwsim_mgmt`.
install_mininet_wifi() {
    local source=$1 mininet
    case $source in
        '') refuse "--mininet-wifi: name a checkout of Mininet-WiFi, or what pip is to install" ;;
        .*|/*) [ -e "$source" ] || refuse "--mininet-wifi $source: no such file or folder" ;;
    esac
    if [ -d "$source" ] && [ ! -f "$source/mn_wifi/net.py" ]; then
        refuse "--mininet-wifi $source: not a checkout of Mininet-WiFi (no mn_wifi/net.py)"
    fi
    install mininet-wifi '.[mininet-wifi]'
    mininet=$(find_mininet "$source")
    if [ -n "$mininet" ]; then pip_install_copy "$mininet"; fi
    "$venv/bin/python" -c 'from mininet.util import fmtBps' 2>/dev/null ||
        die "Mininet 2.3.1 or newer is needed beside Mininet-WiFi and was not found; clone github.com/mininet/mininet into" \
            "the checkout, as its util/install.sh does, or name it: MININET=/path/to/mininet ./setup.sh --mininet-wifi ..."
    pip_install_copy "$source"
    install_mininet_wifi_programs || exit 3
    command -v hwsim_mgmt >/dev/null 2>&1 || "$venv/bin/python" -m testbed.backends.mininet_wifi.hwsim_mgmt "$venv/bin"
    "$venv/bin/python" -m testbed.backends.mininet_wifi.installation || exit 3
}

# Where Mininet is: where MININET says, or where util/install.sh of Mininet-WiFi puts it, or beside the checkout.
find_mininet() {
    local candidate
    if [ -n "${MININET:-}" ]; then printf '%s' "$MININET"; return; fi
    for candidate in "$1/mininet" "$1/../mininet"; do
        if [ -f "$candidate/mininet/net.py" ]; then printf '%s' "$candidate"; return; fi
    done
}

# Installs from a copy, so that nothing is built in the user's checkout. Both import themselves while they are set up, so
# they are built with what is installed, not in isolation.
pip_install_copy() {
    local source=$1
    say "installing $1"
    if [ -d "$source" ]; then
        scratch=$(mktemp -d)
        (cd "$source" && tar -c --exclude=.git --exclude='*/.git' .) | tar -x -C "$scratch"
        source=$scratch
    fi
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        --force-reinstall "$source" || die "pip cannot install $1"
    [ -z "$scratch" ] || rm -rf "$scratch"
    scratch=
}

# The programs that Mininet-WiFi calls: Debian's packages, as root; mnexec goes into the environment.
install_mininet_wifi_programs() {
    local entry packages=
    command -v apt-get >/dev/null 2>&1 || { say "Mininet-WiFi needs Debian or Ubuntu: there is no apt-get here"; return 1; }
    for entry in iw:iw iproute2:ip procps:pgrep rfkill:rfkill kmod:modprobe; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${entry#*:}" >/dev/null 2>&1 || packages="$packages ${entry%%:*}"
    done
    if [ -n "$packages" ] && [ "$(id -u)" != 0 ]; then
        say "Mininet-WiFi needs: apt-get install --no-install-recommends$packages (as root)"
        return 1
    fi
    if [ -n "$packages" ] || { ! command -v mnexec >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; }; then
        apt-get update -qq >/dev/null || return 1
    fi
    if [ -n "$packages" ]; then
        say "installing$packages"
        # shellcheck disable=SC2086  # a list of words
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null || return 1
    fi
    command -v mnexec >/dev/null 2>&1 || fetch_mnexec
}

fetch_mnexec() {
    say "taking mnexec out of Debian's package mininet"
    scratch=$(mktemp -d)
    if (cd "$scratch" && chmod 755 . && apt-get download -qq mininet >/dev/null 2>&1 && dpkg-deb -x mininet_*.deb .); then
        command install -m 755 "$scratch/usr/bin/mnexec" "$venv/bin/mnexec"
    fi
    rm -rf "$scratch"
    scratch=
    [ -x "$venv/bin/mnexec" ] || { say "mnexec is missing: apt-get update, or apt-get install mininet (as root)"; return 1; }
}

# For the suite: continuous integration installs everything, a user is told what is missing.
offer_guest_packages() {
    local packages
    if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ]; then
        # tshark reads the captures that the suite makes.
        install_guest_packages tshark:tshark || say "guests cannot be set up; their tests will fail"
    else
        packages=$(missing_guest_packages)
        [ -z "$packages" ] || say "tests of guests will be skipped; for those: ./setup.sh --guest as root ($packages)"
    fi
}

# The same for the browser that opens the pages of `testbed report` and `testbed view`.
offer_browser() {
    if command -v chromium >/dev/null 2>&1; then return; fi
    if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ]; then
        say "installing chromium for tests of pages"
        # Without a font it could write nothing.
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null ||
            say "chromium cannot be installed; tests of pages will fail"
    else
        say "tests of pages will be skipped; for those: apt-get install --no-install-recommends chromium (as root)"
    fi
}

# The same for ns-3.
offer_ns3() {
    if [ "${CI:-}" = true ]; then
        install_ns3 || say "ns-3 cannot be set up; its tests will fail"
    elif ! "$venv/bin/python" -m testbed.backends.ns3.installation 2>/dev/null; then
        say "tests of ns-3 will be skipped; for those: ./setup.sh --ns3"
    fi
}

run_suite() {
    cd "$root"
    ruff check .
    ruff format --check --quiet .
    mypy
    lint-imports --no-cache --no-logo
    exec python -m pytest -n auto --dist loadgroup "$@"
}

export PATH="$venv/bin:$PATH" VIRTUAL_ENV="$venv"
unset PYTHONHOME
if [ "${1:-}" = test ]; then
    shift
    offer_guest_packages
    offer_browser
    install dev '.[dev]'
    offer_ns3
    # Tests use the checkout that is named.
    [ -z "${TESTBED_MININET_WIFI:-}" ] || install_mininet_wifi "$TESTBED_MININET_WIFI"
    run_suite "$@"
fi
while true; do
    case ${1:-} in
        --guest) install_guest_packages || exit 3 ; shift ;;
        --extra) install_extra "${2:-}" ; shift 2 ;;
        --ns3) install_extra ns3 ; shift ;;
        --mininet-wifi) install_mininet_wifi "${2:-}" ; shift 2 ;;
        *) break ;;
    esac
done
install core '.'
[ $# -gt 0 ] || exit 0
# So that it can start this file again if it lacks an extra, but not for one that is installed by now.
if [ "$1" = testbed ]; then export TESTBED_SETUP="$root/setup.sh" TESTBED_EXTRAS="${extras# }"; fi
exec "$@"
