#!/usr/bin/env bash
# Sets up what the command after it needs, then runs that command inside the environment.
#
#   ./setup.sh                                   set up the core
#   ./setup.sh testbed run scenarios/quickstart.yaml
#   ./setup.sh test [pytest arguments]           set up everything this machine allows, run the whole suite
#   ./setup.sh --guest [command]                 also install what guests with Wi-Fi radios need (docs/guest.md); as root
#
# The environment lives in .venv beside this file (or in $TESTBED_VENV). Setting up again costs nothing: a stamp
# holds the fingerprint of what was installed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${TESTBED_VENV:-$root/.venv}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

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

# install NAME REQUIREMENT: installs the project with the extras that REQUIREMENT names, once per fingerprint.
install() {
    local name=$1 requirement=$2 fingerprint
    fingerprint="$root $(cksum <"$root/pyproject.toml")"
    # The development set holds the core.
    if is_installed "$name" || { [ "$name" = core ] && is_installed dev; }; then return; fi
    "$venv/bin/python" -c '' 2>/dev/null || make_venv
    say "installing $requirement"
    (cd "$root" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$requirement")
    printf '%s' "$fingerprint" >"$venv/.installed-$name"
}

is_installed() {
    [ -x "$venv/bin/python" ] && [ -f "$venv/.installed-$1" ] && [ "$(cat "$venv/.installed-$1")" = "$fingerprint" ]
}

# The Debian packages that guests need and that are missing; each is known by a program that it brings. Arguments: more.
missing_guest_packages() {
    local entry
    for entry in qemu-system-x86:qemu-system-x86_64 e2fsprogs:mke2fs busybox-static:busybox iproute2:ip babeld:babeld "$@"; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${entry#*:}" >/dev/null 2>&1 || printf '%s ' "${entry%%:*}"
    done
}

# Installs what guests need, which takes root; the kernel itself is fetched later and never installed. Arguments: more.
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

# For the suite: continuous integration gets everything, others are told.
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

run_suite() {
    cd "$root"
    ruff check .
    ruff format --check --quiet .
    mypy
    exec python -m pytest -n auto --dist loadgroup "$@"
}

export PATH="$venv/bin:$PATH" VIRTUAL_ENV="$venv"
unset PYTHONHOME
if [ "${1:-}" = test ]; then
    shift
    offer_guest_packages
    install dev '.[dev]'
    run_suite "$@"
fi
if [ "${1:-}" = --guest ]; then
    shift
    install_guest_packages || exit 3
fi
install core '.'
[ $# -eq 0 ] || exec "$@"
