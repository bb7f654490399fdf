# shellcheck shell=bash
# What scripts/dev and scripts/test need from the machine. Sourced, never run; the caller has set strict mode.

# What the build links, and how it is found.
# shellcheck disable=SC2034 # used by the scripts that source this file
build_packages=(libssl-dev libpq-dev libcurl4-openssl-dev libyaml-dev pkg-config)
# What the tests and `sallyport dev` run.
server_package=postgresql-15
# What the tests drive the server with, and put in front of it. Another flavour of nginx will do as well, and is not to be
# replaced.
# shellcheck disable=SC2034 # used by the scripts that source this file
test_packages=(ca-certificates curl openssl pgbouncer python3)
[ -x /usr/sbin/nginx ] || test_packages+=(nginx-light)

say() { printf '==> %s\n' "$*" >&2; }

# A newcomer's problem is not a failure of the code: status 2, and what to do.
give_up() {
    printf 'error: %s\n' "$*" >&2
    exit 2
}

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Another major version will do as well.
has_postgres_server() {
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

# Installs those of the named Debian packages that are missing, and PostgreSQL's server if there is none.
install_packages() {
    local wanted=("$@") missing=() package
    has_postgres_server || wanted+=("$server_package")
    if ! command -v dpkg-query >/dev/null; then
        say "Not a Debian system: taking for granted what these packages hold: ${wanted[*]}"
        return
    fi
    for package in "${wanted[@]}"; do
        is_installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        say "Debian packages: all there"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        give_up "Debian packages are missing; run this line, then start again:
  sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${missing[*]}"
    fi
    say "Installing Debian packages: ${missing[*]}"
    forbid_default_cluster
    forbid_services
    export DEBIAN_FRONTEND=noninteractive
    local apt=(apt-get --quiet --yes -o DPkg::Lock::Timeout=300)
    "${apt[@]}" update >&2 </dev/null
    "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2 </dev/null
    allow_services
    # The tests start some of their own; a machine that had none shall not serve from its next start on.
    local service
    for service in nginx-light:nginx pgbouncer:pgbouncer; do
        if [[ " ${missing[*]} " = *" ${service%:*} "* ]] && command -v systemctl >/dev/null; then
            systemctl --quiet disable "${service#*:}.service" >&2 || true
        fi
    done
}

# Debian starts what it installs. The file is Debian's own way to say no; one that is there already decides.
policy_file=/usr/sbin/policy-rc.d
policy_text='#!/bin/sh
# sallyport: nothing is started while packages are installed
exit 101'

forbid_services() {
    [ -e "$policy_file" ] && return
    printf '%s\n' "$policy_text" >"$policy_file"
    chmod 755 "$policy_file"
    trap allow_services EXIT
}

allow_services() {
    if [ "$(cat "$policy_file" 2>/dev/null)" = "$policy_text" ]; then rm -f "$policy_file"; fi
}

# Debian's server package makes and starts a cluster of its own. Ours is private, so none shall; a machine that
# has this file has decided already.
forbid_default_cluster() {
    local file=/etc/postgresql-common/createcluster.conf
    [ -e "$file" ] && return
    mkdir -p "${file%/*}"
    printf 'create_main_cluster = false\n' >"$file"
}

require_swift() {
    command -v swift >/dev/null ||
        give_up "the Swift toolchain is missing (6.3 or later); see https://www.swift.org/install/linux/"
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p;T;q')
    say "Swift ${version:-of an unknown version}"
}
