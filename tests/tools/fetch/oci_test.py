"""`fatctx push` and `fetch oci://...`: with Debian's registry, skopeo and oras, and with a registry that answers wrongly."""

import base64
import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.parse

import jsonschema
import pytest
from debian_registry import needed, registry_in

CONTAINER = "application/vnd.fatctx.container.v1"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def pack(fatctx, folder: pathlib.Path, name: str, weights: bytes, archs=("x86-64-v2", "x86-64-v3", "aarch64")) -> pathlib.Path:
    (folder / "weights.bin").write_bytes(weights)
    arguments = []
    for number, arch in enumerate(archs):
        (folder / f"{arch}.bin").write_bytes(bytes((i * 7 + number) % 251 for i in range(4099)) * 320)
        arguments += ["--binary", f"{arch}.bin@cpu:{arch}"]
    fatctx("pack", "-o", name, "--name", "m", "--weights", "weights.bin", *arguments)
    return folder / name


@pytest.fixture
def container(fatctx, tmp_path) -> pathlib.Path:
    return pack(fatctx, tmp_path, "model.fatctx", os.urandom(4_000_000))


def told(run) -> dict:
    document = json.loads(run.stdout)
    if document["schema"] == "fatctx.push/1":
        schema = json.loads((pathlib.Path(__file__).resolve().parents[3] / "docs" / "schemas" / "push.json").read_text())
        jsonschema.validate(document, schema)
    return document


