"""The hosts for which `parley deploy` writes folders, and what each is like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CONTAINER: Mapping[str, str] = {
    "Dockerfile": "Dockerfile.j2",
    ".dockerignore": "dockerignore.j2",
    ".gitignore": "gitignore.j2",
}
GATEWAY: Mapping[str, str] = {"start.sh": "start.sh.j2", "Caddyfile": "Caddyfile.j2"}
"""One port for participants and console: Caddy inside the container."""


@dataclass(frozen=True)
class Target:
    """A host. `files` are the files of its folder, each by its template; one that renders to nothing is left out.

    `url` is the address that the host gives, with `{name}` in it; empty if there is none before the owner says it.
    """

    title: str
    files: Mapping[str, str]
    url: str = ""
    gateway: bool = False
    """Whether the host passes on one port only."""
    client_header: str = "X-Forwarded-For"
    """The header in which the host says who asks. What a visitor sends in it has to be replaced or appended to."""
    keeps_disk: bool = True
    """Whether files survive a restart of the container."""
    private_files: bool = True
    """Whether nobody else sees the folder's files; otherwise no study file is written into it."""
    gives_postgresql: bool = False
    """Whether the folder itself makes the PostgreSQL database."""


TARGETS: Mapping[str, Target] = {
    "huggingface": Target(
        "Hugging Face Spaces",
        {**CONTAINER, **GATEWAY, "litestream.yml": "litestream.yml.j2", "README.md": "huggingface/README.md.j2"},
        gateway=True,
        keeps_disk=False,
        private_files=False,
    ),
    "fly": Target(
        "Fly.io",
        {**CONTAINER, **GATEWAY, "fly.toml": "fly/fly.toml.j2", "README.md": "fly/README.md.j2"},
        url="https://{name}.fly.dev",
        gateway=True,
        client_header="Fly-Client-IP",
    ),
    "render": Target(
        "Render",
        {**CONTAINER, **GATEWAY, "render.yaml": "render/render.yaml.j2", "README.md": "render/README.md.j2"},
        url="https://{name}.onrender.com",
        gateway=True,
        client_header="CF-Connecting-IP",
        gives_postgresql=True,
    ),
    "server": Target(
        "A server of your own",
        {
            ".gitignore": "gitignore.j2",
            "parley.env": "server/parley.env.j2",
            "parley.service": "server/parley.service.j2",
            "parley-console.service": "server/parley-console.service.j2",
            "parley-backup.service": "server/parley-backup.service.j2",
            "parley-backup.timer": "server/parley-backup.timer.j2",
            "Caddyfile": "Caddyfile.j2",
            "README.md": "server/README.md.j2",
        },
    ),
    "kubernetes": Target(
        "Kubernetes",
        {
            **CONTAINER,
            **{
                f"base/{name}.yaml": f"kubernetes/{name}.yaml.j2"
                for name in ("kustomization", "configmap", "deployment", "service", "ingress", "volume")
            },
            "migrate.yaml": "kubernetes/migrate.yaml.j2",
            "README.md": "kubernetes/README.md.j2",
        },
    ),
}
