"""The public addresses, the reverse proxy before them, proxies on the way out, and certificate authorities."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from time import time
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from app.backends.wire.http_client import proxy_of, trusted
from app.config.model_servers import Server
from app.config.settings import Settings, certificate_variables, env_name
from app.doctor.addresses import PORTS, connects, is_loopback
from app.doctor.finding import Deployment, Diagnosis, error, ok, warning
from app.errors import SettingsError
from app.web.throttled_log import ANOTHER_SITE

WITHIN_S = 10
ANY = 0
"""The length of a network's prefix that all addresses have."""
PUBLIC, CONSOLE, PROXIES = env_name("public_url"), env_name("console_url"), env_name("trusted_proxies")


def check_public_address(deployment: Deployment) -> Iterator[Diagnosis]:
    """The addresses for participants and researchers, asked as a browser does; no session begins."""
    settings = deployment.settings
    if settings.public_url is None:
        yield from _without_proxy(settings)
    else:
        yield from _form(PUBLIC, settings.public_url)
        yield from _participants(settings.public_url)
        yield from _trusted_proxies(settings.trusted_proxies)
    if settings.console_url is not None:
        yield from _form(CONSOLE, settings.console_url)
        yield from _console(settings.console_url)


def _without_proxy(settings: Settings) -> Iterator[Diagnosis]:
    if is_loopback(settings.host):
        yield ok(f"{PUBLIC} is not set: participants reach Parley from this machine only, at {settings.address}.")
    else:
        yield warning(
            f"{PUBLIC} is not set, and Parley listens to the network at {settings.host}: what participants send is not "
            "encrypted, and links lead to an address that others may not reach.",
            f"Put a proxy with https before Parley, and set {PUBLIC} to its address.",
        )
    if settings.trusted_proxies:
        yield warning(f"{PROXIES} is set, and {PUBLIC} is not.", f"Set {PUBLIC} to the address that participants see.")


def _form(name: str, url: str) -> Iterator[Diagnosis]:
    if url.startswith("http://") and not is_loopback(urlsplit(url).hostname or ""):
        yield warning(
            f"{name}={url} is not encrypted: others on the way can read and change what is sent.",
            "Use https, also for a test with participants.",
        )


def _participants(url: str) -> Iterator[Diagnosis]:
    """Ask for the present screen as the page does, without a cookie."""
    answer = _answer("POST", f"{url}/api/look", url)
    if isinstance(answer, Diagnosis):
        yield answer
    elif answer.status_code == httpx2.codes.FORBIDDEN and ANOTHER_SITE in answer.text:
        yield error(
            f"{PUBLIC}={url} reaches Parley, but the proxy does not pass the header Host: every click is refused.",
            "nginx: `proxy_set_header Host $http_host;`. See the operator's guide, Behind a proxy.",
        )
    elif answer.status_code == httpx2.codes.UNAUTHORIZED and '"words"' in answer.text:  # for a page without a session
        yield ok(f"{PUBLIC}={url} reaches Parley, and the proxy passes the header Host.")
    else:
        yield _something_else(PUBLIC, url, answer)


def _console(url: str) -> Iterator[Diagnosis]:
    answer = _answer("GET", f"{url}/login", url)
    if isinstance(answer, Diagnosis):
        yield answer
    elif answer.is_success:
        yield ok(f"{CONSOLE}={url} answers.")
    else:
        yield _something_else(CONSOLE, url, answer)


def _answer(method: str, address: str, url: str) -> httpx2.Response | Diagnosis:
    parts = urlsplit(url)
    headers = {"origin": f"{parts.scheme}://{parts.netloc}", "content-type": "application/json", "user-agent": "parley"}
    try:
        with httpx2.Client(trust_env=False, timeout=WITHIN_S, proxy=proxy_of(address), verify=trusted()) as client:
            return client.request(method, address, headers=headers, content=b"{}" if method == "POST" else None)
    except (httpx2.HTTPError, OSError, SettingsError) as fault:
        return warning(
            f"There is no connection from this machine to {url} ({fault}).",
            "Check the name and the proxy, and open the address in a browser elsewhere: some networks do not let a "
            "machine reach its own public address.",
        )


def _something_else(name: str, url: str, answer: httpx2.Response) -> Diagnosis:
    if answer.is_redirect:
        return warning(
            f"{name}={url} redirects to {answer.headers.get('location')}.", f"Set {name} to the last address."
        )
    return warning(
        f"{name}={url} answers with status {answer.status_code}, and not as Parley does.",
        "If Parley does not run now, start it and try again. Otherwise correct the port to which the proxy passes "
        "requests.",
    )