def test_a_push_is_one_blob_that_other_clients_read(fatctx, registry, container, tmp_path):
    reference = f"oci://{registry}/models/m:1"
    pushed = told(fatctx("push", "model.fatctx", reference, "--json"))
    assert [blob["size_bytes"] for blob in pushed["blobs"]] == [container.stat().st_size] == [pushed["sent_bytes"]]
    again = told(fatctx("push", "model.fatctx", reference, "--json"))
    assert (again["sent_bytes"], again["digest"]) == (0, pushed["digest"])

    raw = subprocess.run([needed("skopeo"), "inspect", "--raw", "--tls-verify=false", f"docker://{registry}/models/m:1"],
                         check=True, capture_output=True).stdout
    assert "sha256:" + hashlib.sha256(raw).hexdigest() == pushed["digest"]
    manifest = json.loads(raw)
    assert manifest["artifactType"] == CONTAINER
    info = told(fatctx("info", "model.fatctx", "--extents", "--json"))
    table = next(extent for extent in info["extents"]["extents"] if extent["kind"] == "toc copy 0")
    data = container.read_bytes()
    toc = data[table["offset"]:table["offset"] + table["size"]]
    assert manifest["annotations"] == {
        "org.opencontainers.image.title": "model.fatctx", "vnd.fatctx.generation": "1",
        "vnd.fatctx.targets": "cpu aarch64,cpu x86-64-v2,cpu x86-64-v3", "vnd.fatctx.toc.sha256": hashlib.sha256(toc).hexdigest(),
        "vnd.fatctx.uuid": info["uuid"]}

    subprocess.run([needed("oras"), "pull", "--plain-http", f"{registry}/models/m:1", "-o", "pulled"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "pulled" / "model.fatctx").read_bytes() == data


def test_a_device_gets_its_part_from_one_blob_and_from_parts(fatctx, registry, container, tmp_path):
    for layers in ("one", "parts"):
        reference = f"oci://{registry}/models/m:{layers}"
        pinned = told(fatctx("push", "model.fatctx", reference, "--layers", layers, "--json"))["pinned"]
        for name, source in (("tag", reference), ("digest", pinned)):
            out = f"{layers}-{name}.fatctx"
            fetched = told(fatctx("fetch", source, "--device", "x86-64-v3", "-o", out, "--json"))
            assert fetched["fetched_bytes"] < (4_000_000 + 1_311_680) * 1.1 < container.stat().st_size
            assert fetched["requests"] <= 14
            fatctx("extract", out, "m.x86-64-v3", "-o", f"{out}.bin")
            assert (tmp_path / f"{out}.bin").read_bytes() == (tmp_path / "x86-64-v3.bin").read_bytes()
        fatctx("fetch", pinned, "--all", "-o", f"{layers}.fatctx")
        assert (tmp_path / f"{layers}.fatctx").read_bytes() == container.read_bytes()
        assert "x86-64-v3" in fatctx("info", reference).stdout
        assert "m.aarch64" in fatctx("select", pinned, "--device", "aarch64").stdout


def test_versions_share_parts(fatctx, registry, container, tmp_path):
    fatctx("push", "model.fatctx", f"oci://{registry}/m:1", "--layers", "parts")
    pack(fatctx, tmp_path, "model2.fatctx", (tmp_path / "weights.bin").read_bytes(), ("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"))
    dry = told(fatctx("push", "model2.fatctx", f"oci://{registry}/m:2", "--layers", "parts", "--dry-run", "--json"))
    pushed = told(fatctx("push", "model2.fatctx", f"oci://{registry}/m:2", "--layers", "parts", "--json"))
    assert pushed["sent_bytes"] == dry["sent_bytes"] < 2_000_000 < sum(blob["size_bytes"] for blob in pushed["blobs"])
    offsets = [blob["offset"] for blob in pushed["blobs"]]
    assert offsets == [sum(blob["size_bytes"] for blob in pushed["blobs"][:i]) for i in range(len(offsets))]


def test_chunks_arrive_as_one_blob(fatctx, registry, container, tmp_path):
    fatctx("push", "model.fatctx", f"oci://{registry}/m:1", "--chunk-size", "1MiB")
    fatctx("fetch", f"oci://{registry}/m:1", "--all", "-o", "out.fatctx")
    assert (tmp_path / "out.fatctx").read_bytes() == container.read_bytes()


def test_an_artifact_of_oras_is_read(fatctx, registry, container, tmp_path):
    (tmp_path / "README.md").write_text("a model\n")
    subprocess.run([needed("oras"), "push", "--plain-http", f"{registry}/models/o:1", "README.md", "model.fatctx"], cwd=tmp_path, check=True,
                   capture_output=True)
    fatctx("fetch", f"oci://{registry}/models/o:1", "--device", "aarch64", "-o", "part.fatctx")
    fatctx("extract", "part.fatctx", "m.aarch64", "-o", "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == (tmp_path / "aarch64.bin").read_bytes()


def test_a_registry_mends_a_file(fatctx, registry, container, tmp_path):
    fatctx("push", "model.fatctx", f"oci://{registry}/m:1", "--layers", "parts")
    good = container.read_bytes()
    bad = bytearray(good)
    bad[3_000_000:3_100_000] = bytes(100_000)
    container.write_bytes(bad)
    fatctx("repair", "model.fatctx", "--from", f"oci://{registry}/m:1")
    assert container.read_bytes() == good


def test_an_encrypted_registry_is_known_by_its_certificate(fatctx, container, tmp_path):
    subprocess.run([needed("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "ca.pem",
                    "-days", "2", "-subj", "/CN=registry", "-addext", "subjectAltName=IP:127.0.0.1"],
                   cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "other.key", "-out", "other.pem",
                    "-days", "2", "-subj", "/CN=registry"], cwd=tmp_path, check=True, capture_output=True)
    with registry_in(tmp_path, f", tls: {{certificate: {tmp_path}/ca.pem, key: {tmp_path}/key.pem}}", tmp_path / "ca.pem") as host:
        reference = f"oci://{host}/models/m:1"
        assert "cert" in fatctx("push", "model.fatctx", reference, "--cacert", "other.pem", exits=5).stderr.lower()
        fatctx("push", "model.fatctx", reference, "--cacert", "ca.pem", "--chunk-size", "1MiB")
        fatctx("fetch", reference, "--cacert", "ca.pem", "--all", "-o", "out.fatctx")
        assert (tmp_path / "out.fatctx").read_bytes() == container.read_bytes()
        assert "m.aarch64" in fatctx("select", reference, "--cacert", "ca.pem", "--device", "aarch64").stdout


def test_damage_and_parts_of_a_container_are_not_pushed(fatctx, registry, container):
    fatctx("fetch", "model.fatctx", "--device", "aarch64", "-o", "part.fatctx")
    assert "not_present" in fatctx("push", "part.fatctx", f"oci://{registry}/m:1", exits=6).stderr
    bad = bytearray(container.read_bytes())
    bad[3_000_000] ^= 1
    container.write_bytes(bad)
    assert "checksum_mismatch" in fatctx("push", "model.fatctx", f"oci://{registry}/m:1", exits=3).stderr
    assert "not_found" in fatctx("fetch", f"oci://{registry}/m:1", "--all", "-o", "out.fatctx", exits=2).stderr


def test_a_push_that_is_killed_leaves_the_old_version_or_the_new_one(fatctx, start, registry, container, tmp_path):
    reference = f"oci://{registry}/m:1"
    began = time.monotonic()
    last = told(fatctx("push", "model.fatctx", reference, "--chunk-size", "1MiB", "--json"))
    whole = time.monotonic() - began
    versions = {last["digest"]: container.read_bytes()}
    for round_ in range(6):
        pack(fatctx, tmp_path, "new.fatctx", os.urandom(4_000_000))
        new = told(fatctx("push", "new.fatctx", reference, "--dry-run", "--json"))
        versions[new["digest"]] = (tmp_path / "new.fatctx").read_bytes()
        running = start("push", "new.fatctx", reference, "--chunk-size", "1MiB", stdout=subprocess.DEVNULL)
        time.sleep(whole * (round_ + 0.5) / 6)
        running.kill()
        running.wait()
        running.stderr.close()

        fatctx("fetch", reference, "--all", "-o", "out.fatctx", "--force")
        assert (tmp_path / "out.fatctx").read_bytes() in (versions[last["digest"]], versions[new["digest"]])
        last = told(fatctx("push", "new.fatctx", reference, "--json"))
        assert last["digest"] == new["digest"]
        fatctx("fetch", reference, "--all", "-o", "out.fatctx", "--force")
        assert (tmp_path / "out.fatctx").read_bytes() == versions[new["digest"]]
        (tmp_path / "new.fatctx").unlink()


def test_a_file_that_changes_while_it_is_read_is_not_pushed(fatctx, registry, container):
    ended = threading.Event()

    def touch():
        while not ended.is_set():
            os.utime(container)

    toucher = threading.Thread(target=touch)
    toucher.start()
    try:
        done = fatctx("push", "model.fatctx", f"oci://{registry}/m:1", exits=3)
    finally:
        ended.set()
        toucher.join()
    assert "it changed while it was read; push it again (changed)" in done.stderr
    assert "not_found" in fatctx("fetch", f"oci://{registry}/m:1", "--all", "-o", "out.fatctx", exits=2).stderr


def test_an_update_beside_a_container_is_taken(fatctx, registry, container, tmp_path):
    old = container.rename(tmp_path / "old.fatctx")
    weights = bytearray((tmp_path / "weights.bin").read_bytes())
    for place in range(0, 4_000_000, 65_536):
        weights[place] ^= 1  # each leaf changes
    pack(fatctx, tmp_path, "new.fatctx", bytes(weights))
    fatctx("delta", old.name, "new.fatctx", "-o", "new.update")
    reference = f"oci://{registry}/m:2"
    fatctx("push", "new.fatctx", reference)
    pushed = told(fatctx("push", reference, "--update", "new.update", "--json"))
    info = told(fatctx("info", old.name, "--json"))
    assert pushed["from"] == f"{info['uuid']}-1"
    fetched = told(fatctx("fetch", reference, "--all", "--from", old.name, "-o", "out.fatctx", "--json"))
    assert fetched["update_bytes"] == (tmp_path / "new.update").stat().st_size == pushed["size_bytes"]
    assert fetched["fetched_bytes"] < 400_000
    assert (tmp_path / "out.fatctx").read_bytes() == (tmp_path / "new.fatctx").read_bytes()
    assert "is an update" in fatctx("fetch", pushed["pinned"], "--all", "-o", "u.fatctx", exits=3).stderr
    fatctx("push", old.name, f"oci://{registry}/m:1")
    assert "it makes generation" in fatctx("push", f"oci://{registry}/m:1", "--update", "new.update", exits=2).stderr


class Registry:
    """A registry in memory, with what a test changes: `lie(handler)` answers itself and returns True."""

    def __init__(self):
        self.blobs, self.manifests, self.uploads, self.seen = {}, {}, {}, []
        self.lie = None
        self.wants = None  # "basic" or "bearer"
        self.realm = None
        self.tokens = []
        self.ranges = True
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", **head):
                self.send_response(status)
                for name, value in head.items():
                    self.send_header(name.replace("_", "-"), value)
                if "Content_Length" not in head:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    try:
                        self.wfile.write(body)
                    except OSError:
                        self.close_connection = True

            def serve(self):
                self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                registry.seen.append((self.command, self.path, self.headers.get("Authorization")))
                url = urllib.parse.urlsplit(self.path)
                if url.path == "/token":
                    return registry.give_token(self)
                if registry.lie and registry.lie(self):
                    return None
                if registry.wants and not registry.allowed(self.headers.get("Authorization", "")):
                    realm = registry.realm or f"http://127.0.0.1:{registry.port}/token"
                    challenge = 'Basic realm="r"' if registry.wants == "basic" else f'Bearer realm="{realm}",service="s"'
                    return self.answer(401, b"{}", WWW_Authenticate=challenge)
                return registry.answer(self, url)

            do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = serve

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_port
        self.host = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def allowed(self, authorization):
        if self.wants == "basic":
            return authorization == "Basic " + base64.b64encode(b"user:pa:ss").decode()
        return authorization.removeprefix("Bearer ") in self.tokens[-1:]

    def give_token(self, handler):
        good = handler.headers.get("Authorization") == "Basic " + base64.b64encode(b"user:pa:ss").decode()
        if b"refresh_token=re%3Afresh" in handler.body:
            good = True
        if not good:
            return handler.answer(401, b'{"errors": [{"code": "DENIED", "message": "no such user"}]}')
        self.tokens.append(f"token-{len(self.tokens)}")
        return handler.answer(200, json.dumps({"token": self.tokens[-1]}).encode())

    def answer(self, handler, url):
        kind, _, name = url.path.rpartition("/")
        if handler.command == "POST":
            return handler.answer(202, Location="/v2/m/blobs/uploads/1")
        if handler.command == "PUT" and "/uploads" in kind:
            digest = urllib.parse.parse_qs(url.query)["digest"][0]
            if digest != "sha256:" + hashlib.sha256(handler.body).hexdigest():
                return handler.answer(400, b'{"errors": [{"code": "DIGEST_INVALID"}]}')
            self.blobs[digest] = handler.body
            return handler.answer(201)
        if handler.command == "PUT":
            digest = "sha256:" + hashlib.sha256(handler.body).hexdigest()
            self.manifests[name] = self.manifests[digest] = handler.body
            subject = json.loads(handler.body).get("subject")
            return handler.answer(201, Docker_Content_Digest=digest, **({"OCI-Subject": subject["digest"]} if subject else {}))
        if kind.endswith("/referrers"):
            found = [{"mediaType": MANIFEST, "digest": digest, "size": len(body), "artifactType": json.loads(body)["artifactType"],
                      "annotations": json.loads(body)["annotations"]}
                     for digest, body in self.manifests.items() if digest.startswith("sha256:") and json.loads(body).get("subject", {}).get("digest") == name]
            return handler.answer(200, json.dumps({"schemaVersion": 2, "manifests": found}).encode())
        body = (self.manifests if kind.endswith("/manifests") else self.blobs).get(name)
        if body is None:
            return handler.answer(404, b'{"errors": [{"code": "NAME_UNKNOWN", "message": "not here"}]}')
        words = handler.headers.get("Range")
        if not words or not self.ranges or "," in words:  # as stores behind registries often do
            return handler.answer(200, body, **({"Content_Length": str(len(body))} if handler.command == "HEAD" else {}))
        first, last = (int(word) for word in words.removeprefix("bytes=").split("-"))
        last = min(last, len(body) - 1)
        return handler.answer(206, body[first:last + 1], Content_Range=f"bytes {first}-{last}/{len(body)}")

    def secrets(self):
        return [authorization for _, _, authorization in self.seen if authorization]


@pytest.fixture
def fake():
    if "without HTTP" in os.environ.get("FATCTX_FETCH", ""):
        pytest.skip("this build has no HTTP")
    made = []

    def start() -> Registry:
        made.append(Registry())
        return made[-1]

    yield start
    for one in made:
        one.http.shutdown()
        one.http.server_close()


def docker_config(folder: pathlib.Path, config: dict, path: str = "") -> dict:
    (folder / "docker").mkdir(exist_ok=True)
    (folder / "docker" / "config.json").write_text(json.dumps(config))
    return {"env": {**os.environ, "DOCKER_CONFIG": str(folder / "docker"), "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}}


def login(host: str) -> dict:
    return {"auths": {host: {"auth": base64.b64encode(b"user:pa:ss").decode()}}}


@pytest.mark.parametrize("wants", ["basic", "bearer"])
@pytest.mark.parametrize("kept", ["config", "helper", "store", "auth file"])
def test_credentials_as_docker_keeps_them(fatctx, fake, container, tmp_path, wants, kept):
    registry = fake()
    registry.wants = wants
    where, more = docker_config(tmp_path, login(registry.host)), []
    if kept in ("helper", "store"):
        (tmp_path / "bin").mkdir()
        helper = tmp_path / "bin" / "docker-credential-test"
        helper.write_text('#!/bin/sh\nread server\n[ "$1 $server" = "get %s" ] || { echo "credentials not found in native keychain"; exit 1; }\n'
                          'echo \'{"Username": "user", "Secret": "pa:ss"}\'\n' % registry.host)
        helper.chmod(0o755)
        config = {"credHelpers": {registry.host: "test"}} if kept == "helper" else {"credsStore": "test"}
        where = docker_config(tmp_path, config, str(tmp_path / "bin"))
    if kept == "auth file":
        where = docker_config(tmp_path, {})
        (tmp_path / "auth").write_text("user:pa:ss\n")
        more = ["--auth-file", "auth"]
    reference = f"oci://{registry.host}/m:1"
    fatctx("push", "model.fatctx", reference, *more, **where)
    fatctx("fetch", reference, "--all", "-o", "out.fatctx", *more, **where)
    assert (tmp_path / "out.fatctx").read_bytes() == container.read_bytes()
    assert "operation_not_permitted" in fatctx("fetch", reference, "--all", "-o", "no.fatctx", exits=5, **docker_config(tmp_path, {})).stderr


def test_an_identity_token_and_tokens_that_end(fatctx, fake, container, tmp_path):
    registry = fake()
    registry.wants = "bearer"
    where = docker_config(tmp_path, {"auths": {registry.host: {"identitytoken": "re:fresh"}}})
    reference = f"oci://{registry.host}/m:1"
    fatctx("push", "model.fatctx", reference, "--layers", "parts", **where)
    served = []

    def every_seventh_token_ends(handler):
        if handler.command == "GET" and "/blobs/" in handler.path:
            served.append(handler.path)
            if len(served) % 7 == 0:
                registry.tokens.append("none has this one")
        return False

    registry.lie = every_seventh_token_ends
    fatctx("fetch", reference, "--all", "-o", "out.fatctx", **where)
    assert (tmp_path / "out.fatctx").read_bytes() == container.read_bytes()
    assert len(served) >= 7


def test_a_helper_that_is_not_there_is_a_note(fatctx, fake, container, tmp_path):
    registry = fake()
    where = docker_config(tmp_path, {"credsStore": "none-of-this-name"})
    fatctx("push", "model.fatctx", f"oci://{registry.host}/m:1", **where)  # nobody asks
    registry.wants = "bearer"
    stderr = fatctx("push", "model.fatctx", f"oci://{registry.host}/m:1", exits=5, **where).stderr
    assert "docker-credential-none-of-this-name" in stderr and "log in" in stderr


def other_realm(fake, registry, host):
    elsewhere = fake()
    registry.wants, registry.realm = "bearer", f"http://{host}:{elsewhere.port}/token"
    return elsewhere


def test_credentials_do_not_go_to_a_realm_elsewhere(fatctx, fake, container, tmp_path):
    registry = fake()
    elsewhere = other_realm(fake, registry, "localhost")  # not 127.0.0.1
    where = docker_config(tmp_path, login(registry.host))
    stderr = fatctx("push", "model.fatctx", f"oci://{registry.host}/m:1", exits=5, **where).stderr
    assert "another domain" in stderr and "operation_not_permitted" in stderr
    assert not elsewhere.seen and not registry.secrets()


def test_credentials_do_not_follow_an_upload_or_a_redirect(fatctx, fake, container, tmp_path):
    registry, elsewhere = fake(), fake()
    registry.wants = "basic"
    where = docker_config(tmp_path, login(registry.host))
    reference = f"oci://{registry.host}/m:1"
    fatctx("push", "model.fatctx", reference, **where)
    elsewhere.blobs, elsewhere.manifests = dict(registry.blobs), dict(registry.manifests)

    def redirect(handler):
        if handler.command == "POST" and handler.headers.get("Authorization"):
            handler.answer(202, Location=f"http://{elsewhere.host}/v2/m/blobs/uploads/1")
            return True
        if handler.command == "GET" and handler.headers.get("Authorization"):
            handler.answer(307, Location=f"http://{elsewhere.host}{handler.path}")
            return True
        return False

    registry.lie = redirect
    fatctx("fetch", reference, "--device", "aarch64", "-o", "out.fatctx", **where)  # as registries do with their store
    registry.blobs.clear()
    fatctx("push", "model.fatctx", reference, **where)
    assert len(elsewhere.seen) > 3 and not elsewhere.secrets()


def lies(registry, container):
    """Returns what a lying registry answers, and what the command says."""
    manifest = json.loads(registry.manifests["1"])
    other = dict(manifest, annotations=dict(manifest["annotations"], **{"vnd.fatctx.toc.sha256": "0" * 64}))

    def manifests(body, **head):
        def lie(handler):
            if "/manifests/" not in handler.path:
                return False
            handler.answer(200, body, **head)
            return True
        return lie

    def blobs(answer):
        def lie(handler):
            if "/blobs/" not in handler.path:
                return False
            return answer(handler) is not False
        return lie

    def changed(handler):
        data = bytearray(container.read_bytes())
        data[500_000:] = bytes(b ^ 1 for b in data[500_000:])
        first, last = (int(word) for word in handler.headers["Range"].removeprefix("bytes=").partition(",")[0].split("-"))
        last = min(last, len(data) - 1)
        handler.answer(206, bytes(data[first:last + 1]), Content_Range=f"bytes {first}-{last}/{len(data)}")

    def plus_one(handler):
        handler.answer(206, bytes(65_536), Content_Range=f"bytes 0-65535/{container.stat().st_size + 1}")

    layer = manifest["layers"][0]
    return {
        "digest": (manifests(registry.manifests["1"] + b" ", Docker_Content_Digest="sha256:" + hashlib.sha256(registry.manifests["1"]).hexdigest()),
                   "checksum_mismatch", 3),
        "manifest too large": (manifests(b" " * (5 << 20)), "limit_exceeded", 3),
        "not JSON": (manifests(b"<html>"), "malformed", 3),
        "an index": (manifests(b'{"schemaVersion": 2, "manifests": []}'), "unsupported", 3),
        "other table": (manifests(json.dumps(other).encode()), "table of contents has the SHA-256", 3),
        "sizes without a sum": (manifests(json.dumps(dict(manifest, layers=[dict(layer, size=2**62)] * 3)).encode()), "malformed", 3),
        "other size": (blobs(plus_one), "changed", 3),
        "other file": (blobs(changed), "checksum_mismatch", 3),
        "loop": (lambda handler: handler.answer(307, Location=handler.path) is None, "redirects", 5),
        "refuses for ever": (lambda handler: handler.answer(401, WWW_Authenticate='Basic realm="r"') is None, "status 401", 5),
        "no challenge": (lambda handler: handler.answer(401) is None, "does not say of which kind", 5),
        "endless head": (lambda handler: handler.answer(200, **{f"X-{i}": "y" * 4000 for i in range(40)}) is None, "", 5),
    }


LIES = ("digest", "manifest too large", "not JSON", "an index", "other table", "sizes without a sum", "other size", "other file", "loop",
        "refuses for ever", "no challenge", "endless head")


@pytest.mark.parametrize("kind", LIES)
def test_a_registry_that_lies_publishes_nothing(fatctx, program, fake, container, tmp_path, kind):
    registry = fake()
    where = docker_config(tmp_path, login(registry.host))
    reference = f"oci://{registry.host}/m:1"
    fatctx("push", "model.fatctx", reference, **where)
    registry.lie, words, exits = lies(registry, container)[kind]
    run = subprocess.run([program, "fetch", reference, "--all", "-o", "out.fatctx", "--retries", "1"], cwd=tmp_path, capture_output=True,
                         text=True, check=False, **where)
    assert run.returncode in (exits, 3, 5) and words in run.stderr, run.stderr
    assert not (tmp_path / "out.fatctx").exists()
    assert len(registry.seen) < 60


def test_a_pinned_reference_takes_no_other_manifest(fatctx, fake, container, tmp_path):
    registry = fake()
    pinned = told(fatctx("push", "model.fatctx", f"oci://{registry.host}/m:1", "--json"))["pinned"]
    name = pinned.partition("@")[2]
    registry.manifests[name] = registry.manifests["1"].replace(b'"vnd.fatctx.generation":"1"', b'"vnd.fatctx.generation":"2"')
    assert "sends another manifest" in fatctx("fetch", pinned, "--all", "-o", "out.fatctx", exits=3).stderr
    assert "sends another manifest" in fatctx("info", pinned, exits=3).stderr
    assert not (tmp_path / "out.fatctx").exists()


def test_a_registry_without_ranges_sends_all_and_is_checked(fatctx, fake, container, tmp_path):
    registry = fake()
    reference = f"oci://{registry.host}/m:1"
    fatctx("push", "model.fatctx", reference, "--layers", "parts")
    registry.ranges = False
    assert "whole file" in fatctx("fetch", reference, "--all", "-o", "out.fatctx").stderr
    assert (tmp_path / "out.fatctx").read_bytes() == container.read_bytes()
    largest = max(registry.blobs, key=lambda digest: len(registry.blobs[digest]))
    registry.blobs[largest] = bytes(len(registry.blobs[largest]))
    assert largest in fatctx("fetch", reference, "--all", "-o", "bad.fatctx", exits=3).stderr
    assert not list(tmp_path.glob("bad.fatctx*"))


def test_an_upload_that_breaks_begins_again(fatctx, fake, container):
    registry, broken = fake(), []

    def break_once(handler):
        if handler.command == "PUT" and "/uploads" in handler.path and not broken:
            broken.append(handler.path)
            handler.answer(503)
            return True
        return False

    registry.lie = break_once
    fatctx("push", "model.fatctx", f"oci://{registry.host}/m:1")
    assert broken and container.read_bytes() in registry.blobs.values()


def test_the_registrys_own_list_of_referrers_is_used(fatctx, fake, container, tmp_path):
    registry = fake()
    old = container.rename(tmp_path / "old.fatctx")
    weights = bytearray((tmp_path / "weights.bin").read_bytes())
    for place in range(0, 4_000_000, 65_536):
        weights[place] ^= 1
    pack(fatctx, tmp_path, "new.fatctx", bytes(weights))
    fatctx("delta", old.name, "new.fatctx", "-o", "new.update")
    reference = f"oci://{registry.host}/m:2"
    fatctx("push", "new.fatctx", reference)
    fatctx("push", reference, "--update", "new.update")
    assert not any(name.startswith("sha256-") for name in registry.manifests)
    fetched = told(fatctx("fetch", reference, "--all", "--from", old.name, "-o", "out.fatctx", "--json"))
    assert fetched["update"].startswith(f"oci://{registry.host}/m@sha256:")
    assert (tmp_path / "out.fatctx").read_bytes() == (tmp_path / "new.fatctx").read_bytes()
