#!/bin/sh
# Makes the image agentclash/sandbox:local (sh and python3 with its standard
# library, unittest included) without a registry: a Debian tree from
# debootstrap, trimmed and imported. It stands in for the default image where
# that one cannot be pulled.
#
#   FORCE=1   make it again although it exists
#   IMAGE     the tag to make             (agentclash/sandbox:local)
#   SUITE     the Debian release          (bookworm)
#   MIRROR    where packages come from    (http://deb.debian.org/debian)
#   DOCKER    the docker command          (docker)
set -eu

IMAGE=${IMAGE:-agentclash/sandbox:local}
SUITE=${SUITE:-bookworm}
MIRROR=${MIRROR:-http://deb.debian.org/debian}
DOCKER=${DOCKER:-docker}
FORCE=${FORCE:-}

say() { printf 'sandbox-image: %s\n' "$*"; }
die() {
	printf 'sandbox-image: %s\n' "$1" >&2
	shift
	for line in "$@"; do printf '  %s\n' "$line" >&2; done
	exit 1
}
instead="Where a registry is reachable, this does as well:
    $DOCKER pull python:3.12-slim && $DOCKER tag python:3.12-slim $IMAGE"

command -v "$DOCKER" >/dev/null 2>&1 ||
	die "the docker command is missing" "Install Docker (Debian: apt-get install docker.io) and try again."
"$DOCKER" version --format '{{.Server.Version}}' >/dev/null 2>&1 ||
	die "no Docker engine answers" "Start it, or point DOCKER_HOST at one, and try again."

if [ -z "$FORCE" ] && "$DOCKER" image inspect "$IMAGE" >/dev/null 2>&1; then
	say "$IMAGE is there already (FORCE=1 makes it again)"
	exit 0
fi

[ "$(uname -s)" = Linux ] || die "debootstrap runs on Linux only" "$instead"
[ "$(id -u)" = 0 ] || die "debootstrap needs root" "Try: sudo $0" "$instead"

if ! command -v debootstrap >/dev/null 2>&1; then
	command -v apt-get >/dev/null 2>&1 || die "debootstrap is missing, and so is apt-get" "$instead"
	say "installing debootstrap"
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends debootstrap; } >/dev/null ||
		die "debootstrap could not be installed" "$instead"
fi

# What "docker import" records must be what the tree holds, so the tree is made
# for the engine's architecture or not at all.
case "$("$DOCKER" version --format '{{.Server.Arch}}')" in
amd64) arch=amd64 ;;
arm64) arch=arm64 ;;
*) die "the engine's architecture is neither amd64 nor arm64" "$instead" ;;
esac
if command -v dpkg >/dev/null 2>&1 && [ "$(dpkg --print-architecture)" != "$arch" ]; then
	die "this machine is $(dpkg --print-architecture), the engine is $arch" "Run it on the engine's machine." "$instead"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/agentclash-image.XXXXXX")
# --one-file-system: an interrupted debootstrap may leave /proc mounted in the tree.
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
root=$work/root

say "fetching Debian $SUITE ($arch) from $MIRROR; this takes a few minutes"
if ! debootstrap --variant=minbase --arch="$arch" --include=python3-minimal,python3 "$SUITE" "$root" "$MIRROR" >"$work/log" 2>&1; then
	tail -n 20 "$work/log" "$root/debootstrap/debootstrap.log" >&2 2>/dev/null || true
	die "debootstrap did not finish" "$instead"
fi

# Nothing of this machine and nothing an agent has no use for.
rm -f "$root/etc/hostname" "$root/etc/resolv.conf" "$root/etc/machine-id"
rm -rf "$root"/var/cache/* "$root"/var/lib/apt/lists/* "$root"/var/log/* \
	"$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/info/* \
	"$root"/usr/share/locale/* "$root"/usr/share/lintian/* "$root"/tmp/* "$root"/var/tmp/* "$root"/debootstrap
mkdir -p "$root/var/cache/apt/archives/partial" "$root/var/lib/apt/lists/partial" "$root/workspace"
[ -e "$root/usr/bin/python" ] || ln -s python3 "$root/usr/bin/python"

# The root is read-only in a box, so byte code is compiled now or never.
chroot "$root" python3 -m compileall -q /usr/lib/python3 /usr/lib/python3.* >/dev/null 2>&1 || true
chroot "$root" python3 -c 'import unittest, json, sqlite3, ssl, venv' >/dev/null ||
	die "the tree's python3 is not whole" "$instead"

old=$("$DOCKER" image inspect --format '{{.Id}}' "$IMAGE" 2>/dev/null || true)
tar -C "$root" --numeric-owner --one-file-system -cf "$work/root.tar" . || die "the tree could not be packed"
id=$("$DOCKER" import \
	--change 'CMD ["python3"]' \
	--change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
	--change 'WORKDIR /workspace' \
	--change "LABEL dev.agentclash.image=sandbox dev.agentclash.suite=$SUITE" \
	"$work/root.tar" "$IMAGE") || die "the engine did not take the tree"
[ -z "$old" ] || "$DOCKER" image rm "$old" >/dev/null 2>&1 || true # unless something uses it
say "made $IMAGE ($id)"