def _trusted_proxies(given: str) -> Iterator[Diagnosis]:
    networks = [ip_network(part.strip()) for part in given.split(",") if part.strip()]
    if not networks:
        yield warning(
            f"{PROXIES} is not set: all participants behind the proxy share one rate limit.",
            f"Set {PROXIES} to the address at which the proxy connects to Parley, such as 127.0.0.1.",
        )
    elif any(network.prefixlen == ANY for network in networks):
        yield error(
            f"{PROXIES}={given} trusts everybody: anyone can claim any address, and so escape the rate limits.",
            "Name the proxy's address or network only.",
        )
    else:
        yield ok(f"{PROXIES}={given}: only from there the header X-Forwarded-For is trusted.")


def check_outgoing(deployment: Deployment) -> Iterator[Diagnosis]:
    """Proxies on the way to model servers, and further certificate authorities."""
    named = {name: url for name, url in getproxies().items() if name in PORTS}
    for name, url in named.items():
        yield _proxy(f"{name.upper()}_PROXY", url, f"{name}://parley.invalid")
    for name, server in _servers(deployment.settings):
        if is_loopback(urlsplit(server.url).hostname or "") and _uses_proxy(server.url):
            yield error(
                f"Requests to the model server {name} at {server.url}, which is this machine, would go to the proxy.",
                f"Add its host to NO_PROXY: NO_PROXY={urlsplit(server.url).hostname}",
            )
    if not named:
        yield ok("No proxy is set for the way to model servers (HTTP_PROXY, HTTPS_PROXY).")
    variables = certificate_variables()
    if not variables:
        yield ok("No private certificate authority is set (SSL_CERT_FILE, SSL_CERT_DIR).")
    if "SSL_CERT_FILE" in variables:
        yield _authority_file(Path(variables["SSL_CERT_FILE"]))
    for folder in filter(None, variables.get("SSL_CERT_DIR", "").split(os.pathsep)):
        yield _authority_folder(Path(folder))


def _servers(settings: Settings) -> Iterator[tuple[str, Server]]:
    if settings.openai_base_url:
        yield "openai", Server(url=settings.openai_base_url)
    if settings.anthropic_base_url:
        yield "anthropic", Server(url=settings.anthropic_base_url)
    yield from settings.model_servers.items()


def _uses_proxy(url: str) -> bool:
    try:
        return proxy_of(url) is not None
    except SettingsError:
        return True


def _proxy(variable: str, given: str, example: str) -> Diagnosis:
    """Whether something listens where a variable names a proxy; its login is never shown."""
    try:
        used = proxy_of(example)
    except SettingsError as fault:
        return error(str(fault).replace(f" for {example}", ""))
    if used is None:
        return warning(f"{variable} is set, and NO_PROXY excludes all servers.")
    parts = urlsplit(used)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    shown = f"{parts.scheme}://{host}:{port}"
    if (refused := connects(host, port)) is not None:
        return error(
            f"{variable} names the proxy {shown}, and there is no connection to it ({refused}).",
            f"Correct {variable}, or name the model servers in NO_PROXY.",
        )
    without = "" if "://" in given else ", named without http://"
    return ok(f"{variable} names the proxy {shown}{without}; something listens there.")


def _authority_file(file: Path) -> Diagnosis:
    if not file.is_file():
        return error(f"SSL_CERT_FILE names {file}, which is no file, so it has no effect.", "Correct the path.")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(file)
        authorities = context.get_ca_certs()
    except (ssl.SSLError, OSError) as fault:
        return error(
            f"SSL_CERT_FILE={file} cannot be read as certificates ({fault}).",
            "It must have certificates in PEM: lines from BEGIN CERTIFICATE to END CERTIFICATE.",
        )
    ends = [ssl.cert_time_to_seconds(str(one["notAfter"])) for one in authorities]
    if ends and max(ends) < time():
        return error(f"All certificates in SSL_CERT_FILE={file} have expired.", "Get the authority's new certificate.")
    return ok(f"SSL_CERT_FILE={file} has certificates: {context.cert_store_stats()['x509']}.")


def _authority_folder(folder: Path) -> Diagnosis:
    """OpenSSL finds a certificate in a folder by the hash that its file is named by (openssl-rehash(1))."""
    if not folder.is_dir():
        return error(f"SSL_CERT_DIR names {folder}, which is no folder, so it has no effect.", "Correct the path.")
    if not any(folder.glob("*.[0-9]")):
        return warning(
            f"SSL_CERT_DIR={folder} has no certificate under a name by which OpenSSL finds one.",
            f"openssl rehash {folder}",
        )
    return ok(f"SSL_CERT_DIR={folder} has certificates of authorities.")
