"""Detection of network shares, on which SQLite is not safe.

In WAL mode all processes share memory by a file beside the database, which works on one machine only, and locks on
network file systems are unreliable: two machines would overwrite each other's data without an error. Sources:
https://sqlite.org/wal.html ("WAL does not work over a network filesystem"), https://sqlite.org/useovernet.html.
"""

from __future__ import annotations

import re
from pathlib import Path

from storage.errors import StorageError

# What is mounted, on Linux (fstab(5)); other systems have no such file, and nothing is found out there.
MOUNTS = Path("/proc/self/mounts")
# Types of file systems that several machines can mount at once. 9p and virtiofs are not among them: they are also a
# container's or a virtual machine's way to a disk of its own host.
NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d|smbfs|afs|ceph|coda|davfs|glusterfs|gpfs|lustre|beegfs|ncpfs|orangefs|fuse\.(sshfs|ceph|cephfs|davfs2?|"
    r"gcsfuse|glusterfs|goofys|rclone|s3fs|smbnetfs|blobfuse2?|mount-s3|moosefs|juicefs)"
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def network_filesystem(file: Path) -> tuple[Path, str] | None:
    """The mount point of the share on which a file is or would be, and its type; None on a disk of this machine's."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    real, found = file.resolve(), (Path("/"), "")
    for line in lines:
        _, place, kind, *_ = line.split(" ")
        mounted = Path(_ESCAPED.sub(lambda code: chr(int(code[1], 8)), place))
        if real.is_relative_to(mounted) and len(mounted.parts) >= len(found[0].parts):
            found = mounted, kind
    return found if NETWORK.fullmatch(found[1]) else None


def refuse_network_share(file: Path) -> None:
    """Raise StorageError for a file that is, or would be, on a network share."""
    if share := network_filesystem(file):
        raise StorageError(
            f"{file.absolute()}: {share[0]} is a network share ({share[1]}), on which SQLite loses data without an "
            "error. Use a file on a disk of this machine (PARLEY_DATABASE_URL=sqlite:////var/lib/parley/parley.db), or "
            "PostgreSQL. Backups may be on a share"
        )
